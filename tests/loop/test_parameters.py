"""Parameters of equations that are no numbers, or numbers of another precision than the grid's."""

import equinox as eqx
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.equations import Burgers, KuramotoSivashinsky
from solver.steppers import ETDRK2, IFRK2

pytestmark = pytest.mark.slow


def reaction(u, parameters):
    net, degree = parameters
    return jax.vmap(net, in_axes=1, out_axes=1)(u) - u**degree


class Learned(sw.Equation):
    """u_t = ∇²u + net(u) − u^degree, or without the last term."""

    net: eqx.nn.MLP
    kind: str = "damped"
    degree: int = 3
    is_damped: bool = True
    fields = {"u": sw.Field()}  # noqa: RUF012

    def linear(self):
        return sw.Diagonal({"u": -self.grid.k_squared()})

    def nonlinear(self, fields, t):
        assert self.kind in ("damped", "free")
        degree = self.degree if self.is_damped and self.kind == "damped" else 1
        return {"u": self.transform.pointwise(reaction, fields["u"], (self.net, degree))}

    def rate(self, fields):
        return jnp.asarray(1.0)


@pytest.fixture(scope="module")
def learned():
    grid = sw.Grid((24,), mesh=sw.device_mesh([0]))
    equation = Learned(grid, eqx.nn.MLP(1, 1, 4, 1, activation=jnp.tanh, key=jax.random.key(0)))
    return equation, sw.initial_state(equation, ETDRK2(), sw.sample(jnp.cos, grid))


@pytest.mark.thorough
def test_a_network_a_word_and_a_flag(learned, programs_compiled, tmp_path):
    equation, start = learned
    stepper, options = ETDRK2(), {"step": 0.05, "steps": 4}
    final = sw.integrate(equation, stepper, start, **options)
    *_, same = sw.evolve(equation, stepper, start, end=0.2, step=0.05)
    outputs = [sw.outputs.Series(every_steps=2), sw.outputs.Snapshots(every_steps=2)]
    run = sw.run(equation, stepper, start, end=0.2, step=0.05, directory=tmp_path / "run", outputs=outputs)
    for other in (same, run):
        np.testing.assert_allclose(other.field["u"], final.field["u"], atol=1e-14)
    scaled = eqx.tree_at(lambda e: e.net.layers[0].weight, equation, replace_fn=lambda w: 2 * w)
    before = programs_compiled()
    moved = sw.integrate(scaled, stepper, start, **options)
    assert programs_compiled() == before
    assert np.abs(moved.field["u"] - final.field["u"]).max() > 1e-3
    for change in ({"degree": 5}, {"kind": "free"}, {"is_damped": False}):
        other = Learned(equation.grid, equation.net, **change)
        assert np.abs(sw.integrate(other, stepper, start, **options).field["u"] - final.field["u"]).max() > 1e-3


def test_gradient_of_a_network(learned):
    equation, start = learned

    @eqx.filter_jit
    @eqx.filter_grad
    def slope(net):
        final = sw.integrate(Learned(equation.grid, net), ETDRK2(), start, step=0.05, steps=4)
        return sw.diagnostics.mean_square(final.field["u"], equation.grid)

    assert all(float(jnp.abs(leaf).max()) > 0 for leaf in jax.tree.leaves(slope(equation.net)))


class Tagged(KuramotoSivashinsky):
    tag: object = None


def test_what_is_neither_array_nor_hashable_is_refused_by_name(learned):
    equation = Tagged(learned[0].grid, tag={1, 2})
    with pytest.raises(
        TypeError, match="tag is of type set, neither an array nor hashable: an array, a number, a tupl"
    ):
        sw.initial_state(equation, ETDRK2(), sw.sample(jnp.cos, equation.grid))


@pytest.mark.thorough
@pytest.mark.parametrize("viscosity", [np.float64(0.1), np.full((), 0.1), jnp.asarray(0.1)], ids=type)
def test_double_precision_numbers_on_a_grid_of_single_precision(viscosity):
    grid = sw.Grid((8, 24), precision="float32", mesh=sw.device_mesh(range(2)))
    flow, stepper, u = Burgers(grid, viscosity), IFRK2(), sw.initial.TaylorGreen()(grid)
    state = sw.initial_state(flow, stepper, u)
    final = sw.integrate(flow, stepper, state, step=np.float64(0.1), steps=2)
    ends = [list(sw.evolve(flow, stepper, state, end=0.2, **how))[-1] for how in ({"step": 0.1}, {"cfl": 0.5})]
    for end in (final, *ends):
        assert end.field["velocity"].dtype == np.complex64
    several = jax.vmap(lambda nu: sw.integrate(Burgers(grid, nu), stepper, state, step=0.1, steps=2).field["velocity"])
    np.testing.assert_allclose(several(jnp.full(2, 0.1))[1], final.field["velocity"], atol=1e-7)


