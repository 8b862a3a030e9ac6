"""Outputs on devices of their own: who carries them out, when stepping waits, and what an error does."""

import json
import sys
import threading
import time
from dataclasses import dataclass
from typing import ClassVar

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.io import RunDirectory
from solver.loop import BlowUp
from solver.outputs.output import Run
from solver.simulation import OutputList
from solver.simulation.analysis_by_thread import Ending, ThreadAnalysis

SECONDS = 20.0  # that no wait of a test may last
GROUPS = {"step": sw.device_mesh([0, 1, 2]), "analyse": sw.device_mesh([3, 4])}
PLACES = []  # step, devices and thread of each call of `Where.write`


@dataclass(frozen=True)
class Where(sw.outputs.Output):
    name = "where"
    at_start = True

    def write(self, run, state):
        devices = {device.id for device in state.field["velocity"].devices()}
        assert devices == {device.id for device in run.equation.grid.mesh.devices.flat}
        PLACES.append((self.name, int(state.step), devices, threading.current_thread().name))


@dataclass(frozen=True)
class WhereBitsAreKept(Where):
    name = "where-bits-are-kept"
    keeps_bits: ClassVar[bool] = True


@dataclass(frozen=True)
class Waiting(sw.outputs.Output):
    """Ends when it is told to."""

    name = "waiting"
    told = threading.Event()
    begun = threading.Event()

    def write(self, run, state):
        self.begun.set()
        assert self.told.wait(SECONDS)


@dataclass(frozen=True)
class Failing(sw.outputs.Output):
    name = "failing"

    def write(self, run, state):
        if int(state.step) >= 4:
            raise BlowUp(f"no more after step {int(state.step)}")


class TellWaiting:
    """Tells `Waiting` to end once the run has moved on."""

    def __init__(self, step):
        self.step = step

    def at_pause(self, pause):
        if int(pause.state.step) >= self.step:
            Waiting.told.set()


@pytest.fixture(scope="module")
def flow():
    grid = sw.Grid((12, 10), mesh=GROUPS["step"])
    return sw.equations.NavierStokes(grid, viscosity=0.02), sw.steppers.IFRK2()


@pytest.fixture
def first(flow):
    noise = jnp.asarray(np.random.default_rng(0).normal(size=(2, 12, 10)))
    return sw.initial_state(*flow, noise)


@pytest.fixture(autouse=True)
def forget():
    PLACES.clear()
    Waiting.told.clear()
    Waiting.begun.clear()


def carry_out(flow, first, folder, *outputs, **options):
    return sw.run(
        *flow, first, step=0.01, end=0.08, directory=folder, outputs=outputs, analyse=GROUPS["analyse"], **options
    )


@pytest.mark.slow
def test_a_run_with_bodies_goes_on_with_the_columns_that_it_has(tmp_path):
    """Whatever the order in which bodies were named; outputs are told of them through JAX, which sorts dicts."""
    grid = sw.Grid((12, 10), mesh=GROUPS["step"])
    ball = lambda x: sw.bodies.Sphere(centre=(x, 3.0), radius=0.8, eta=0.1)  # noqa: E731
    flow = sw.equations.NavierStokes(grid, viscosity=0.02, bodies={"right": ball(4.5), "left": ball(1.5)})
    start = sw.sample(lambda x, y: (jnp.sin(y) + 0 * x, jnp.cos(x) + 0 * y), grid)
    state = sw.initial_state(flow, sw.steppers.IFRK2(), start)
    for end, more in ((0.02, {}), (0.04, {"resume": True})):
        sw.run(
            flow, sw.steppers.IFRK2(), state, step=0.01, end=end, directory=tmp_path / "run", analyse=GROUPS["analyse"],
            outputs=[sw.outputs.Series(every_steps=1)], **more
        )  # fmt: skip
    rows = sw.open_run(tmp_path / "run").series
    assert list(rows["step"]) == [0, 1, 2, 3, 4]
    assert list(rows).index("left_force_x") < list(rows).index("right_force_x")


@pytest.mark.slow
def test_each_output_is_carried_out_by_its_group(flow, first, tmp_path):
    carry_out(flow, first, tmp_path / "run", Where(every_steps=4), WhereBitsAreKept(every_steps=4))
    apart = [place for place in PLACES if place[0] == "where"]
    kept = [place for place in PLACES if place[0] == "where-bits-are-kept"]
    assert [place[1:] for place in apart] == [(step, {3, 4}, "slabwave-analysis") for step in (0, 4, 8)]
    assert [place[1:] for place in kept] == [(step, {0, 1, 2}, "MainThread") for step in (0, 4, 8)]
    devices = json.loads((tmp_path / "run" / "provenance.json").read_text())["devices"]
    assert len(devices) == 5
    assert not [thread for thread in threading.enumerate() if thread.name == "slabwave-analysis"]


@pytest.mark.slow
def test_stepping_goes_on_while_an_output_is_carried_out(flow, first, tmp_path):
    """The first output ends only when the run has taken a step after it."""
    listeners = [TellWaiting(1)]
    final = carry_out(flow, first, tmp_path / "run", Waiting(every_steps=4), Where(every_steps=1), listeners=listeners)
    assert int(final.step) == 8
    assert [place[1] for place in PLACES] == list(range(9))


