"""N(u, t) and the rate from the same transforms, and what step control by a CFL number makes of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver.assemble.registry import Registry
from solver.config import REQUIRED
from solver.dynamics.write import write
from solver.equations import Equation
from solver.fft.cost import transforms_in
from solver.loop import FixedStep, KeepCFL, Schedule, trace_advance
from solver.steppers.start import state_shapes

REGISTRY = Registry()
ENTRIES = {name: REGISTRY.find("equation", name) for name in REGISTRY.names("equation")}
GIVEN = {
    "hall-mhd": lambda d: {"mean_field": (0.3, -0.2, 0.1)},
    "mhd": lambda d: {"mean_field": (0.3, -0.2, 0.1)[:d]},
    "navier-stokes": lambda d: {"scalars": {"dye": sw.PassiveScalar(0.1)}},
    "multi-layer-quasi-geostrophic": lambda d: {
        "layers": ("a", "b"),
        "thicknesses": (0.4, 0.6),
        "reduced_gravities": (0.3,),
        "topography": "cos(x)",
    },
    "two-layer-quasi-geostrophic": lambda d: {"shear": 0.3},
}
CONTROLS = (FixedStep(0.1), KeepCFL(0.5))
# Hall's and that of Gray and Scott have a rate of their own
CASES = [
    ("burgers", 1), ("navier-stokes", 2), ("navier-stokes", 3), ("boussinesq", 3), ("gray-scott", 2), ("hall-mhd", 3),
]  # fmt: skip


def parameters_of(name, d):
    needed = [key for key, parameter in ENTRIES[name].parameters.items() if parameter.default is REQUIRED]
    return {**dict.fromkeys(needed, 0.3), **GIVEN.get(name, lambda d: {})(d)}


def assembled(make_grid, name, d, devices):
    """An equation on uneven slabs, and noise."""
    entry = ENTRIES[name]
    grid = make_grid((13, 12, 10)[:d], devices=devices, dealias=entry.dealias, lengths=(6.0, 7.0, 5.0)[:d])
    equation = entry.cls(grid, **parameters_of(name, d))
    noise = np.random.default_rng(1)
    values = {key: noise.normal(size=v.shape).astype(v.dtype) for key, v in equation.values_at_points().items()}
    return equation, jax.jit(equation.from_physical)(values)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "d"), CASES)
def test_both_are_what_each_is(make_grid, name, d):
    equation, fields = assembled(make_grid, name, d, devices=4 if d > 1 else 1)
    t = np.zeros(())
    together = jax.jit(lambda fields: equation.change_and_rate(fields, t))(fields)
    apart = jax.jit(lambda fields: (equation.nonlinear(fields, t), equation.rate(fields)))(fields)
    for computed, expected in zip(jax.tree.leaves(together), jax.tree.leaves(apart), strict=True):
        scale = np.abs(expected).max()
        np.testing.assert_allclose(computed, expected, rtol=1e-12, atol=1e-13 * scale)


def test_which_equations_share_their_transforms():
    """All but one, whose rate is that of a flow which stands still."""
    classes = {name: entry.cls for name, entry in ENTRIES.items() if issubclass(entry.cls, Equation)}
    assert {name for name, cls in classes.items() if cls.rate is not Equation.rate} == {"advection-diffusion"}
    assert {name for name, cls in classes.items() if cls.nonlinear is not Equation.nonlinear} == set()


FOUND = [REGISTRY.find("stepper", name) for name in REGISTRY.names("stepper")]
STEPPERS = [entry.cls() for entry in FOUND if entry.cls.takes is Equation]


@pytest.mark.slow
@pytest.mark.parametrize("stepper", STEPPERS, ids=lambda stepper: stepper.name)
def test_a_step_of_chosen_size_transforms_no_more_than_one_of_fixed_size(make_grid, stepper):
    flow = sw.equations.NavierStokes(make_grid((13, 12, 10), devices=4), 0.1)
    state = state_shapes(flow, stepper, with_key=False)
    first, chosen = (transforms_in(trace_advance(flow, stepper, state, control).jaxpr) for control in CONTROLS)
    assert chosen == first


class Recalled(sw.equations.NavierStokes):
    """A subclass with another N."""

    def nonlinear(self, fields, t):
        return {name: 1.5 * n for name, n in super().nonlinear(fields, t).items()}


class Slower(sw.equations.NavierStokes):
    """A subclass with another rate."""

    def rate(self, fields):
        return 2 * super().rate(fields)


class Mixed(Slower, Recalled):
    """N of one parent, the rate of the other."""


@pytest.mark.slow
@pytest.mark.parametrize(("cls", "n", "r"), [(Recalled, 1.5, 1), (Slower, 1, 2), (Mixed, 1.5, 2)])
def test_the_definition_nearest_to_a_class_counts(make_grid, cls, n, r):
    grid, now = make_grid((13, 12), devices=2), np.zeros(())
    equation, plain = cls(grid, 0.1), sw.equations.NavierStokes(grid, 0.1)
    fields = jax.jit(plain.from_physical)({"velocity": np.random.default_rng(0).normal(size=(2, 13, 12))})
    together, rate = jax.jit(lambda fields: equation.at_step().first_and_rate(fields, now))(fields)
    first = plain.nonlinear(fields, now)["velocity"]
    for computed in (together, equation.nonlinear(fields, now)):
        np.testing.assert_allclose(computed["velocity"], n * first, atol=1e-14)
    np.testing.assert_allclose([rate, equation.rate(fields)], r * plain.rate(fields), rtol=1e-14)


@pytest.mark.slow
def test_what_is_known_is_the_first_evaluation_of_a_step_alone(make_grid):
    forcing = sw.forcing.Kolmogorov(amplitude=0.3, wavenumber=2)
    equation = sw.equations.NavierStokes(make_grid((13, 12), devices=2), 0.1, forcing=forcing)
    noise, now = np.random.default_rng(0).normal(size=(2, 13, 12)), np.zeros(())
    state = sw.initial_state(equation, sw.steppers.IFRK2(), jnp.asarray(noise))
    fields, driven = state.field, equation.at_step(state.forcing)
    first, _ = driven.first_and_rate(fields, now)
    known = driven.with_first_evaluation({"velocity": 7 * first["velocity"]}).starting(fields, now)
    plain = driven.nonlinear(fields, now)["velocity"]
    np.testing.assert_allclose(known.first_nonlinear()["velocity"], plain + 6 * first["velocity"], atol=1e-14)
    np.testing.assert_allclose(driven.starting(fields, now).first_nonlinear()["velocity"], plain, atol=1e-15)
    np.testing.assert_allclose(known.nonlinear(fields, now)["velocity"], plain, atol=1e-15)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("dealias", ["two-thirds", "phase-shift-random"])
def test_cfl_is_kept_where_points_move(make_grid, dealias):
    """No step is longer than the rate on the points at rest allows, and N is that on the points that moved."""
    forcing = sw.forcing.ConstantPower(power=0.3)
    flow = sw.equations.NavierStokes(make_grid((16, 16), devices=2, dealias=dealias), 0.01, forcing=forcing)
    start = jnp.asarray(np.random.default_rng(0).normal(size=(2, 16, 16)))
    first = sw.initial_state(flow, sw.steppers.IFRK2(), start, seed=0)
    driven, now = flow.at_step(first.forcing, first.key, 1), np.zeros(())
    begun, _ = driven.first_and_rate(first.field, now)
    known = driven.with_first_evaluation(begun).starting(first.field, now).first_nonlinear()["velocity"]
    own = driven.nonlinear(first.field, now)["velocity"]
    np.testing.assert_allclose(known, own, atol=1e-13 * np.abs(own).max())
    rate, before = jax.jit(lambda flow, fields: flow.rate(fields)), None
    for state in sw.evolve(flow, sw.steppers.IFRK2(), first, end=0.2, cfl=0.5, pauses=[Schedule(every_steps=1)]):
        if before is not None:
            assert float(state.dt) <= 0.5 / before * (1 + 1e-9)
        before = float(rate(flow, state.field))
    assert int(state.step) > 4


def flow_of(vorticity, grid):
    """The velocity of a vorticity in the plane, by whole transforms."""
    kx, ky = np.meshgrid(*(2 * np.pi * np.fft.fftfreq(n, b / n) for n, b in zip(grid.shape, grid.lengths, strict=True)),
                         indexing="ij")  # fmt: skip
    psi = np.fft.fft2(vorticity) / np.where(kx**2 + ky**2 > 0, kx**2 + ky**2, np.inf)
    return np.stack([np.fft.ifft2(1j * ky * psi).real, np.fft.ifft2(-1j * kx * psi).real])


SPEEDS = {  # along each axis, of the values at the points
    "burgers": lambda values, grid: np.abs(values["velocity"]),
    "navier-stokes": lambda values, grid: np.abs(values["velocity"]),
    "vorticity": lambda values, grid: np.abs(flow_of(values["vorticity"][0], grid)),
    "mhd": lambda values, grid: np.abs(values["velocity"]) + np.abs(values["magnetic_field"])
    + np.reshape([0.3, 0.2], (2, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", SPEEDS)
def test_the_rate_is_the_largest_number_of_spacings_that_a_speed_crosses_in_a_unit_of_time(make_grid, name):
    equation, fields = assembled(make_grid, name, 2, devices=2)
    values = {key: np.asarray(u) for key, u in equation.to_physical(fields).items()}
    speeds = SPEEDS[name](values, equation.grid) / np.reshape(equation.grid.spacing, (2, 1, 1))
    np.testing.assert_allclose(jax.jit(equation.rate)(fields), speeds.sum(0).max(), rtol=1e-12)


@pytest.mark.parametrize("name", ["mhd", "multi-layer-quasi-geostrophic", "two-layer-quasi-geostrophic", "vorticity"])
def test_rates_and_changes_stay_in_single_precision(make_grid, name):
    grid = make_grid((13, 12), devices=2, precision="float32")
    equation = ENTRIES[name].cls(grid, **parameters_of(name, 2))
    fields = equation.field_shapes()
    assert "f64[" not in str(jax.make_jaxpr(equation.rate)(fields))
    for change in (lambda u: equation.nonlinear(u, np.float32(0)), lambda u: equation.linear().apply(u)):
        assert {made.dtype for made in jax.eval_shape(change, fields).values()} == {np.dtype("complex64")}


def test_speeds_that_parameters_decide():
    """u_t = −a u u_x + c ∂x(−∇²)^½ ∇⁻² u u_x: the first alone is of leading order.

    Both are one product in the plan, whose coefficient is taken at a large wavenumber, where the other is 1e-6 of it.
    """
    grid = sw.Grid((32,), mesh=sw.device_mesh([0]))
    equation = write("dt(u) = -a*dx(u**2)/2 + c*dx(fraclap(u*dx(u), -1))", {"u": "scalar"})(grid, a=3.0, c=2.0)
    [x] = grid.coordinates()
    rate = equation.rate(equation.from_physical({"u": jnp.sin(x)[None]}))
    np.testing.assert_allclose(rate, 3.0 * np.abs(np.sin(x)).max() / grid.spacing[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("term", "reaction"), [("cos(x)*sin(t)", lambda x: 0), ("-100*exp(-x)*u", lambda x: 100 * np.exp(-x))]
)
def test_sources_limit_no_step_and_what_takes_a_field_away_at_some_places_does(term, reaction):
    """|u|/Δx, and with it the rate of a linear term whose coefficient depends on the place; a source may hold t."""
    grid = sw.Grid((32,), mesh=sw.device_mesh([0]))
    equation = write(f"dt(u) = -u*dx(u) + lap(u) + {term}", {"u": "scalar"})(grid)
    x = np.asarray(grid.coordinates()[0])
    fields = equation.from_physical({"u": jnp.asarray(np.sin(x))[None]})
    expected = np.max(np.abs(np.sin(x)) / grid.spacing[0] + reaction(x))
    for rate in (equation.rate(fields), equation.change_and_rate(fields, 0.3)[1]):
        np.testing.assert_allclose(rate, expected, rtol=1e-12)


def test_terms_of_the_time_and_of_fields_tell_no_rate():
    equation = write("dt(u) = -u*dx(u) + lap(u) - exp(-t)*u", {"u": "scalar"})(sw.Grid((16,)))
    assert "terms of its fields depend on time" in equation.why_no_rate


def test_a_text_without_a_cfl_number_takes_fixed_steps_alone():
    grid = sw.Grid((16,), mesh=sw.device_mesh([0]))
    equation = write("dt(c) = lap(c**3)", {"c": "scalar"})(grid)
    stepper = sw.steppers.IFRK4()
    start = sw.initial_state(equation, stepper, {"c": 0.1 * jnp.cos(grid.coordinates()[0])[None]})
    assert list(equation.series(start.field, 0.1)) == ["energy"] == list(equation.report.units())
    sw.integrate(equation, stepper, start, step=1e-4, steps=1)
    with pytest.raises(ValueError, match="act on a wavenumber k as k\\^2; a fixed step or a tolerance is needed"):
        sw.integrate(equation, stepper, start, cfl=0.5, end=1.0, max_steps=3)


class Decay(sw.Equation):
    """A class by hand, which says nothing of its speeds."""

    fields = {"u": sw.Field()}  # noqa: RUF012

    def linear(self):
        return sw.Diagonal({"u": -self.grid.k_squared()})

    def nonlinear(self, fields, t):
        return {"u": -fields["u"]}


def test_a_class_without_a_rate_takes_fixed_steps_and_a_tolerance(make_grid):
    equation, stepper = Decay(make_grid((8,), devices=1)), sw.steppers.IFRK3()
    state = sw.initial_state(equation, stepper, jnp.ones((1, 8)))
    for how in ({"step": 0.125}, {"tolerance": 1e-6}):
        *_, last = sw.evolve(equation, stepper, state, end=0.5, **how)
        assert float(last.field["u"][0, 0].real) == pytest.approx(np.exp(-0.5), rel=1e-4)
    assert "cfl" not in equation.series(state.field, 0.1)
    with refused_in_one_line("decay: its class has no method rate; a fixed step or a tolerance is needed"):
        list(sw.evolve(equation, stepper, state, end=0.5, cfl=0.5))