@pytest.mark.parametrize("devices", [1, 8])
def test_a_program_is_exported(devices):
    grid = sw.Grid((8, 24), mesh=sw.device_mesh(range(devices)))
    flow, stepper = sw.equations.NavierStokes(grid, 0.1), IFRK2()
    state = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(grid))
    run = jax.jit(lambda fields: sw.integrate(flow, stepper, state.replace(field=fields), step=0.1, steps=2).field)
    exported = jax.export.export(run)(state.field)
    assert "custom_partitioning" not in exported.mlir_module().lower()
    computed = jax.jit(exported.call)(state.field)["velocity"]
    np.testing.assert_allclose(computed, run(state.field)["velocity"], atol=1e-15)


def burgers_start(grid):
    equation = sw.equations.Burgers(grid, 0.1)
    return sw.initial_state(equation, sw.steppers.IFRK2(), sw.sample(lambda x: (jnp.sin(x),), grid))


TRACED = {
    "viscosity": lambda grid, state, value: (
        sw.integrate(sw.equations.Burgers(grid, value), sw.steppers.IFRK2(), state, step=0.01, steps=1).field
    ),
    "step": lambda grid, state, value: (
        sw.integrate(sw.equations.Burgers(grid, 0.1), sw.steppers.IFRK2(), state, step=value, steps=1).field
    ),
    "step of rollout": lambda grid, state, value: sw.rollout(
        sw.equations.Burgers(grid, 0.1), sw.steppers.IFRK2(), state, step=value, steps=1
    )[1]["velocity"][1],
    "step to an end": lambda grid, state, value: (
        sw.integrate(
            sw.equations.Burgers(grid, 0.1), sw.steppers.IFRK2(), state, step=value, end=0.1, max_steps=20
        ).field
    ),
    "cfl": lambda grid, state, value: (
        sw.integrate(
            sw.equations.Burgers(grid, 0.1), sw.steppers.IFRK2(), state, cfl=value, end=0.1, max_steps=200
        ).field
    ),
    "tolerance": lambda grid, state, value: (
        sw.integrate(
            sw.equations.Burgers(grid, 0.1), sw.steppers.IFRK3(), state, tolerance=value, end=0.1, max_steps=20
        ).field
    ),
    "max_step": lambda grid, state, value: (
        sw.integrate(
            sw.equations.Burgers(grid, 0.1), sw.steppers.IFRK2(), state, cfl=0.5, max_step=value, end=0.1, max_steps=20
        ).field
    ),
    "size of an initial field": lambda grid, state, value: sw.initial.Noise(amplitude=value)(
        grid, key=jax.random.key(0)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACED)
def test_a_traced_number_that_would_be_refused_gives_nothing(make_grid, name):
    """Not a number under `jit`, where nothing can be raised; a good one gives what it gives when it is known."""
    grid = make_grid((32,), devices=1)
    state = burgers_start(grid)
    result = jax.jit(lambda value: TRACED[name](grid, state, value))
    for leaf in jax.tree.leaves(result(-0.02)):
        assert np.all(np.isnan(leaf))
    for leaf, known in zip(
        jax.tree.leaves(result(0.02)), jax.tree.leaves(TRACED[name](grid, state, 0.02)), strict=True
    ):
        np.testing.assert_allclose(leaf, known, rtol=1e-13, atol=1e-15)


@pytest.mark.slow
def test_a_traced_parameter_of_a_forcing_that_would_be_refused_gives_nothing(make_grid):
    grid, stepper = make_grid((16, 16), devices=1), sw.steppers.IFRK2()
    state = sw.initial_state(
        sw.equations.Vorticity(grid, 0.01, forcing=sw.forcing.ConstantPower(0.1)),
        stepper,
        sw.sample(lambda x, y: (jnp.sin(x) * jnp.cos(y),), grid),
    )

    def end(power):
        flow = sw.equations.Vorticity(grid, 0.01, forcing=sw.forcing.ConstantPower(power))
        return sw.integrate(flow, stepper, state, step=0.01, steps=1).field["vorticity"]

    assert np.any(np.isnan(jax.jit(end)(-0.1)))
    assert np.all(np.isfinite(jax.jit(end)(0.1)))


@pytest.mark.parametrize("flag", [True, np.True_, np.ones((), bool)], ids=["Python", "NumPy", "an array"])
def test_a_flag_is_no_number(make_grid, flag):
    grid = make_grid((16,), devices=1)
    with pytest.raises(ValueError, match="viscosity True: zero or more is needed, which is not a flag"):
        sw.equations.Burgers(grid, flag)
    with pytest.raises(ValueError, match="white-noise with power True"):
        sw.forcing.WhiteNoise(flag)
    for control in (sw.loop.FixedStep, sw.loop.KeepCFL, sw.loop.MeetTolerance):
        with pytest.raises((TypeError, ValueError), match="a positive number"):
            control(flag)
    with pytest.raises(ValueError, match="max_step=True: a positive number is needed"):
        sw.loop.KeepCFL(0.5, flag)
