"""N(u, t) and the rate from the same transforms, and what step control by a CFL number makes of it."""

import jax
import numpy as np
import pytest

import solver as sw
from solver.assemble.registry import Registry
from solver.config import REQUIRED
from solver.equations import Equation, SplitEquation
from solver.fft.cost import transforms_in
from solver.loop.control import Control
from solver.loop.program import trace_chunk
from solver.steppers.base import state_shapes

REGISTRY = Registry()
ENTRIES = {name: REGISTRY.find("equation", name) for name in REGISTRY.names("equation")}
GIVEN = {
    "mhd": lambda d: {"mean_field": (0.3, -0.2, 0.1)[:d]},
    "navier-stokes": lambda d: {"scalars": ("dye",), "diffusivities": (0.1,)},
    "two-layer-quasi-geostrophic": lambda d: {"shear": 0.3},
}
CONTROLS = ({"step": 0.1}, {"cfl": 0.5})
SHARING = {
    "boussinesq", "burgers", "kuramoto-sivashinsky", "mhd", "navier-stokes", "surface-quasi-geostrophic",
    "two-layer-quasi-geostrophic", "vorticity",
}  # fmt: skip
CASES = [(name, d) for name in sorted(SHARING) for d in ENTRIES[name].cls.dimensions]


def assembled(make_grid, name, d, devices):
    """An equation on uneven slabs, and noise."""
    entry = ENTRIES[name]
    grid = make_grid((13, 12, 10)[:d], devices=devices, dealias=entry.dealias, lengths=(6.0, 7.0, 5.0)[:d])
    needed = [key for key, parameter in entry.parameters.items() if parameter.default is REQUIRED]
    equation = entry.cls(grid, **{**dict.fromkeys(needed, 0.3), **GIVEN.get(name, lambda d: {})(d)})
    noise = np.random.default_rng(1)
    values = {key: noise.normal(size=v.shape).astype(v.dtype) for key, v in equation.values_at_points().items()}
    return equation, jax.jit(equation.from_physical)(values)


@pytest.mark.parametrize(("name", "d"), CASES)
def test_both_are_what_each_is(make_grid, name, d):
    equation, fields = assembled(make_grid, name, d, devices=4 if d > 1 else 1)
    t = np.zeros(())
    together = jax.jit(lambda fields: equation.nonlinear_and_rate(fields, t))(fields)
    apart = jax.jit(lambda fields: (equation.nonlinear(fields, t), equation.rate(fields)))(fields)
    for found, expected in zip(jax.tree.leaves(together), jax.tree.leaves(apart), strict=True):
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13 * scale)


def test_which_equations_share_their_transforms():
    classes = {name: entry.cls for name, entry in ENTRIES.items() if issubclass(entry.cls, Equation)}
    assert {name for name, cls in classes.items() if "nonlinear_and_rate" in vars(cls)} == SHARING


FOUND = [REGISTRY.find("stepper", name) for name in REGISTRY.names("stepper")]
STEPPERS = [entry.cls() for entry in FOUND if entry.cls.takes is not SplitEquation]


@pytest.mark.parametrize("stepper", STEPPERS, ids=lambda stepper: stepper.name)
def test_a_step_of_chosen_size_transforms_no_more_than_one_of_fixed_size(make_grid, stepper):
    flow = sw.equations.NavierStokes(make_grid((13, 12, 10), devices=4), 0.1)
    state = state_shapes(flow, stepper, with_key=False)
    first, chosen = (
        transforms_in(trace_chunk(flow, stepper, state, Control(1.0, **control)).jaxpr) for control in CONTROLS
    )
    assert chosen == first


class Recalled(sw.equations.NavierStokes):
    """A subclass that adds to N."""

    def nonlinear(self, fields, t):
        return {name: n + 0.1 for name, n in super().nonlinear(fields, t).items()}


class Slower(sw.equations.NavierStokes):
    """A subclass with another rate."""

    def rate(self, fields):
        return 2 * super().rate(fields)


@pytest.mark.parametrize("cls", [Recalled, Slower])
def test_a_subclass_that_overrides_one_of_them_is_taken_at_its_word(make_grid, cls):
    grid = make_grid((13, 12), devices=2)
    equation = cls(grid, 0.1)
    plain = sw.equations.NavierStokes(grid, 0.1)
    fields = jax.jit(plain.from_physical)({"velocity": np.random.default_rng(0).normal(size=(2, 13, 12))})
    driven = equation.at_step()
    begun, rate = jax.jit(lambda fields: driven.begin(fields, np.zeros(())))(fields)
    assert begun == ()
    np.testing.assert_allclose(rate, equation.rate(fields), rtol=1e-14)
    assert driven.knowing(begun).nonlinear(fields, np.zeros(())).keys() == fields.keys()
