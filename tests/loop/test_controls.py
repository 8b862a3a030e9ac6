"""Step control as values: the short words, own controls, restarts, and `integrate` up to a time."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver.config.sections import TimeSection
from solver.equations import NavierStokes
from solver.loop import BlowUp, advance, step_control
from solver.steppers import CNAB2, IFRK2, IFRK3

END = 0.3


@pytest.fixture
def noise(make_grid):
    """A grid on two devices, and a velocity on it."""
    return make_grid((13, 12), devices=2), jnp.asarray(np.random.default_rng(0).normal(size=(2, 13, 12)))


def start(noise, stepper, viscosity=0.02):
    flow = NavierStokes(noise[0], viscosity)
    return flow, stepper, sw.initial_state(flow, stepper, noise[1])


class EveryOther(sw.StepControl):
    """Refuses each step once, and takes half of it."""

    longest: float

    def start(self, equation, state):
        return {"next": self.longest, "tries": {"refused": 0}}

    def propose(self, memory, rate):
        return memory["next"]

    def judge(self, memory, attempt):
        first = attempt.dt > 0.75 * self.longest
        refused = memory["tries"]["refused"] + first
        return ~first, {"next": jnp.where(first, 0.5, 1.0) * self.longest, "tries": {"refused": refused}}


class Never(EveryOther):
    """Refuses every step."""

    def judge(self, memory, attempt):
        return jnp.zeros((), bool), memory


SHORT = [
    ({"step": 0.013}, sw.FixedStep(0.013)),
    ({"cfl": 0.5, "max_step": 0.04}, sw.KeepCFL(0.5, max_step=0.04)),
    ({"tolerance": 1e-4}, sw.MeetTolerance(1e-4)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "control"), SHORT, ids=lambda given: str(given))
def test_words_are_short_for_a_control(noise, words, control):
    flow, stepper, state = start(noise, IFRK3())
    *_, short = sw.evolve(flow, stepper, state, end=0.1, **words)
    programs = advance._cache_size()
    *_, whole = sw.evolve(flow, stepper, state, end=0.1, control=control, chunk=2)
    assert advance._cache_size() == programs
    jax.tree.map(np.testing.assert_array_equal, short, whole)
    assert int(short.step) > 2


@pytest.mark.slow
def test_a_step_is_as_long_as_its_control_says(noise):
    flow, stepper, state = start(noise, IFRK3())
    every = [sw.Schedule(every_steps=1)]
    cfl = list(sw.evolve(flow, stepper, state, end=END, control=sw.KeepCFL(0.4), pauses=every))
    for before, after in pairwise(cfl[:-1]):
        allowed = 0.4 / float(flow.rate(before.field))
        assert float(after.taken) <= allowed * (1 + 1e-12)
        assert float(after.taken) in (pytest.approx(allowed), pytest.approx(1.5 * float(before.taken), rel=1e-12)) or (
            int(after.step) == 1
        )
    limited = list(sw.evolve(flow, stepper, state, end=0.05, control=sw.KeepCFL(0.4, max_step=0.01), pauses=every))
    assert max(float(state.taken) for state in limited) == pytest.approx(0.01)


@pytest.mark.slow
def test_own_control_refuses_remembers_and_goes_on_from_a_checkpoint(noise, tmp_path):
    flow, stepper, state = start(noise, IFRK2())
    control, pauses = EveryOther(0.02), [sw.Schedule(every_time=0.05)]
    *_, whole = sw.evolve(flow, stepper, state, end=0.1, control=control, pauses=pauses)
    assert int(whole.step) == 10
    assert int(whole.rejected) == 8  # the step before a pause has half the size already
    assert int(whole.control["EveryOther"]["tries"]["refused"]) == 8
    *_, half = sw.evolve(flow, stepper, state, end=0.05, control=control, pauses=pauses)
    path = sw.io.save_checkpoint(tmp_path, half, flow.grid)
    kept = sw.io.load_checkpoint(path, flow, stepper)
    assert kept.control == half.control
    *_, again = sw.evolve(flow, stepper, kept, end=0.1, control=control, pauses=pauses)
    jax.tree.map(np.testing.assert_array_equal, again, whole)
    *_, fixed = sw.evolve(flow, stepper, state, end=0.1, step=0.01)
    np.testing.assert_allclose(whole.field["velocity"], fixed.field["velocity"], atol=1e-14)
    *_, other = sw.evolve(flow, stepper, kept, end=0.1, step=0.01)
    assert other.control == {}  # what another control remembered is not kept


def test_own_control_has_a_run_and_a_name_there(noise, tmp_path):
    flow, stepper, state = start(noise, IFRK2())
    last = sw.run(flow, stepper, state, end=0.1, control=EveryOther(0.02), directory=tmp_path)
    assert int(last.step) == 10
    text = (tmp_path / "config.toml").read_text()
    assert 'control = "EveryOther"' in text
    assert "longest = 0.02" in text


def test_a_step_that_is_always_refused_is_a_blow_up(noise):
    flow, stepper, state = start(noise, IFRK2())
    with pytest.raises(BlowUp, match="blew up between step 0"):
        list(sw.evolve(flow, stepper, state, end=0.1, control=Never(0.02)))


class Remembers(EveryOther):
    """Something else than numbers by name."""

    def start(self, equation, state):
        return {"tries": jnp.zeros(3)}


WRONG = {
    "none": ({}, ValueError, "step=None, cfl=None, tolerance=None: one of them is needed"),
    "two": ({"control": sw.FixedStep(0.1), "cfl": 0.5}, ValueError, "control=step = 0.1 beside cfl=0.5: one of them"),
    "a limit": ({"control": sw.FixedStep(0.1), "max_step": 0.5}, ValueError, "beside max_step=0.5: one of them"),
    "of a step": ({"step": 0.1, "max_step": 0.5}, ValueError, "max_step=0.5: a positive number is needed, beside cfl"),
    "no end": ({"step": 0.1, "end": np.inf}, ValueError, "end=inf: a finite time is needed"),
    "too small": ({"step": 1e-16}, ValueError, "too small to reach end"),
    "memory": ({"control": Remembers(0.1)}, TypeError, "remembers tries = .*a dict of numbers by name is needed"),
    "no estimate": ({"control": sw.MeetTolerance(1e-3), "stepper": CNAB2()}, TypeError, "cnab2 has no error estimate"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_control_is_refused_in_one_line(noise, case):
    given, error, message = WRONG[case]
    flow, stepper, state = start(noise, given.get("stepper", IFRK2()))
    words = {"end": 0.1, **{name: value for name, value in given.items() if name != "stepper"}}
    with pytest.raises(error, match=message):
        next(sw.evolve(flow, stepper, state, **words))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"control": 0.1}, TypeError, "control=0.1: a StepControl is needed"),
        ({"step": "0.1"}, TypeError, "step is of type str: a positive number is needed"),
        ({"cfl": np.ones(2)}, ValueError, r"cfl of shape \[2\]: one number is needed"),
        ({"tolerance": np.nan}, ValueError, "tolerance nan: a positive number is needed"),
    ],
)
def test_what_is_no_number_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        step_control(**given)


# ---- integrate up to a time -------------------------------------------------------------------------------------

CHOSEN = [
    (IFRK3(), sw.KeepCFL(0.5)),
    (IFRK3(), sw.MeetTolerance(1e-4)),
    (CNAB2(), sw.KeepCFL(0.3)),
    (IFRK2(), sw.FixedStep(0.017)),
    (IFRK2(), EveryOther(0.03)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("stepper", "control"), CHOSEN, ids=lambda given: type(given).__name__)
def test_integrate_takes_the_steps_that_evolve_takes(noise, stepper, control):
    flow, stepper, state = start(noise, stepper)
    *_, expected = sw.evolve(flow, stepper, state, end=END, control=control)
    computed = sw.integrate(flow, stepper, state, control=control, end=END, max_steps=48)
    assert (int(computed.step), int(computed.rejected)) == (int(expected.step), int(expected.rejected))
    assert float(computed.t) == END
    np.testing.assert_allclose(computed.field["velocity"], expected.field["velocity"], atol=1e-13)
    assert float(computed.taken) == pytest.approx(float(expected.taken), rel=1e-10)
    *_, further = sw.evolve(flow, stepper, computed, end=END + 0.02, control=control)
    assert float(further.t) == END + 0.02


def energy(noise, state, control, viscosity, steps=32, checkpoint="sqrt", end=0.1):
    flow, stepper = NavierStokes(noise[0], viscosity), IFRK3()
    after = sw.integrate(flow, stepper, state, control=control, end=end, max_steps=steps, checkpoint=checkpoint)
    return sw.diagnostics.mean_square(after.field["velocity"], noise[0])


@pytest.mark.slow
@pytest.mark.parametrize("control", [sw.KeepCFL(0.5), sw.MeetTolerance(1e-4)], ids=str)
def test_gradients_through_chosen_steps(noise, control):
    _, _, state = start(noise, IFRK3())
    of = lambda nu: energy(noise, state, control, nu)  # noqa: E731
    slope, h = float(jax.grad(of)(0.02)), 1e-5
    assert slope == pytest.approx(float(of(0.02 + h) - of(0.02 - h)) / (2 * h), rel=1e-6)
    kept = jax.grad(lambda nu: energy(noise, state, control, nu, checkpoint="none"))(0.02)
    assert slope == pytest.approx(float(kept), rel=1e-12)
    _, tangent = jax.jvp(of, (0.02,), (1.0,))
    assert slope == pytest.approx(float(tangent), rel=1e-10)


@pytest.mark.thorough
@pytest.mark.slow
def test_derivatives_from_rest_under_a_cfl_number(make_grid):
    """In both modes and twice, although the rate of the first step is 0; the force alone moves the flow."""
    grid = make_grid((8, 8), devices=1)

    def of(amplitude):
        flow = NavierStokes(grid, 0.05, forcing=sw.forcing.Kolmogorov(amplitude=amplitude, wavenumber=1))
        state = sw.initial_state(flow, IFRK3(), jnp.zeros((2, 8, 8)))
        after = sw.integrate(flow, IFRK3(), state, cfl=0.4, end=0.2, max_steps=4, checkpoint="none")
        return sw.diagnostics.mean_square(after.field["velocity"], grid)

    slope, h = float(jax.grad(of)(1.0)), 1e-4
    assert slope == pytest.approx(float(of(1 + h) - of(1 - h)) / (2 * h), rel=1e-6)
    assert slope == pytest.approx(float(jax.jvp(of, (1.0,), (1.0,))[1]), rel=1e-10)
    assert float(jax.grad(jax.grad(of))(1.0)) == pytest.approx(2 * float(of(1.0)), rel=1e-6)  # it is a square of it


@pytest.mark.slow
def test_members_choose_steps_of_their_own(noise):
    _, _, state = start(noise, IFRK3())
    of = lambda number: energy(noise, state, sw.KeepCFL(number), 0.02, end=END)  # noqa: E731
    together = jax.jit(jax.vmap(of))(jnp.asarray([0.25, 0.5]))
    np.testing.assert_allclose(together, [of(0.25), of(0.5)], rtol=1e-13)
    assert float(together[0]) != float(together[1])


@pytest.mark.thorough
@pytest.mark.slow
def test_a_bound_that_is_hit_is_no_shorter_run(noise):
    flow, stepper, state = start(noise, IFRK3())
    given = {"control": sw.FixedStep(0.01), "end": 0.1}
    assert int(sw.integrate(flow, stepper, state, max_steps=10, **given).step) == 10
    with pytest.raises(RuntimeError, match=r"9 attempts at a step \(max_steps\) end at t = 0.09, step 9; more are nee"):
        sw.integrate(flow, stepper, state, max_steps=9, **given)
    of = lambda nu: energy(noise, state, sw.FixedStep(0.01), nu, steps=9)  # noqa: E731
    assert np.isnan(jax.jit(of)(0.02))
    assert np.isnan(jax.grad(of)(0.02))


@pytest.mark.slow
@pytest.mark.parametrize("control", [sw.FixedStep(0.1), sw.KeepCFL(0.4), sw.MeetTolerance(1e-3)], ids=str)
def test_an_end_before_the_state_is_refused(noise, control, tmp_path):
    """Under tracing fields are not a number; the time at which a state stands is no earlier one."""
    flow, stepper, state = start(noise, IFRK3())
    state = state.replace(t=np.float64(1.0))
    message = r"^end=0.5: the state stands at t = 1; this time or a later one is needed$"
    outputs = [sw.outputs.Series(every_time=0.1)]
    for call in (
        lambda: sw.integrate(flow, stepper, state, control=control, end=0.5, max_steps=4),
        lambda: list(sw.evolve(flow, stepper, state, control=control, end=0.5)),
        lambda: sw.run(flow, stepper, state, control=control, end=0.5, directory=tmp_path / "run", outputs=outputs),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert not (tmp_path / "run").exists()
    to = jax.jit(
        lambda end: sw.integrate(flow, stepper, state, control=control, end=end, max_steps=4).field["velocity"]
    )
    assert np.isnan(to(0.5)).all()
    np.testing.assert_array_equal(to(1.0), state.field["velocity"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"step": 0.1}, "steps=None, end=None, max_steps=None: steps, or end and max_steps"),
        ({"step": 0.1, "end": 1.0}, "end=1.0, max_steps=None: steps, or end and max_steps"),
        ({"step": 0.1, "steps": 3, "end": 1.0, "max_steps": 3}, "steps, or end and max_steps"),
        ({"cfl": 0.5, "steps": 3}, "steps=3 with cfl step: step alone is needed"),
        ({"steps": 3}, "steps=3 with no step: step alone is needed"),
        ({"cfl": 0.5, "end": 1.0, "max_steps": -1}, "integrate over -1 steps"),
        ({"cfl": -0.5, "end": 1.0, "max_steps": 3}, "cfl -0.5: a positive number is needed"),
    ],
)
def test_integrate_refuses_what_does_not_go_together(noise, given, message):
    with pytest.raises(ValueError, match=message):
        sw.integrate(*start(noise, IFRK2()), **given)


@pytest.mark.slow
def test_a_tolerance_of_fluctuations_does_not_count_a_large_mean(make_grid):
    """Diffusion outside of L moves no mean: with a mean or without, steps are the same."""
    equation = sw.write("dt(u) = explicit(lap(u))", {"u": "scalar"})(make_grid((16,), devices=1))
    stepper, wave = IFRK3(), jnp.sin(2 * equation.grid.coordinates()[0])[None]

    def next_step(mean, **options):
        control = sw.MeetTolerance(1e-6, **options)
        begun = sw.initial_state(equation, stepper, wave + mean)
        *_, state = sw.evolve(equation, stepper, begun, end=0.3, control=control)
        return float(state.control["MeetTolerance"]["next"])

    plain = next_step(0.0)
    np.testing.assert_allclose(next_step(100.0, of_fluctuations=True), plain, rtol=1e-6)
    assert next_step(100.0) > 1.5 * plain


def test_what_fluctuations_need_is_said(make_grid):
    grid = make_grid((8, 8), devices=1, walls="y")
    equation = sw.write("dt(u) = lap(u)", {"u": "scalar"})(grid, walls={"u": sw.walls.Value()})
    with refused_in_one_line("of_fluctuations between walls: a periodic box is needed"):
        sw.MeetTolerance(1e-3, of_fluctuations=True).check_rate(equation)
    with pytest.raises(ValueError, match=r"time.of_fluctuations = true needs time.tolerance"):
        TimeSection(stepper="etdrk4", end=1.0, cfl=0.5, of_fluctuations=True)
