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
from solver.loop import advance, pure_steps
from solver.steppers import CNAB2, ETDRK4, IFRK2, IFRK4

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


@pytest.mark.thorough
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
    for gradient in (backward, forward):
        np.testing.assert_allclose(gradient, by_difference, rtol=1e-6)
    assert abs(float(backward[0])) > 0.1


def test_the_backward_pass_stays_split(problem):
    flow, stepper, state = problem
    loss = lambda f, s: energy(sw.integrate(f, stepper, s, step=0.01, steps=9), flow.grid)  # noqa: E731
    text = jax.jit(jax.grad(loss)).lower(flow, state).compile().as_text()
    collectives = set(re.findall(r"(all-to-all|all-gather|collective-permute|reduce-scatter)(?:-start)?\(", text))
    assert collectives <= {"all-to-all", "collective-permute"}


@pytest.mark.thorough
def test_memory_of_a_gradient_grows_as_the_root_of_the_steps():
    grid = sw.Grid((24, 24, 24), mesh=sw.device_mesh())
    flow, stepper = NavierStokes(grid, viscosity=0.05), IFRK2()
    state = sw.initial_state(flow, stepper, initial.TaylorGreen()(grid))

    def held(steps):
        def loss(fields):
            start = state.replace(field=fields)
            return energy(sw.integrate(flow, stepper, start, step=0.01, steps=steps, checkpoint="sqrt"), grid)

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


@pytest.mark.thorough
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
    compiled = advance._cache_size()
    for viscosity in (0.1, 0.2, 0.3):
        list(sw.evolve(NavierStokes(flow.grid, viscosity), stepper, state, end=0.1, step=0.05))
    assert advance._cache_size() == compiled


def test_undeclared_attributes_are_refused(make_grid):
    class Sneaky(NavierStokes):
        def __init__(self, grid, c):
            self.grid, self.viscosity, self.c = grid, 0.1, c

    with pytest.raises(AttributeError, match="c"):
        Sneaky(make_grid((16, 16), devices=1), 3.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": -1}, "-1 steps: zero or more are needed, a whole number"),
        ({"steps": True}, "True steps: zero or more are needed, a whole number"),
        ({"step": float("nan")}, "step nan: a positive number is needed"),
        ({"step": 0}, "step 0: a positive number is needed"),
        ({"step": np.float64(-0.1)}, "step -0.1: a positive number is needed"),
        ({"step": np.ones(2)}, r"step of shape \[2\]: one number is needed; vmap takes several"),
        ({"checkpoint": "all"}, "checkpoint = 'all': auto, none, steps, sqrt are there"),
        ({"every": 3}, "every = 3 of 4 steps: a whole number that divides them is needed"),
        ({"every": True}, "every = True of 4 steps: a whole number that divides them is needed"),
    ],
)
def test_wrong_steps_are_refused(shifted_wave, wrong, message):
    call = sw.rollout if "every" in wrong else sw.integrate
    with pytest.raises(ValueError, match=message):
        call(*shifted_wave, **{"step": 0.1, "steps": 4, **wrong})


def test_half_a_step_is_refused():
    with pytest.raises(ValueError, match=r"2.5 steps: zero or more are needed, a whole number"):
        pure_steps.checked_count(0.1, 2.5, "none")  # `integrate` itself lets no such type through here


@pytest.fixture(scope="module")
def shifted_wave():
    grid = sw.Grid((24,), lengths=20.0)
    equation, stepper = KuramotoSivashinsky(grid), ETDRK4()
    return equation, stepper, sw.initial_state(equation, stepper, initial.RandomPhase()(grid, key=jax.random.key(2)))


