"""`save` in `rollout` and `integrate`, and rows at given times reached by steps that a control chooses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver.equations import Burgers
from solver.loop.saving import save_module
from solver.steppers import CNAB2, IFRK3

pytestmark = pytest.mark.slow

CHOICES = {
    "step": {"step": 0.05, "steps": 6, "every": 2},
    "cfl": {"cfl": 0.4, "end": 0.5, "intervals": 2, "max_steps": 3},
    "tolerance": {"tolerance": 1e-3, "end": 0.5, "intervals": 2, "max_steps": 4},
}


def start(make_grid, devices, stepper):
    grid = make_grid((9, 12), devices)
    u = jnp.asarray(np.random.default_rng(3).normal(size=(2, 9, 12)))
    equation = Burgers(grid, 0.3)
    return equation, sw.initial_state(equation, stepper, u)


@pytest.fixture(scope="module")
def wave():
    grid = sw.Grid((16,))
    equation, stepper = Burgers(grid, 0.1), IFRK3()
    return equation, stepper, sw.initial_state(equation, stepper, sw.sample(jnp.sin, grid))


@pytest.mark.parametrize("stepper", [IFRK3(), CNAB2()], ids=lambda stepper: stepper.name)
def test_rows_are_the_states_on_the_way(wave, stepper):
    equation, _, state = wave
    state = sw.initial_state(equation, stepper, equation.to_physical(state.field))
    row = lambda s: {  # noqa: E731
        "u": equation.to_physical(s.field)["velocity"], "at": (s.t, s.step),
        "cfl": equation.series(s.field, s.dt)["cfl"],
    }  # fmt: skip
    times, values = sw.rollout(equation, stepper, state, step=0.02, steps=6, every=3)
    _, rows = sw.rollout(equation, stepper, state, step=0.02, steps=6, every=3, save=row)
    final, same = sw.integrate(equation, stepper, state, step=0.02, steps=6, every=3, save=row)
    np.testing.assert_allclose(rows["u"], values["velocity"], atol=1e-15)
    np.testing.assert_allclose(same["u"], values["velocity"], atol=1e-15)
    np.testing.assert_allclose(rows["at"][0], times, rtol=1e-15)
    np.testing.assert_array_equal(rows["at"][1], [0, 3, 6])
    np.testing.assert_allclose(rows["cfl"][0], 0, atol=0)
    fastest = np.abs(values["velocity"][1:]).max((1, 2)) / equation.grid.spacing[0]
    np.testing.assert_allclose(rows["cfl"][1:], 0.02 * fastest, rtol=1e-12)
    expected = sw.integrate(equation, stepper, state, step=0.02, steps=6)
    np.testing.assert_allclose(final.field["velocity"], expected.field["velocity"], atol=1e-15)
    assert jax.tree.structure(final) == jax.tree.structure(expected)
    assert final.budget == expected.budget


@pytest.mark.parametrize(
    "choice", [{"cfl": 0.3}, {"tolerance": 1e-5}, {"step": 0.04}], ids=lambda choice: next(iter(choice))
)
def test_rows_at_given_times_are_the_states_of_evolve(wave, choice):
    equation, stepper, state = wave
    *states, _ = list(sw.evolve(equation, stepper, state, end=0.6, **choice, pauses=[sw.Schedule(every_time=0.2)]))
    times, values = sw.rollout(equation, stepper, state, end=0.4, intervals=2, max_steps=20, **choice)
    np.testing.assert_allclose(times, [0, 0.2, 0.4], atol=1e-16)
    for row, expected in zip(values["velocity"], states, strict=True):
        np.testing.assert_allclose(row, equation.to_physical(expected.field)["velocity"], atol=1e-14)


@pytest.mark.thorough
@pytest.mark.parametrize("devices", [1, 4])
@pytest.mark.parametrize("choice", CHOICES)
def test_gradients_of_rows_against_differences(make_grid, choice, devices):
    """Of a weighted sum over rows, in the viscosity, an amount of the start and a weight that `save` closes over."""
    stepper = IFRK3()
    equation, state = start(make_grid, devices, stepper)

    @jax.jit
    def loss(numbers):
        viscosity, amount, weight = numbers
        moved = state.replace(field=jax.tree.map(lambda u: amount * u, state.field))
        flow = Burgers(equation.grid, viscosity)
        square = lambda s: sw.diagnostics.mean_square(s.field["velocity"], equation.grid)  # noqa: E731
        times, rows = sw.rollout(flow, stepper, moved, **CHOICES[choice], save=lambda s: jnp.cos(weight * square(s)))
        return jnp.sum(times * rows)

    at, h = jnp.asarray([0.3, 1.0, 0.7]), 1e-4
    difference = lambda d: (8 * (loss(at + d) - loss(at - d)) - loss(at + 2 * d) + loss(at - 2 * d)) / (12 * h)  # noqa: E731
    expected = [float(difference(h * direction)) for direction in jnp.eye(3)]
    np.testing.assert_allclose(jax.grad(loss)(at), expected, rtol=1e-7)


def test_vmap_and_jit_of_rows_at_given_times(wave):
    equation, stepper, state = wave

    def last(numbers):
        viscosity, end = numbers
        flow = Burgers(equation.grid, viscosity)
        times, rows = sw.rollout(flow, stepper, state, cfl=0.4, end=end, intervals=2, max_steps=9, save=lambda s: s.t)
        return times, rows

    both = jnp.asarray([[0.1, 0.3], [0.2, 0.5]])
    times, rows = jax.jit(jax.vmap(last))(both)
    np.testing.assert_allclose(rows, times, rtol=1e-15)
    np.testing.assert_allclose(times[:, -1], both[:, 1], rtol=1e-15)


def test_rows_that_are_not_reached_are_not_a_number_or_raise(wave):
    equation, stepper, state = wave
    limits = {"end": 1.0, "intervals": 4, "max_steps": 2}
    with refused_in_one_line(r"2 attempts .*\(max_steps\) do not reach t = 0.25, row 1 of 4", RuntimeError):
        sw.rollout(equation, stepper, state, cfl=0.1, **limits)
    mean = lambda s: jnp.abs(s.field["velocity"]).max()  # noqa: E731
    rows = jax.jit(lambda step: sw.rollout(equation, stepper, state, step=step, **limits, save=mean)[1])
    assert np.isfinite(rows(0.125)).all()
    assert np.isfinite(rows(0.1)).tolist() == [True, False, False, False, False]


def test_a_function_written_in_a_loop_is_compiled_once(wave, programs_compiled):
    equation, stepper, state = wave
    found = []
    for factor in (2.0, 2.0, 3.0):
        before = programs_compiled()
        _, rows = sw.rollout(equation, stepper, state, step=0.1, steps=2, save=lambda s, a=factor: a * s.step)
        found.append((programs_compiled() - before, rows.tolist()))
    assert [rows for _, rows in found] == [[0, 2, 4], [0, 2, 4], [0, 3, 6]]
    assert found[1][0] == 0
    assert found[2][0] == 1


@pytest.mark.parametrize(
    ("save", "message"),
    [
        (lambda s: None, "save returns None: an array, or a dict, list or tuple of arrays, is needed"),
        (lambda s: {"a": s.t, "b": "x"}, r"save returns a value of type str at \['b'\]"),
        (lambda s: [s.t, None], r"save returns None at \[1\]"),
    ],
)
def test_what_is_saved_must_be_arrays(wave, save, message):
    for call in (sw.rollout, sw.integrate):
        with refused_in_one_line(message, TypeError):
            call(*wave, step=0.1, steps=2, save=save)


def test_what_saves_is_a_function():
    with refused_in_one_line("save='velocity': a function of the state is needed", TypeError):
        save_module("velocity")  # `rollout` itself lets no such type through here


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cfl": 0.5, "end": 1.0, "max_steps": 3}, "intervals=None, max_steps=3: steps, or end, intervals and max_st"),
        ({"step": 0.5}, "steps=None, end=None.*: steps, or end, intervals and max_steps, are needed"),
        ({"step": 0.1, "steps": 4, "end": 1.0}, "steps=4, end=1.0, .*: steps, or end"),
        ({"cfl": 0.5, "end": 1.0, "max_steps": 3, "intervals": 0}, "intervals=0: one or more are needed"),
        ({"cfl": 0.5, "end": 1.0, "max_steps": 3, "intervals": 2, "every": 2}, "every=2 with end=1.0: intervals alone"),
        ({"cfl": 0.5, "steps": 3}, "steps=3 with cfl step: step alone is needed"),
    ],
)
def test_wrong_times_of_rows_are_refused(wave, given, message):
    with refused_in_one_line(message):
        sw.rollout(*wave, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"step": 0.1, "end": 1.0, "max_steps": 20, "save": lambda s: s.t}, "save and end=1.0: rollout has rows"),
        ({"step": 0.1, "steps": 4, "every": 2}, "every=2 without save"),
    ],
)
def test_integrate_saves_equal_steps_only(wave, given, message):
    with refused_in_one_line(message):
        sw.integrate(*wave, **given)


@pytest.mark.parametrize(
    "how", [{"tolerance": 1e-5, "max_steps": 50}, {"step": 0.05, "max_steps": 6}], ids=["tolerance", "step"]
)
def test_vmap_and_gradients_over_start_times(make_grid, how):
    """u_t = cos t from t₀ on: the mean rises by sin(t₀ + 1/2) − sin t₀, at times of its own for each."""
    equation = sw.write("dt(u) = cos(t)", fields={"u": "scalar"})(make_grid((8,), 1))

    def rows(t):
        state = sw.initial_state(equation, IFRK3(), jnp.zeros((1, 8)), t=t)
        mean = lambda s: s.field["u"][0, 0].real  # noqa: E731
        return sw.rollout(equation, IFRK3(), state, **how, end=t + 0.5, intervals=2, save=mean)

    starts = jnp.array([0.0, 0.7])
    times, means = jax.jit(jax.vmap(rows))(starts)
    np.testing.assert_allclose(times, starts[:, None] + jnp.array([0, 0.25, 0.5]), rtol=1e-15)
    np.testing.assert_allclose(means, jnp.sin(times) - jnp.sin(starts)[:, None], atol=1e-6)
    slope = jax.jit(jax.grad(lambda t: rows(t)[1][-1]))(0.7)
    assert float(slope) == pytest.approx(np.cos(1.2) - np.cos(0.7), rel=1e-5)


def test_the_arrays_of_a_function_that_is_a_pytree_are_leaves(wave, programs_compiled):
    """A network that reads the fields on the way: other weights compile nothing, and have gradients."""
    equation, stepper, state = wave
    read = lambda weights, s: weights @ equation.to_physical(s.field)["velocity"][0]  # noqa: E731
    rows = lambda weights: sw.rollout(  # noqa: E731
        equation, stepper, state, step=0.1, steps=2, save=jax.tree_util.Partial(read, weights)
    )[1]
    first = np.ones((3, 16))
    found, before = rows(first), programs_compiled()
    others, after = rows(2 * first), programs_compiled()
    assert after == before
    np.testing.assert_allclose(others, 2 * np.asarray(found), atol=1e-14)
    values = sw.rollout(equation, stepper, state, step=0.1, steps=2)[1]["velocity"][:, 0]
    slope = jax.jit(jax.grad(lambda weights: jnp.sum(rows(weights)[:, 1])))(first)
    np.testing.assert_allclose(slope[1], values.sum(0), atol=1e-13)
