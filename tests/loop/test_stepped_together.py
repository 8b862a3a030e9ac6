"""Many members stepped by one program: each as it would be alone, wherever its companions are."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.loop import Members, members as stepped_together

pytestmark = pytest.mark.slow

COUNT = 3
CONTROLS = {
    "equal steps": [sw.FixedStep(0.01)] * COUNT,
    "steps of their own": [sw.FixedStep(0.01 + 0.002 * i) for i in range(COUNT)],
    "cfl": [sw.KeepCFL(0.3 + 0.1 * i, max_step=0.05) for i in range(COUNT)],
    "tolerance": [sw.MeetTolerance(10.0 ** -(4 + i), max_step=0.05) for i in range(COUNT)],
}
NOISE, RANDOM = sw.forcing.WhiteNoise(power=0.5), sw.forcing.OrnsteinUhlenbeck(0.5, 0.2)


def vorticities(grid, stepper, forcing=None):
    x, y = grid.coordinates()
    equations = [sw.equations.Vorticity(grid, 1e-2 * (1 + i), forcing=forcing) for i in range(COUNT)]
    start = lambda i: ((1 + i) * jnp.sin(x) * jnp.cos(2 * y) + jnp.cos(3 * x + i) * jnp.sin(y))[None]  # noqa: E731
    states = [sw.initial_state(e, stepper, start(i).astype(grid.dtype), seed=i) for i, e in enumerate(equations)]
    return equations, states


def grid_on(devices, parts, precision="float64", shape=(16, 12)):
    mesh = sw.device_mesh(range(devices), members=parts)
    return sw.Grid(shape, precision=precision, mesh=mesh)


def by_member(pairs):
    found = {}
    for number, state in pairs:
        found.setdefault(number, []).append(state)
    return found


def field(state):
    [u] = state.field.values()
    return np.asarray(u)


@pytest.mark.parametrize(
    ("control", "stepper", "forcing", "precision", "devices", "parts"),
    [
        ("equal steps", sw.steppers.SBDF2(), RANDOM, "float32", 2, 2),
        ("steps of their own", sw.steppers.ETDRK4(), NOISE, "float64", 4, 2),
        ("cfl", sw.steppers.IFRK3(), None, "float32", 4, 4),
    ],
)
def test_members_are_as_alone_and_their_bits_do_not_depend_on_companions(
    control, stepper, forcing, precision, devices, parts
):
    equations, states = vorticities(grid_on(devices, parts, precision), stepper, forcing)
    controls, pauses = CONTROLS[control], [sw.Schedule(every_time=0.08)]
    how = {"end": 0.2, "pauses": pauses, "chunk": 5}
    together = by_member(sw.Ensemble(equations, stepper, states).evolve(control=controls, **how))
    allowed = 20 * np.finfo(precision).eps
    for i in range(COUNT):
        alone = list(sw.evolve(equations[i], stepper, states[i], control=controls[i], **how))
        met = [state for state in together[i] if float(state.t) in (0.0, 0.08, 0.16, 0.2)]
        expected = [state for state in alone if float(state.t) in (0.0, 0.08, 0.16, 0.2)]
        assert [float(s.t) for s in met] == [float(s.t) for s in expected] == [0.0, 0.08, 0.16, 0.2]
        assert [int(s.step) for s in met] == [int(s.step) for s in expected]
        assert [int(s.rejected) for s in met] == [int(s.rejected) for s in expected]
        for a, b in zip(met, expected, strict=True):
            np.testing.assert_allclose(field(a), field(b), rtol=0, atol=allowed * np.abs(field(b)).max())
            assert a.field["vorticity"].sharding.is_equivalent_to(b.field["vorticity"].sharding, 3)
    changed = [states[0].replace(field={"vorticity": 2 * states[0].field["vorticity"]}), *states[1:]]
    beside = by_member(sw.Ensemble(equations, stepper, changed).evolve(control=controls, **how))
    assert np.any(field(beside[0][-1]) != field(together[0][-1]))
    for i in (1, 2):
        np.testing.assert_array_equal(field(beside[i][-1]), field(together[i][-1]))


def test_each_part_of_the_mesh_steps_its_own_members(monkeypatch):
    """Three members on four parts of two devices: no device works on, or is sent, what another part steps."""
    texts, flops = [], []

    def lowered(program):
        def run(*arguments):
            compiled = program.lower(*arguments).compile()
            texts.append(compiled.as_text())
            flops.append(compiled.cost_analysis()["flops"])
            return program(*arguments)

        return run

    monkeypatch.setattr(stepped_together, "_advance_members", lowered(stepped_together._advance_members))
    stepper = sw.steppers.IFRK2()
    for parts in (1, 4):
        equations, states = vorticities(grid_on(2 * parts, parts), stepper)
        for _ in sw.Ensemble(equations, stepper, states).evolve(end=0.01, step=0.01):
            pass
    assert flops[1] < 0.5 * flops[0], "of four places each part works on one; without parts both devices on all three"
    groups = set(re.findall(r"all-to-all\(.*?replica_groups=(\{\{.*?\}\})", texts[1]))
    assert groups <= {"{{0,1},{2,3},{4,5},{6,7}}"}
    assert groups or "['slab'" in texts[1]
    assert not re.search(r"all-gather(-start)?\(.*c128", texts[1])


def test_one_that_blows_up_leaves_the_others_alone():
    stepper = sw.steppers.IFRK2()
    equations, states = vorticities(grid_on(1, 1), stepper)
    wild = [states[0], states[1].replace(field={"vorticity": 1e200 * states[1].field["vorticity"]}), states[2]]
    pairs, ends = sw.Ensemble(equations, stepper, wild).evolve(end=0.1, step=0.01), []
    with pytest.raises(FloatingPointError, match=r"1 of 3 members blew up: member 1: the solution blew up"):
        ends.extend(number for number, state in pairs if float(state.t) == 0.1)
    assert ends == [0, 2]


@pytest.mark.thorough
def test_integrate_and_rollout_give_what_each_member_gives_alone():
    stepper = sw.steppers.ETDRK2()
    equations, states = vorticities(grid_on(2, 2), stepper)
    ensemble, steps = sw.Ensemble(equations, stepper, states), [0.01, 0.02, 0.03]
    after = ensemble.integrate(step=steps, steps=4)
    ended = ensemble.integrate(cfl=0.3, end=0.1, max_steps=40)
    times, values = ensemble.rollout(step=0.01, steps=4, every=2)
    assert len(after) == COUNT
    assert after.batch.field["vorticity"].shape[0] == 4
    assert after.batch.field["vorticity"].sharding.spec[0] == sw.MEMBER
    assert values.batch["vorticity"].sharding.spec[0] == sw.MEMBER
    for i, (equation, state) in enumerate(zip(equations, states, strict=True)):
        alone = sw.integrate(equation, stepper, state, step=steps[i], steps=4)
        to_end = sw.integrate(equation, stepper, state, cfl=0.3, end=0.1, max_steps=40)
        at, rolled = sw.rollout(equation, stepper, state, step=0.01, steps=4, every=2)
        for a, b in ((after[i], alone), (ended[i], to_end)):
            np.testing.assert_allclose(field(a), field(b), rtol=0, atol=1e-14 * np.abs(field(b)).max())
            assert float(a.t) == pytest.approx(float(b.t), abs=1e-15)
            assert int(a.step) == int(b.step)
        np.testing.assert_allclose(times[i], at, atol=1e-15)
        np.testing.assert_allclose(values[i]["vorticity"], rolled["vorticity"], atol=1e-13)
    final = list(sw.evolve(equations[1], stepper, after[1], end=0.2, step=0.02))[-1]
    assert float(final.t) == 0.2, "a member goes on alone"


@pytest.mark.thorough
def test_gradients_pass_through_members():
    grid, stepper = grid_on(2, 2), sw.steppers.IFRK2()
    _, states = vorticities(grid, stepper)

    def energy(viscosities):
        equations = [sw.equations.Vorticity(grid, viscosity) for viscosity in viscosities]
        after = sw.Ensemble(equations, stepper, states).integrate(step=0.05, steps=3)
        return sum(sw.diagnostics.mean_square(after[i].field["vorticity"], grid) for i in range(COUNT))

    at = jnp.asarray([0.01, 0.02, 0.03])
    slopes = jax.grad(energy)(at)
    for i in range(COUNT):
        shift = jnp.zeros(COUNT).at[i].set(1e-5)
        assert float(slopes[i]) == pytest.approx(float(energy(at + shift) - energy(at - shift)) / 2e-5, rel=1e-6)


@pytest.mark.every_case
@pytest.mark.parametrize(("memory", "kind"), [(1e12, "none"), (3e5, "steps"), (1e3, "sqrt")])
def test_what_a_gradient_keeps_is_chosen_by_the_memory_of_all_members(monkeypatch, memory, kind):
    monkeypatch.setattr("solver.loop.checkpointing._memory_of_a_device", lambda: memory)
    equations, states = vorticities(grid_on(1, 1), sw.steppers.IFRK2())

    def repeated(**options):
        def run(states):
            ensemble = sw.Ensemble(equations, sw.steppers.IFRK2(), states)
            return ensemble.integrate(step=0.05, steps=30, **options).batch.field

        return str(jax.make_jaxpr(run)(states)).count("prevent_cse")

    assert repeated() == repeated(checkpoint=kind)
    assert len({repeated(checkpoint=other) for other in ("none", "steps", "sqrt")}) == 3


@pytest.mark.thorough
def test_a_run_of_every_member(tmp_path):
    stepper = sw.steppers.IFRK2()
    equations, states = vorticities(grid_on(2, 2), stepper)
    ensemble = sw.Ensemble(equations, stepper, states)
    how = {"step": 0.01, "outputs": [sw.outputs.Series(every_steps=2)]}
    ensemble.run(end=0.06, directory=tmp_path / "many", **how)
    last = ensemble.run(end=0.1, directory=tmp_path / "many", resume=True, **how)
    once = ensemble.run(end=0.1, directory=tmp_path / "once", **how)
    for i in range(COUNT):
        np.testing.assert_array_equal(field(last[i]), field(once[i]))
        folders = [tmp_path / name / f"member-{i:04d}" for name in ("many", "once")]
        assert len({(folder / "series.csv").read_text() for folder in folders}) == 1
        assert sw.open_run(folders[0]).series["t"][-1] == 0.1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda e, s: ([], s), "0 equations and 3 states"),
        (lambda e, s: (e[:2], s), "2 equations and 3 states"),
        (
            lambda e, s: ([*e[:2], sw.equations.Vorticity(e[0].grid, 1e-2, forcing=NOISE)], s),
            "members 2 differ from member 0",
        ),
    ],
)
def test_what_is_refused(make, said):
    stepper = sw.steppers.IFRK2()
    equations, states = make(*vorticities(grid_on(1, 1), stepper))
    with pytest.raises(ValueError, match=re.escape(said)):
        sw.Ensemble(equations, stepper, states).integrate(step=0.01, steps=1)


def test_sizes_of_steps_are_one_for_all_or_one_each():
    stepper = sw.steppers.IFRK2()
    equations, states = vorticities(grid_on(1, 1), stepper)
    ensemble = sw.Ensemble(equations, stepper, states)
    with pytest.raises(ValueError, match="step with 2 values for 3 members"):
        ensemble.integrate(step=[0.1, 0.2], steps=1)
    with pytest.raises(ValueError, match="steps, or end and max_steps, are needed"):
        ensemble.integrate(step=0.1)


def test_a_mesh_with_explicit_axes_is_refused():
    mesh, stepper = sw.device_mesh([0], axis_type=jax.sharding.AxisType.Explicit), sw.steppers.IFRK2()
    equation = sw.equations.Vorticity(sw.Grid((16, 12), mesh=mesh), 1e-2)
    with pytest.raises(ValueError, match="axes of type Auto are needed"):
        Members([(equation, stepper, sw.FixedStep(0.1))], 1)