@pytest.fixture
def analysis(flow, tmp_path):
    run = Run(flow[0], RunDirectory(tmp_path / "run"), sw.FixedStep(0.01), 1.0)
    made = ThreadAnalysis(run, OutputList.of([]), GROUPS["analyse"])
    yield made
    Waiting.told.set()
    made.close(Ending("finished"))


def test_stepping_waits_where_the_analysis_is_two_states_behind(analysis, first):
    for _ in range(2):
        analysis.take(first, [Waiting()], checkpoint=False)
    third = threading.Thread(target=analysis.take, args=(first, [Waiting()]), kwargs={"checkpoint": False})
    third.start()
    assert Waiting.begun.wait(SECONDS)
    third.join(0.3)
    assert third.is_alive(), "a third state was handed over"
    Waiting.told.set()
    third.join(SECONDS)
    assert not third.is_alive()
    analysis.wait()


def test_nothing_is_written_once_another_run_has_the_directory(analysis, first):
    analysis.take(first, [Where()], checkpoint=False)
    analysis.wait()
    analysis._run.writer.abandoned = True
    analysis.take(first, [Where()], checkpoint=True)
    analysis.wait()
    assert len(PLACES) == 1
    assert not analysis._run.directory.checkpoints.exists()


def test_an_error_in_an_output_ends_the_run(flow, first, tmp_path):
    kept = sw.outputs.Checkpoints(every_steps=2)
    with pytest.raises(BlowUp, match="no more after step 4"):
        carry_out(flow, first, tmp_path / "run", Failing(every_steps=2), kept)
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-00000002"]


def test_an_output_that_leaves_ends_the_run_too(analysis, first):
    leaving = type("Leaving", (sw.outputs.Output,), {"name": "leaving", "write": lambda *given: sys.exit(5)})
    analysis.take(first, [leaving()], checkpoint=False)
    with pytest.raises(SystemExit, match="5"):
        analysis.wait()


def test_an_error_at_the_last_pause_is_not_lost(flow, first, tmp_path):
    with pytest.raises(BlowUp, match="no more after step 8"):
        carry_out(flow, first, tmp_path / "run", Failing(every_steps=8))


def test_a_blow_up_of_the_run_leaves_what_was_handed_over(flow, first, tmp_path):
    large = first.replace(field=jax.tree.map(lambda u: 1e3 * u, first.field))
    with pytest.raises(BlowUp, match="the solution blew up"):
        sw.run(
            *flow, large, step=1.0, end=50.0, directory=tmp_path / "run", analyse=GROUPS["analyse"],
            outputs=[Where(every_steps=1)],
        )  # fmt: skip
    assert PLACES
    assert [place[1] for place in PLACES] == list(range(len(PLACES)))


def test_a_shared_checkpoint_is_refused(flow, first, tmp_path, monkeypatch):
    monkeypatch.setattr("solver.outputs.checkpoints.why_not", lambda: None)
    with pytest.raises(ValueError, match="layout = 'shared' beside groups of devices"):
        carry_out(flow, first, tmp_path / "run", sw.outputs.Checkpoints(layout="shared"))


@pytest.mark.slow
def test_snapshots_have_the_bits_of_pencils_where_slabs_analyse(tmp_path):
    """A transform in slabs has other bits than one in pencils on this grid."""
    pencils = sw.device_mesh(range(4), shape=(2, 2))
    flow = sw.equations.NavierStokes(sw.Grid((17, 15, 13), mesh=pencils), viscosity=0.02)
    noise = jnp.asarray(np.random.default_rng(0).normal(size=(3, 17, 15, 13)))
    state = sw.initial_state(flow, sw.steppers.IFRK2(), noise)
    slabs, folder = sw.device_mesh([4, 5]), tmp_path / "run"
    outputs = [sw.outputs.Snapshots()]
    sw.run(flow, sw.steppers.IFRK2(), state, step=0.01, end=0.0, directory=folder, outputs=outputs, analyse=slabs)
    with h5py.File(folder / "snapshots" / "step-00000000.h5") as file:
        written = np.moveaxis(file["velocity"][()], -1, 0)
    there, moved = flow.on_mesh(slabs), sw.hand_over(state, flow, slabs)
    at_points = lambda flow, state: np.asarray(flow.to_physical(state.field)["velocity"])  # noqa: E731
    np.testing.assert_array_equal(written, at_points(flow, state))
    assert not np.array_equal(written, at_points(there, moved))


def test_the_clock_is_told_how_long_tasks_take_once_they_are_compiled(analysis, first):
    Waiting.told.set()
    analysis.take(first, [Waiting()], checkpoint=False)
    analysis.wait()
    assert analysis._run.writer.slowest == 0.0
    Waiting.told.clear()
    Waiting.begun.clear()
    analysis.take(first, [Waiting()], checkpoint=False)
    assert Waiting.begun.wait(SECONDS)
    time.sleep(0.1)
    Waiting.told.set()
    analysis.wait()
    assert analysis._run.writer.slowest >= 0.3
