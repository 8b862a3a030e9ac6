"""`integrate`: pure, differentiable in both modes, batched; parameters that compile nothing anew."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY

import solver as sw
from solver import initial
from solver.equations import KuramotoSivashinsky, NavierStokes
from solver.loop import fixed_steps
from solver.steppers import ETDRK4, IFRK2, IFRK4

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[1, 8], ids=["1 device", "8 devices"])
def problem(request):
    grid = sw.Grid((16, 16, 8), mesh=sw.device_mesh(range(request.param)))
    flow, stepper = NavierStokes(grid, viscosity=0.05), IFRK2()
    u = initial.RandomPhase(peak=2.0)(grid, VELOCITY, jax.random.key(0))
    return flow, stepper, sw.initial_state(flow, stepper, u)


def energy(state, grid):
    return 0.5 * sw.diagnostics.mean_square(state.field["velocity"], grid)


def test_the_same_as_evolve(problem):
    flow, stepper, state = problem
    *_, expected = sw.evolve(flow, stepper, state, end=0.23, step=0.01)
    got = jax.jit(lambda f, s: sw.integrate(f, stepper, s, step=0.01, steps=23))(flow, state)
    np.testing.assert_allclose(got.field["velocity"], expected.field["velocity"], atol=1e-15)
    assert float(got.t) == pytest.approx(0.23)
    assert int(got.step) == 23


def test_gradients_against_finite_differences(problem):
    """Through 200 steps, in the viscosity and along a direction of the initial field, in both modes."""
    flow, stepper, state = problem
    direction = initial.RandomPhase(peak=2.0)(flow.grid, VELOCITY, jax.random.key(5))
    towards = flow.from_physical({"velocity": direction})["velocity"]

    @jax.jit
    def final(viscosity, amount):
        start = state.replace(field={"velocity": state.field["velocity"] + amount * towards})
        equation = NavierStokes(flow.grid, viscosity=viscosity)
        return energy(sw.integrate(equation, stepper, start, step=0.01, steps=200), flow.grid)

    backward = jax.jit(jax.grad(final, argnums=(0, 1)))(0.05, 0.0)
    forward = [jax.jit(jax.jvp, static_argnums=0)(final, (0.05, 0.0), t)[1] for t in ((1.0, 0.0), (0.0, 1.0))]
    h = 1e-4
    by_difference = [
        (8 * (final(0.05 + h, 0.0) - final(0.05 - h, 0.0)) - final(0.05 + 2 * h, 0.0) + final(0.05 - 2 * h, 0.0))
        / (12 * h),
        (8 * (final(0.05, h) - final(0.05, -h)) - final(0.05, 2 * h) + final(0.05, -2 * h)) / (12 * h),
    ]
    for found in (backward, forward):
        np.testing.assert_allclose(found, by_difference, rtol=1e-6)
    assert abs(float(backward[0])) > 0.1


def test_the_backward_pass_stays_split(problem):
    flow, stepper, state = problem
    loss = lambda f, s: energy(sw.integrate(f, stepper, s, step=0.01, steps=9), flow.grid)  # noqa: E731
    text = jax.jit(jax.grad(loss)).lower(flow, state).compile().as_text()
    found = set(re.findall(r"(all-to-all|all-gather|collective-permute|reduce-scatter)(?:-start)?\(", text))
    assert found <= {"all-to-all"}


def test_memory_of_a_gradient_grows_as_the_root_of_the_steps():
    grid = sw.Grid((24, 24, 24), mesh=sw.device_mesh())
    flow, stepper = NavierStokes(grid, viscosity=0.05), IFRK2()
    state = sw.initial_state(flow, stepper, initial.TaylorGreen()(grid))

    def held(steps):
        def loss(fields):
            return energy(sw.integrate(flow, stepper, state.replace(field=fields), step=0.01, steps=steps), grid)

        return jax.jit(jax.grad(loss)).lower(state.field).compile().memory_analysis().temp_size_in_bytes

    few, many = held(25), held(400)
    assert many / few < 4.5, "16 times the steps, 4 times the memory"


def test_members_and_parameters_are_batched(make_grid):
    grid = make_grid((32,), devices=1, lengths=20.0)
    equation, stepper = KuramotoSivashinsky(grid), ETDRK4()
    starts = jnp.stack([initial.RandomPhase(peak=1.0)(grid, key=jax.random.key(i)) for i in range(3)])
    run = lambda u: sw.integrate(  # noqa: E731
        equation, stepper, sw.initial_state(equation, stepper, u), step=0.05, steps=20
    ).field["u"]
    together = jax.vmap(run)(starts)
    for member, u in zip(together, starts, strict=True):
        np.testing.assert_allclose(member, run(u), atol=1e-13)


def test_members_of_distributed_flows_equal_single_runs(make_grid):
    grid = make_grid((16, 12, 8), devices=4)
    stepper = IFRK4()
    viscosities = jnp.asarray([0.01, 0.1])
    start = sw.initial_state(
        NavierStokes(grid, 0.01), stepper, initial.RandomPhase()(grid, VELOCITY, jax.random.key(0))
    )
    run = lambda nu: sw.integrate(NavierStokes(grid, nu), stepper, start, step=0.01, steps=5).field  # noqa: E731
    together = jax.jit(jax.vmap(run))(viscosities)["velocity"]
    for member, viscosity in zip(together, viscosities, strict=True):
        np.testing.assert_allclose(member, jax.jit(run)(viscosity)["velocity"], atol=1e-14)


def test_another_parameter_compiles_nothing(problem):
    flow, stepper, state = problem
    list(sw.evolve(flow, stepper, state, end=0.1, step=0.05))
    compiled = fixed_steps._cache_size()
    for viscosity in (0.1, 0.2, 0.3):
        list(sw.evolve(NavierStokes(flow.grid, viscosity), stepper, state, end=0.1, step=0.05))
    assert fixed_steps._cache_size() == compiled


def test_undeclared_attributes_are_refused(make_grid):
    class Sneaky(NavierStokes):
        def __init__(self, grid, c):
            self.grid, self.viscosity, self.c = grid, 0.1, c

    with pytest.raises(AttributeError, match="c"):
        Sneaky(make_grid((16, 16), devices=1), 3.0)


def test_a_negative_number_of_steps_is_refused(problem):
    with pytest.raises(ValueError, match="integrate over -1 steps: zero or more"):
        sw.integrate(*problem, step=0.1, steps=-1)
