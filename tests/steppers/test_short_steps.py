"""Steps that are shortened, to almost nothing or to anything else: methods keep their order, and no rounding grows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw

MULTISTEP = [sw.steppers.CNAB2(), sw.steppers.SBDF2(), sw.steppers.SBDF3()]


def burgers(make_grid, precision):
    grid = make_grid((32,), devices=1, precision=precision)
    return sw.equations.Burgers(grid, viscosity=0.1)


def ended(equation, stepper, interval, **control):
    """The velocity at t = 1, from a sine, met at multiples of an interval."""
    start = sw.sample(lambda x: jnp.sin(x) + 0.5 * jnp.cos(2 * x), equation.grid)
    state = sw.initial_state(equation, stepper, start)
    pauses = [sw.Schedule(every_time=interval)] if interval else []
    *_, state = sw.evolve(equation, stepper, state, end=1.0, pauses=pauses, **control)
    return np.asarray(equation.to_physical(state.field)["velocity"], float)


@pytest.fixture(scope="module")
def exact():
    grid = sw.Grid((32,), mesh=sw.device_mesh([0]))
    return ended(sw.equations.Burgers(grid, viscosity=0.1), sw.steppers.IFRK4(), None, step=0.002)


@pytest.mark.slow
@pytest.mark.parametrize(("step", "precision"), [(0.0333, "float64"), (0.0333333, "float32"), (0.033333333, "float64")])
@pytest.mark.parametrize("stepper", MULTISTEP, ids=lambda stepper: stepper.name)
def test_a_sliver_before_each_output_changes_nothing(make_grid, exact, stepper, precision, step):
    """Rounding grew by the ratio of the steps, and its square: errors of 0.1 to 1, and no word."""
    equation = burgers(make_grid, precision)
    undisturbed = np.abs(ended(equation, stepper, None, step=1 / 30) - exact).max()
    assert np.abs(ended(equation, stepper, 0.1, step=step) - exact).max() < 1.2 * undisturbed + 2e-5


@pytest.mark.slow
@pytest.mark.parametrize("interval", [0.1, 0.0301])
@pytest.mark.parametrize("stepper", MULTISTEP, ids=lambda stepper: stepper.name)
def test_the_order_is_kept_with_steps_of_any_sizes(make_grid, exact, stepper, interval):
    equation = burgers(make_grid, "float64")
    coarse, fine = (np.abs(ended(equation, stepper, interval, step=step) - exact).max() for step in (0.02, 0.01))
    assert coarse / fine > 0.7 * 2**stepper.order
    assert fine < 1.6 * np.abs(ended(equation, stepper, None, step=0.01) - exact).max()


@pytest.mark.slow
@pytest.mark.parametrize("stepper", MULTISTEP, ids=lambda stepper: stepper.name)
def test_a_step_much_longer_than_the_one_before_starts_anew(make_grid, stepper):
    """Steps of 1e-9 alone, then one of 0.05: what lies in the history is no use to it."""
    equation = burgers(make_grid, "float64")
    start = sw.sample(lambda x: jnp.sin(x) + 0.5 * jnp.cos(2 * x), equation.grid)
    short = sw.integrate(equation, stepper, sw.initial_state(equation, stepper, start), step=1e-9, steps=4)
    alone = sw.integrate(
        equation, stepper, sw.initial_state(equation, stepper, equation.to_physical(short.field)), step=0.05, steps=1
    )
    after = sw.integrate(equation, stepper, short, step=0.05, steps=1)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12), after.field, alone.field)


@pytest.mark.slow
@pytest.mark.parametrize(("step", "end", "interval"), [(0.1, 0.95, None), (0.1, 1.0, 0.35), (0.3, 1.0, 0.5)])
@pytest.mark.parametrize("several", [False, True], ids=["alone", "ensemble"])
def test_a_shortened_step_begins_at_its_own_time(make_grid, step, end, interval, several):
    """It took t = (number of steps) · (its own size): sources were evaluated too early."""
    equation = sw.write("dt(u) = cos(t)", {"u": "scalar"})(make_grid((8,), devices=1))
    stepper, pauses = sw.steppers.IFRK4(), [sw.Schedule(every_time=interval)] if interval else []
    state = sw.initial_state(equation, stepper, {"u": jnp.zeros((1, 8))}, t=3.0)
    how = {"end": 3.0 + end, "step": step, "pauses": pauses}
    if several:
        ends = dict(sw.Ensemble([equation] * 2, stepper, [state] * 2).evolve(**how)).values()
    else:
        *_, last = sw.evolve(equation, stepper, state, **how)
        ends = [last]
    for last in ends:
        np.testing.assert_allclose(equation.to_physical(last.field)["u"], np.sin(3 + end) - np.sin(3), atol=1e-5)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("stepper", [sw.steppers.SBDF2(), sw.steppers.SBDF3()], ids=lambda stepper: stepper.name)
def test_short_steps_in_ensembles_and_across_checkpoints(make_grid, stepper, tmp_path):
    """With a budget on two devices: members as alone, and the same bits after a checkpoint right behind a sliver."""
    equation = sw.equations.NavierStokes(make_grid((12, 16), devices=2), viscosity=0.05)
    start = sw.initial_state(equation, stepper, sw.initial.TaylorGreen()(equation.grid))
    how = {"end": 0.5, "step": 0.0333333333, "pauses": [sw.Schedule(every_time=0.1)]}
    states = list(sw.evolve(equation, stepper, start, **how))
    ends = dict(sw.Ensemble([equation] * 2, stepper, [start] * 2).evolve(**how))
    behind = next(state for state in states if float(state.t) == pytest.approx(0.2, abs=1e-12))
    path = sw.io.save_checkpoint(tmp_path, behind, equation.grid)
    *_, again = sw.evolve(equation, stepper, sw.io.load_checkpoint(path, equation, stepper), **how)
    np.testing.assert_array_equal(again.field["velocity"], states[-1].field["velocity"])
    for name, value in states[-1].budget.items():
        np.testing.assert_array_equal(again.budget[name], value)
        np.testing.assert_allclose([state.budget[name] for state in ends.values()], value, rtol=1e-12)
    for state in ends.values():
        np.testing.assert_allclose(state.field["velocity"], states[-1].field["velocity"], atol=1e-14)


@pytest.mark.slow
def test_cfl_steps_meet_their_times(make_grid, exact):
    """Outputs just before and just after what CFL steps reach: slivers of all sizes."""
    equation, stepper = burgers(make_grid, "float64"), sw.steppers.SBDF2()
    undisturbed = np.abs(ended(equation, stepper, None, cfl=0.2, max_step=0.01) - exact).max()
    assert np.abs(ended(equation, stepper, 0.0100000001, cfl=0.2, max_step=0.01) - exact).max() < 1.5 * undisturbed