def test_checkpoints_change_memory_and_no_gradient(shifted_wave):
    equation, stepper, state = shifted_wave
    slopes, held = [], []
    for checkpoint in ("none", "steps", "sqrt"):

        def loss(fields, checkpoint=checkpoint):
            start = state.replace(field=fields)
            final = sw.integrate(equation, stepper, start, step=0.1, steps=100, checkpoint=checkpoint)
            return sw.diagnostics.mean_square(final.field["u"], equation.grid)

        program = jax.jit(jax.grad(loss)).lower(state.field).compile()
        slopes.append(np.asarray(program(state.field)["u"]))
        held.append(program.memory_analysis().temp_size_in_bytes)
    for slope in slopes[1:]:
        np.testing.assert_allclose(slope, slopes[0], atol=1e-12 * np.abs(slopes[0]).max())
    assert held[0] > 3 * held[1] > 6 * held[2]


@pytest.mark.parametrize(
    ("memory", "how", "kind"),
    [
        (1e12, {"steps": 100}, "none"),
        (1e6, {"steps": 100}, "steps"),
        (1e3, {"steps": 100}, "sqrt"),
        (1e12, {"end": 10.0, "max_steps": 100}, "steps"),
        (1e3, {"end": 10.0, "max_steps": 100}, "sqrt"),
    ],
)
@pytest.mark.every_case
def test_what_is_kept_is_what_there_is_memory_for(shifted_wave, monkeypatch, memory, how, kind):
    equation, stepper, state = shifted_wave
    monkeypatch.setattr("solver.loop.checkpointing._memory_of_a_device", lambda: memory)

    def repeated(**options):
        def run(fields):
            return sw.integrate(equation, stepper, state.replace(field=fields), step=0.1, **how, **options).field

        return str(jax.make_jaxpr(run)(state.field)).count("prevent_cse")

    assert repeated() == repeated(checkpoint=kind)
    assert len({repeated(checkpoint=other) for other in ("none", "steps", "sqrt")}) == 3


def test_a_rollout_holds_what_evolve_yields(problem):
    flow, stepper, state = problem
    times, values = sw.rollout(flow, stepper, state, step=0.01, steps=6, every=3)
    pauses = [sw.Schedule(every_steps=3)]
    yielded = list(sw.evolve(flow, stepper, state, end=0.06, step=0.01, pauses=pauses))
    np.testing.assert_allclose(times, [float(s.t) for s in yielded], atol=1e-15)
    assert values["velocity"].shape == (3, 3, 16, 16, 8)
    for computed, expected in zip(values["velocity"], yielded, strict=True):
        np.testing.assert_allclose(computed, flow.to_physical(expected.field)["velocity"], atol=1e-14)


@pytest.mark.thorough
def test_gradient_of_a_rollout(shifted_wave):
    equation, stepper, state = shifted_wave

    def loss(amount, every, checkpoint):
        start = state.replace(field={"u": amount * state.field["u"]})
        _, values = sw.rollout(equation, stepper, start, step=0.1, steps=8, every=every, checkpoint=checkpoint)
        return jnp.sum(values["u"][-1] ** 2)

    loss, h = jax.jit(loss, static_argnums=(1, 2)), 1e-5
    expected = (loss(1 + h, 2, "none") - loss(1 - h, 2, "none")) / (2 * h)
    for every, checkpoint in ((2, "none"), (4, "steps"), (4, "sqrt"), (1, "sqrt")):
        assert float(jax.grad(loss)(1.0, every, checkpoint)) == pytest.approx(float(expected), rel=1e-7)


@pytest.mark.parametrize("stepper", [IFRK2(), CNAB2()], ids=["no history", "a history with the budget's rates"])
def test_evolve_goes_on_from_integrate_with_a_new_budget(stepper):
    grid = sw.Grid((16, 16), mesh=sw.device_mesh(range(2)))
    flow = NavierStokes(grid, viscosity=0.1)
    start = sw.initial_state(flow, stepper, initial.TaylorGreen()(grid))
    *_, expected = sw.evolve(flow, stepper, start, end=0.4, step=0.02)
    between = sw.integrate(flow, stepper, start, step=0.02, steps=10)
    *_, final = sw.evolve(flow, stepper, between, end=0.4, step=0.02)
    np.testing.assert_allclose(final.field["velocity"], expected.field["velocity"], atol=1e-15)
    assert float(between.budget["energy_from_viscosity"]) == 0
    lost = float(between.energies["energy"]) - energy(final, grid)
    assert float(final.budget["energy_from_viscosity"]) == pytest.approx(-float(lost), rel=1e-3)


