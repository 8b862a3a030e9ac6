"""Chunks, pauses, schedules, CFL control, blow-up."""

import math
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY

import solver as sw
from solver.equations import KuramotoSivashinsky, NavierStokes, SchroedingerPoisson
from solver.loop import BlowUp, advance
from solver.steppers import ETDRK4, IFRK2, IFRK4, Strang


@pytest.fixture
def flow(make_grid):
    grid = make_grid((16, 16, 16), devices=2)
    equation = NavierStokes(grid, viscosity=0.02)
    return equation, IFRK2(), sw.initial_state(equation, IFRK2(), sw.initial.TaylorGreen()(grid))


def times(problem, **options):
    return [(int(s.step), float(s.t)) for s in sw.evolve(*problem, **options)]


@pytest.mark.slow
def test_pauses_come_at_multiples_of_steps_and_at_exact_times(flow):
    pauses = [sw.Schedule(every_steps=4), sw.Schedule(every_time=0.25)]
    seen = times(flow, end=0.6, step=0.1, pauses=pauses)
    # 0.25 and 0.5 are met exactly, by shortened steps, and the count of times begins anew there
    at_targets = [(step, t) for step, t in seen if t in (0.0, 0.25, 0.5)]
    assert at_targets == [(0, 0.0), (3, 0.25), (6, 0.5)]
    assert seen[-1] == (7, 0.5 + 1 * 0.1)
    assert (4, 0.25 + 1 * 0.1) in seen, "a multiple of steps"


@pytest.mark.slow
@pytest.mark.parametrize(("amplitude", "viscosity"), [(0.0, 0.1), (1e-11, 0.1), (1e-3, 4.0)])
def test_all_times_are_met_where_any_step_would_do(make_grid, amplitude, viscosity):
    """Of a flow at rest, one near it, and one that decays: the size that the CFL number allows grows without bound."""
    grid = make_grid((8, 8), devices=2)
    equation = NavierStokes(grid, viscosity=viscosity)
    start = {"velocity": amplitude * sw.initial.TaylorGreen()(grid)}
    state = sw.initial_state(equation, IFRK2(), start)
    seen = times((equation, IFRK2(), state), end=4.0, cfl=0.5, pauses=[sw.Schedule(every_time=0.02)])
    assert [t for _, t in seen] == [float(f"{0.02 * n:.2f}") for n in range(201)]


@pytest.mark.slow
@pytest.mark.parametrize("control", [{"step": 0.2}, {"cfl": 0.5, "max_step": 0.2}, {"tolerance": 1.0, "max_step": 0.2}])
def test_the_size_of_a_step_is_the_one_taken(make_grid, control):
    """Times between steps shorten them; so does the end."""
    equation, stepper = NavierStokes(make_grid((8, 8), devices=1), viscosity=0.02), sw.steppers.IFRK2()
    start = sw.initial_state(equation, stepper, 0.1 * sw.initial.TaylorGreen()(equation.grid))
    states = list(
        sw.evolve(equation, stepper, start, end=0.5, chunk=1, pauses=[sw.Schedule(every_time=0.3)], **control)
    )
    sizes = np.diff([float(s.t) for s in states])
    np.testing.assert_allclose([float(s.taken) for s in states[1:]], sizes, rtol=1e-12)
    assert sizes.min() < 0.15 < sizes.max()


@pytest.mark.slow
def test_times_are_counted_not_accumulated(flow):
    seen = times(flow, end=0.8, step=0.1, chunk=1)
    assert seen[-2:] == [(7, 0.7), (8, 0.8)]  # 7 · 0.1 is 0.7000000000000001 in binary numbers
    accumulated = 0.0
    for _ in range(8):  # not sum(): newer Pythons compensate its round-off
        accumulated += 0.1
    assert accumulated != 0.8
    assert times(flow, end=1.0, step=1 / 3)[-1] == (3, 1.0)  # of which no decimal number is three times as large


