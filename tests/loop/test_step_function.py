"""`step_function`: values to values, states to states, as `evolve` steps them; scanned, batched, differentiated."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import collectives, refused_in_one_line
from jax.sharding import NamedSharding, PartitionSpec

import solver as sw
from solver.equations import Burgers
from solver.steppers import CNAB2, IFRK3, SBDF3

pytestmark = pytest.mark.slow

WAVE = jnp.sin(2 * jnp.pi * jnp.arange(16) / 16)[None]


@pytest.mark.parametrize("stepper", [IFRK3(), CNAB2(), SBDF3()], ids=lambda stepper: stepper.name)
def test_states_are_stepped_as_evolve_steps_them(make_grid, stepper):
    """Budget, times and history, too; and `evolve` continues from the state."""
    equation = Burgers(make_grid((16,), 1), 0.1)
    advance = sw.step_function(equation, stepper, 0.01)
    begin = sw.initial_state(equation, stepper, WAVE)
    *_, expected = sw.evolve(equation, stepper, begin, end=0.06, step=0.01)
    state = begin
    for _ in range(6):
        state = advance(state)
    for moved in (state, jax.lax.scan(lambda s, _: (advance(s), None), advance.start(WAVE), length=6)[0]):
        np.testing.assert_allclose(moved.field["velocity"], expected.field["velocity"], atol=1e-16)
        assert (float(moved.t), int(moved.step)) == (float(expected.t), 6)
        *_, further = sw.evolve(equation, stepper, moved, end=0.1, step=0.01)
        *_, later = sw.evolve(equation, stepper, expected, end=0.1, step=0.01)
        np.testing.assert_allclose(further.field["velocity"], later.field["velocity"], atol=1e-16)
    assert float(state.budget["energy_from_viscosity"]) == pytest.approx(
        float(expected.budget["energy_from_viscosity"])
    )
    assert jax.tree.structure(state) == jax.tree.structure(begin)


def test_values_have_the_form_in_which_they_come(make_grid):
    equation, stepper = Burgers(make_grid((16,), 1), 0.1), CNAB2()
    advance = sw.step_function(equation, stepper, 0.01, steps=3)
    state = sw.integrate(equation, stepper, sw.initial_state(equation, stepper, WAVE), step=0.01, steps=3)
    expected = equation.to_physical(state.field)["velocity"]
    for given, taken in (
        (WAVE, lambda u: u),
        (WAVE[0], lambda u: u[None]),
        ({"velocity": WAVE}, lambda u: u["velocity"]),
    ):
        after = advance(given)
        np.testing.assert_allclose(taken(after), expected, atol=1e-15)
        assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, given)


def test_values_have_the_time_that_is_given(make_grid):
    equation = sw.write("dt(u) = cos(t)", fields={"u": "scalar"})(make_grid((8,), 1))
    advance = sw.step_function(equation, sw.steppers.IFRK4(), 0.1, steps=10)
    for t, after in zip([0.0, 0.7], jax.vmap(lambda t: advance(jnp.zeros(8), t=t))(jnp.array([0.0, 0.7])), strict=True):
        np.testing.assert_allclose(after, np.sin(t + 1) - np.sin(t), rtol=1e-6)
    layer = sw.write(["dt(T) = lap(T)", "T(bottom) = t", "T(top) = 2*t"], fields={"T": "scalar"})
    layer = layer(make_grid((9,), 1, lengths=1.0, walls="x"))
    u, stepper = jnp.asarray(0.5 * (1 + layer.grid.coordinates()[0])), sw.steppers.Krogstad4()
    _, values = sw.rollout(layer, stepper, sw.initial_state(layer, stepper, u, t=0.5), step=0.1, steps=1)
    np.testing.assert_allclose(sw.step_function(layer, stepper, 0.1)(u, t=0.5), values["T"][-1, 0], rtol=1e-14)


@pytest.mark.parametrize("devices", [1, 4])
def test_gradients_against_differences(make_grid, devices):
    """Of values after two calls, in viscosity, size of step and amount of the start, with a history in between."""
    grid = make_grid((9, 12), devices)
    u = jnp.asarray(np.random.default_rng(5).normal(size=(2, 9, 12)))

    @jax.jit
    def loss(numbers):
        viscosity, step, amount = numbers
        advance = sw.step_function(Burgers(grid, viscosity), CNAB2(), step, steps=2)
        state = advance(advance.start(advance(amount * u)))
        return jnp.sum(jnp.abs(state.field["velocity"]) ** 4) * state.t

    at, h = jnp.asarray([0.3, 0.04, 1.0]), 1e-4
    difference = lambda d: (8 * (loss(at + d) - loss(at - d)) - loss(at + 2 * d) + loss(at - 2 * d)) / (12 * h)  # noqa: E731
    np.testing.assert_allclose(jax.grad(loss)(at), [difference(h * e) for e in jnp.eye(3)], rtol=1e-6)


STRETCHED = sw.write("dt(u) = -s*u*dx(u) - s**2*lap(u) - s**4*lap(lap(u))", fields={"u": "scalar"})


def test_a_gradient_in_the_length_of_the_box_by_a_change_of_variables(make_grid):
    """docs/learning.md: against differences between boxes of other lengths."""
    wave = jnp.cos(WAVE) + 0.3 * WAVE

    def energy(grid, s):
        return jnp.mean(sw.step_function(STRETCHED(grid, s=s), sw.steppers.ETDRK4(), 0.05, steps=20)(wave) ** 2)

    of_length = lambda length: energy(make_grid((16,), 1, lengths=length), 1.0)  # noqa: E731
    grid, h = make_grid((16,), 1, lengths=20.0), 0.01
    slope = jax.jit(jax.grad(lambda length: energy(grid, 20.0 / length)))(22.0)
    assert float(slope) == pytest.approx(float(of_length(22 + h) - of_length(22 - h)) / (2 * h), rel=1e-5)


@pytest.mark.parametrize("parts", [1, 4])
def test_a_batch_is_split_over_devices_that_exchange_nothing(parts):
    """One device for each part of the batch. A gradient ends in one sum, within `vmap` and of the mean alike."""
    mesh = sw.device_mesh(range(parts), members=parts)
    grid = sw.Grid((8, 6), mesh=mesh)
    batch = jax.random.normal(jax.random.key(0), (8, 1, 8, 6))
    split = jax.device_put(batch, NamedSharding(mesh, PartitionSpec(sw.MEMBER)))
    stepped = lambda nu, u: sw.step_function(sw.equations.Vorticity(grid, nu), IFRK3(), 0.02)(u)  # noqa: E731
    slope = jax.grad(lambda nu, u: jnp.mean(stepped(nu, u) ** 2))
    over = {"in_axes": (None, 0), "spmd_axis_name": sw.MEMBER}
    forward = lambda nu, u: jax.vmap(stepped, **over)(nu, u)  # noqa: E731
    mean = lambda nu, u: jnp.mean(jax.vmap(slope, **over)(nu, u))  # noqa: E731
    of_mean = jax.grad(lambda nu, u: jnp.mean(forward(nu, u) ** 2))
    run = jax.jit(forward)
    after, h = run(0.1, split), 1e-4
    if parts > 1:
        assert after.sharding.spec[0] == sw.MEMBER
        assert not collectives(forward, 0.1, split)
        assert collectives(mean, 0.1, split) == {"all-reduce": 1}
        assert set(collectives(of_mean, 0.1, split)) == {"all-reduce"}
    alone = sw.Grid((8, 6), mesh=sw.device_mesh([0]))
    single = sw.step_function(sw.equations.Vorticity(alone, 0.1), IFRK3(), 0.02)
    np.testing.assert_allclose(after, jax.vmap(single)(batch), atol=1e-15)
    difference = [jnp.mean(run(nu, split) ** 2) for nu in (0.1 + h, 0.1 - h)]
    np.testing.assert_allclose(jax.jit(of_mean)(0.1, split), jax.jit(mean)(0.1, split), rtol=1e-12)
    np.testing.assert_allclose(jax.jit(mean)(0.1, split), (difference[0] - difference[1]) / (2 * h), rtol=1e-6)


def test_other_numbers_compile_nothing(make_grid, programs_compiled):
    grid = make_grid((16,), 1)
    sw.step_function(Burgers(grid, 0.1), IFRK3(), 0.01)(WAVE)
    before = programs_compiled()
    sw.step_function(Burgers(grid, 0.2), IFRK3(), 0.02)(2 * WAVE)
    assert programs_compiled() - before <= 1  # the factor 2


def test_wrong_calls_are_refused(make_grid):
    equation, stepper = Burgers(make_grid((16,), 1), 0.1), IFRK3()
    with refused_in_one_line("steps=0 in each call: one or more are needed"):
        sw.step_function(equation, stepper, 0.1, steps=0)
    with refused_in_one_line("step -0.1: a positive number is needed"):
        sw.step_function(equation, stepper, -0.1)
    advance = sw.step_function(equation, stepper, 0.1)
    with refused_in_one_line("t=1.0 with a state: the state has its own time"):
        advance(sw.initial_state(equation, stepper, WAVE), t=1.0)
    with refused_in_one_line(r"initial field velocity of shape \[8\]; burgers on this grid needs \[1, 16\]"):
        advance(jnp.zeros(8))
    other = sw.initial_state(Burgers(make_grid((12,), 1), 0.1), stepper, jnp.zeros(12))
    with refused_in_one_line("a state of"):
        advance(other)


def test_values_without_the_bodies_that_the_flow_moves_are_refused(make_grid):
    """Each call would put the body back; with states it moves on. Particles do not act on the flow."""
    grid = make_grid((8, 8), 1)
    body = sw.bodies.Sphere((3.0, 3.0), 1.0, eta=0.1, mass=2.0)
    moved = sw.step_function(sw.equations.NavierStokes(grid, 0.1, bodies=body), IFRK3(), 0.01)
    with refused_in_one_line("values at the points without motion of navier-stokes, which would begin anew"):
        moved(jnp.ones((2, 8, 8)))
    dust = {"dust": sw.particles.Tracers(4)}
    carried = sw.step_function(sw.equations.Vorticity(grid, 0.1, particles=dust), IFRK3(), 0.01)
    assert jax.eval_shape(carried, jnp.ones((8, 8))).shape == (8, 8)