@pytest.mark.parametrize("save", [None, lambda state: state.field["velocity"]], ids=["the end alone", "rows, too"])
def test_steps_and_the_new_budget_are_one_program(programs_compiled, save):
    grid = sw.Grid((10, 14 if save is None else 18), mesh=sw.device_mesh(range(1)))
    flow, stepper = NavierStokes(grid, viscosity=0.1), IFRK2()
    state = sw.initial_state(flow, stepper, initial.TaylorGreen()(grid))
    before = programs_compiled()
    after = sw.integrate(flow, stepper, state, step=0.01, steps=3, save=save)
    assert programs_compiled() - before == 1
    final = after if save is None else after[0]
    assert float(final.energies["energy"]) == pytest.approx(float(energy(final, grid)), rel=1e-14)


def test_a_second_call_compiles_nothing(programs_compiled):
    grid = sw.Grid((8, 24), mesh=sw.device_mesh())
    u, stepper = initial.TaylorGreen()(grid), IFRK2()

    def calls(viscosity, step):
        flow = NavierStokes(grid, viscosity)
        state = sw.initial_state(flow, stepper, u)
        state = sw.integrate(flow, stepper, state, step=step, steps=2)
        sw.rollout(flow, stepper, state, step=step, steps=2)
        final = lambda nu: sw.integrate(NavierStokes(grid, nu), stepper, state, step=step, steps=2)  # noqa: E731
        jax.grad(lambda nu: energy(final(nu), grid))(viscosity)
        list(sw.evolve(flow, stepper, state, end=1.0, step=0.25))

    calls(0.1, 0.01)
    before = programs_compiled()
    calls(0.2, 0.02)
    assert programs_compiled() == before


@pytest.mark.parametrize("form", ["integrate", "rollout", "to an end"])
def test_a_traced_step_that_is_not_positive_gives_no_numbers(make_grid, form):
    """Nothing can raise there; without tracing a step of −0.01 is refused."""
    equation, stepper = sw.equations.Burgers(make_grid((16,), 1), 0.1), sw.steppers.IFRK2()
    state = sw.initial_state(equation, stepper, jnp.sin(2 * jnp.pi * jnp.arange(16.0)[None] / 16))

    def after(step):
        if form == "rollout":
            return sw.rollout(equation, stepper, state, step=step, steps=2, every=1)[1]["velocity"][-1]
        how = {"steps": 2} if form == "integrate" else {"end": 0.02, "max_steps": 3}
        return sw.integrate(equation, stepper, state, step=step, **how).field["velocity"]

    assert not np.isnan(np.asarray(jax.jit(after)(0.01))).any()
    assert np.isnan(np.asarray(jax.jit(after)(-0.01))).all()


def test_vmap_takes_several_start_times(make_grid):
    """u_t = cos t from t₀ to t₀ + 1: the mean rises by sin(t₀ + 1) − sin t₀."""
    equation = sw.write("dt(u) = cos(t)", fields={"u": "scalar"})(make_grid((8,), 1))
    stepper, starts = sw.steppers.IFRK4(), jnp.array([0.0, 0.7, 2.0])

    def mean(t):
        state = sw.initial_state(equation, stepper, jnp.zeros((1, 8)), t=t)
        after = sw.integrate(equation, stepper, state, step=0.1, steps=10)
        return after.field["u"].real[0, 0], after.t

    means, times = jax.vmap(mean)(starts)
    np.testing.assert_allclose(means, jnp.sin(starts + 1) - jnp.sin(starts), rtol=1e-6)
    np.testing.assert_allclose(times, starts + 1)