@pytest.mark.slow
def test_a_target_within_a_billionth_of_a_step_counts_as_reached(flow):
    seen = times(flow, end=0.3 + 1e-12, step=0.1)
    assert seen[-1][0] == 3
    seen = times(flow, end=0.3 + 1e-6, step=0.1)
    assert seen[-1] == (4, 0.3 + 1e-6)


def problems(make_grid):
    grid = make_grid((16, 12, 10), devices=2)
    flow = NavierStokes(grid, viscosity=0.02)
    yield flow, IFRK2(), sw.initial.RandomPhase()(grid, VELOCITY, jax.random.key(0)), {"step": 0.02}
    yield flow, ETDRK4(), sw.initial.RandomPhase()(grid, VELOCITY, jax.random.key(0)), {"cfl": 0.4}
    front = KuramotoSivashinsky(make_grid((24, 16), devices=2, lengths=12.0))
    yield front, ETDRK4(), sw.initial.RandomPhase(peak=1.0)(front.grid, key=jax.random.key(0)), {"step": 0.05}
    wave = SchroedingerPoisson(make_grid((16, 12, 10), devices=2, real=False, dealias="none"), coupling=3.0)
    yield wave, Strang(), sw.initial.RandomPhase(peak=1.5)(wave.grid, key=jax.random.key(0)), {"step": 0.02}


@pytest.mark.slow
@pytest.mark.parametrize("which", [1, 3], ids=["etdrk4 cfl", "strang step"])
def test_where_chunks_end_changes_no_bit(make_grid, which):
    equation, stepper, u, control = list(problems(make_grid))[which]
    start = sw.initial_state(equation, stepper, u)
    ends = []
    for chunk in (1, 7, 1000):
        *_, state = sw.evolve(equation, stepper, start, end=0.31, chunk=chunk, **control)
        ends.append(jax.tree.map(np.asarray, state))
    for other in ends[1:]:
        jax.tree.map(np.testing.assert_array_equal, other, ends[0])


def test_a_second_chunk_does_not_compile_again(flow):
    list(sw.evolve(*flow, end=0.1, step=0.02, chunk=1))
    compiled = advance._cache_size()
    list(sw.evolve(*flow, end=0.3, step=0.01, chunk=5, pauses=[sw.Schedule(every_time=0.13)]))
    assert advance._cache_size() == compiled


def test_the_callers_state_stays_valid(flow):
    equation, stepper, state = flow
    before = np.asarray(state.field["velocity"])
    list(sw.evolve(equation, stepper, state, end=0.1, step=0.05))
    np.testing.assert_array_equal(state.field["velocity"], before)


@pytest.mark.slow
def test_cfl_keeps_its_number_and_meets_targets(flow):
    equation, stepper, state = flow
    rate = jax.jit(equation.rate)
    before, seen = None, []
    for now in sw.evolve(equation, stepper, state, end=1.0, cfl=0.5, pauses=[sw.Schedule(every_time=0.3)], chunk=1):
        if before is not None:
            taken = float(now.t) - before[0]
            assert taken <= 0.5 / before[1] * (1 + 1e-8)
            seen.append(taken * before[1])
        before = float(now.t), float(rate(now.field))
    assert max(seen) == pytest.approx(0.5, rel=1e-8)
    hits = [t for _, t in times(flow, end=1.0, cfl=0.5, pauses=[sw.Schedule(every_time=0.3)])]
    assert {0.3, 0.6, 0.9, 1.0} <= set(hits)


@pytest.mark.slow
def test_cfl_of_a_field_at_rest_goes_straight_to_the_end(make_grid):
    equation = NavierStokes(make_grid((16, 16), devices=2), viscosity=0.1)
    state = sw.initial_state(equation, IFRK2(), jnp.zeros((2, 16, 16)))
    assert times((equation, IFRK2(), state), end=2.0, cfl=0.5) == [(0, 0.0), (1, 2.0)]


@pytest.mark.slow
@pytest.mark.parametrize("control", [{"step": 1.0}, {"cfl": 50.0}], ids=str)
def test_a_blow_up_is_raised_and_never_yielded(make_grid, control):
    grid = make_grid((16, 16), devices=2)
    equation = NavierStokes(grid, viscosity=0.0)
    u = 30 * sw.initial.RandomPhase()(grid, VELOCITY, jax.random.key(0))
    state = sw.initial_state(equation, IFRK2(), u)
    seen = []

    def watch():
        for now in sw.evolve(equation, IFRK2(), state, end=1e4, chunk=1, **control):
            seen.append(bool(jnp.all(jnp.isfinite(now.field["velocity"]))))

    with pytest.raises(BlowUp, match=r"blew up between step \d+ \(t = .*\) and step"):
        watch()
    assert all(seen)
    assert len(seen) > 1


@pytest.mark.parametrize(
    "control", [{}, {"step": 0.1, "cfl": 0.5}, {"step": -1.0}, {"cfl": 0.0}, {"step": math.nan}], ids=str
)
def test_wrong_control_is_refused(flow, control):
    with pytest.raises(ValueError, match=r"a positive number is needed|one of them is needed, a positive number"):
        next(sw.evolve(*flow, end=1.0, **control))


def test_schedules_depend_on_the_state_alone():
    state = sw.State(field=None, t=np.float64(0.6), dt=np.float64(0.1), step=np.int64(6))
    assert sw.Schedule(every_time=0.2).due(state)  # 3 · 0.2 is not 0.6 in binary
    assert not sw.Schedule(every_time=0.25).due(state)
    assert sw.Schedule(every_steps=3).due(state)
    assert not sw.Schedule(every_steps=4).due(state)
    assert not sw.Schedule().due(state)


@pytest.mark.slow
def test_float32_runs_in_float32_with_exact_times(make_grid):
    grid = make_grid((16, 16, 16), devices=2, precision="float32")
    equation = NavierStokes(grid, viscosity=0.02)
    start = sw.initial_state(equation, IFRK2(), sw.initial.TaylorGreen()(grid))
    *_, state = sw.evolve(equation, IFRK2(), start, end=0.7, step=0.1)
    assert state.field["velocity"].dtype == jnp.complex64
    assert float(state.t) == 0.7


@pytest.mark.parametrize(
    "wrong", [{"every_steps": -3}, {"every_steps": 0}, {"every_time": -0.1}, {"every_time": math.nan}]
)
def test_schedules_that_cannot_come_due_are_refused(wrong):
    with pytest.raises(ValueError, match="a positive number is needed"):
        sw.Schedule(**wrong)


def test_half_a_step_is_no_schedule():
    with pytest.raises(ValueError, match=r"every_steps = 1\.5: a whole number is needed"):
        sw.Schedule(every_steps=1.5)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.longdouble, jnp.asarray])
def test_schedules_of_numbers_of_other_libraries(kind):
    """Intervals from `numpy.linspace`, say."""
    assert type(sw.Schedule(every_time=kind(1) / 3).every_time) is float
    schedule = sw.Schedule(every_time=kind(0.25), every_steps=np.int64(3))
    assert schedule == sw.Schedule(every_time=0.25, every_steps=3)
    assert schedule.next_time(0.5, 0.0) == 0.75
    assert sw.outputs.Series(every_time=kind(0.25)).schedule.next_time(0.5, 0.0) == 0.75


@pytest.mark.slow
def test_kept_states_stay_valid_unless_donated(flow):
    states = list(sw.evolve(*flow, end=0.1, step=0.02, chunk=1))
    energies = [float(jax.jit(flow[0].series)(s.field, s.dt)["energy"]) for s in states]
    assert len(energies) == 6
    assert all(after < before for before, after in pairwise(energies))
    donated = sw.evolve(*flow, end=0.1, step=0.02, chunk=1, donate=True)
    first = next(donated)
    next(donated)
    assert first.field["velocity"].is_deleted()
    assert not flow[2].field["velocity"].is_deleted()


class Pushed(NavierStokes):
    """A constant body force, cos y along x, from which a flow at rest starts."""

    def nonlinear(self, fields, t):
        force = sw.sample(lambda x, y: (jnp.cos(y) + 0 * x, 0 * x), self.grid)
        return {"velocity": super().nonlinear(fields, t)["velocity"] + self.transform.forward(force)}


@pytest.mark.thorough
@pytest.mark.slow
def test_a_flow_from_rest_is_not_crossed_in_one_step(make_grid):
    """u = (1 − e^{−νt})/ν cos y exactly."""
    equation = Pushed(make_grid((16, 16), devices=2), viscosity=0.3)
    state = sw.initial_state(equation, IFRK4(), jnp.zeros((2, 16, 16)))
    states = list(sw.evolve(equation, IFRK4(), state, end=20.0, cfl=0.5, chunk=1))
    largest = float(jnp.max(equation.to_physical(states[-1].field)["velocity"]))
    assert largest == pytest.approx((1 - np.exp(-0.3 * 20)) / 0.3, rel=1e-6)
    sizes = np.diff([float(s.t) for s in states])
    assert np.all(sizes[1:-1] <= 1.5 * sizes[:-2] * (1 + 1e-12))


class Turning(sw.Equation):
    """u_t = v, v_t = −u, as one matrix per mode."""

    name = "turning"
    fields = {name: sw.Field() for name in "uv"}  # noqa: RUF012

    def linear(self):
        ones = jnp.ones(self.grid.spectral_shape)
        return sw.Matrix(jnp.stack([jnp.stack([0 * ones, ones]), jnp.stack([-ones, 0 * ones])]), ("u", "v"))

    def nonlinear(self, fields, t):
        return {name: 0 * u for name, u in fields.items()}

    def rate(self, fields):
        return jnp.ones(())


class Counting(sw.steppers.IMEXRK2):
    """Says how often its coefficients are worked out."""

    seen = []  # noqa: RUF012

    def coefficients(self, equation, dt):
        jax.debug.callback(lambda dt: self.seen.append(float(dt)), dt)
        return super().coefficients(equation, dt)


@pytest.mark.slow
def test_coefficients_are_kept_while_a_step_stays(make_grid):
    """At the longest step that is allowed; they are worked out once a chunk, and where one ends changes no bit."""
    equation, stepper = Turning(make_grid((8,), devices=1)), Counting()
    start = sw.initial_state(equation, stepper, {name: jnp.ones((1, 8)) for name in "uv"})
    control = {"end": 2.0, "cfl": 0.5, "max_step": 0.05}
    ends = []
    for chunk in (1000, 7):
        stepper.seen.clear()
        *_, last = sw.evolve(equation, stepper, start, chunk=chunk, **control)
        jax.effects_barrier()
        ends.append(jax.tree.map(np.asarray, last.field))
        if chunk == 1000:
            assert 2 < len(stepper.seen) < int(last.step) / 2
            assert stepper.seen.count(0.05) == 1
    jax.tree.map(np.testing.assert_array_equal, *ends)
    exact = np.cos(2.0) + np.sin(2.0)
    assert float(last.field["u"][0, 0].real) == pytest.approx(exact, rel=1e-2)


@pytest.mark.slow
def test_no_step_is_longer_than_the_longest(flow):
    states = list(sw.evolve(*flow, end=1.0, cfl=0.5, max_step=0.03, chunk=1))
    sizes = np.diff([float(s.t) for s in states])
    assert sizes.max() == pytest.approx(0.03, rel=1e-12)
    with pytest.raises(ValueError, match=r"max_step=0.1: a positive number is needed, beside cfl or tolerance"):
        next(sw.evolve(*flow, end=1.0, step=0.1, max_step=0.1))
