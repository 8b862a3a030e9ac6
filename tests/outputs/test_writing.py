"""Writing while stepping goes on: order, waiting, failures, and nothing that grows."""

import os
import resource
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import solver as sw
from solver.io import Writer, list_checkpoints
from solver.outputs import Run
from solver.outputs.checkpoints import Checkpoints


def job(done, name, gate=None, error=None):
    def write(agreement):
        if gate is not None:
            gate.wait(10)
        done.append(name)
        if error is not None:
            raise error

    return lambda: write


def test_the_next_pause_waits_for_the_one_before_and_one_pause_is_one_batch():
    writer, done, gate = Writer(), [], threading.Event()
    writer.submit(job(done, "snapshot", gate))
    writer.submit(job(done, "checkpoint", gate))  # of the same state: both copies are held at once
    assert writer.busy
    assert done == []
    writer.end_pause()
    threading.Timer(0.3, gate.set).start()
    began = time.monotonic()
    copied = []
    writer.submit(lambda: copied.append(list(done)) or job(done, "next")())
    assert time.monotonic() - began > 0.25
    assert copied == [["snapshot", "checkpoint"]], "the next copies are made when the ones before have gone"
    writer.wait()
    assert done == ["snapshot", "checkpoint", "next"]
    assert not writer.busy
    assert writer.held_up > 0.25
    writer.close()


def test_after_a_failure_nothing_more_is_written_and_everyone_hears_of_it():
    writer, done = Writer(), []
    writer.submit(job(done, "first", error=OSError(28, "No space left on device")))
    writer.submit(job(done, "second"))
    with pytest.raises(OSError, match="No space"):
        writer.wait()
    assert writer.failed
    assert done == ["first"]
    writer.end_pause()
    with pytest.raises(OSError, match="No space"):
        writer.submit(job(done, "third"))
    writer.close()
    assert done == ["first"]


def test_a_writer_that_waits_for_a_dead_process_is_left_alone():
    writer, gate = Writer(), threading.Event()
    writer.submit(job([], "never", gate))
    began = time.monotonic()
    writer.close(patience=0.2)
    assert 0.15 < time.monotonic() - began < 5
    gate.set()


@pytest.fixture
def run(tmp_path, make_grid):
    grid = make_grid((16, 12, 8), devices=2)
    flow = sw.equations.NavierStokes(grid, viscosity=0.01)
    state = sw.initial_state(flow, sw.steppers.IFRK2(), sw.initial.TaylorGreen()(grid))
    return Run(flow, sw.io.RunDirectory(tmp_path), sw.FixedStep(0.1), 1.0), state


@pytest.mark.parametrize(
    ("schedule", "kept"),
    [
        ({"every_steps": 5, "keep_every": 20}, [20, 40, 45, 50]),
        ({"every_time": 0.05, "keep_every": 0.15}, [15, 30, 45, 50]),
        ({"every_steps": 5}, [45, 50]),
    ],
    ids=["by steps", "by time", "none"],
)
def test_some_are_kept_for_good(run, schedule, kept):
    run, state = run
    output = Checkpoints(keep=2, **schedule)
    for step in range(5, 51, 5):
        output.write(run, state.replace(step=np.int64(step), t=np.float64(step * 0.01)))
        run.writer.end_pause()
    run.writer.close()
    assert [int(path.name[5:]) for path in list_checkpoints(run.directory.checkpoints)] == kept


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"keep_every": 0, "every_steps": 5}, "keep_every = 0: a positive"),
        ({"keep_every": 3}, "keep_every = 3: every_steps or every_time is needed"),
        ({"keep_every": 12, "every_steps": 5}, "keep_every = 12: a multiple of every_steps = 5 is needed"),
        ({"keep_every": 0.12, "every_time": 0.05}, "keep_every = 0.12: a multiple of every_time = 0.05 is needed"),
    ],
)
def test_keeping_for_good_needs_a_schedule(parameters, message):
    with pytest.raises(ValueError, match=message):
        Checkpoints(**parameters)


def write_many(run, state, numbers):
    output = Checkpoints(keep=2)
    for step in numbers:
        output.write(run, state.replace(step=np.int64(step)))
        run.writer.end_pause()
    run.writer.wait()


def test_many_checkpoints_leave_nothing_behind(run, tmp_path):
    run, state = run
    count = int(os.environ.get("SLABWAVE_CHECKPOINTS", "40"))
    write_many(run, state, range(1, 11))
    files, threads = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    write_many(run, state, range(11, 11 + count))
    assert len(list(Path("/proc/self/fd").iterdir())) == files
    assert threading.active_count() == threads
    state_kilobytes = sum(leaf.nbytes for leaf in state.field.values()) // 1024
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < max(count * state_kilobytes // 4, 4096)
    last = (f"step-{9 + count:08d}", f"step-{10 + count:08d}")
    inside = ("manifest.json", "process-00000.h5")
    left = sorted(path.name for path in tmp_path.rglob("*"))
    assert left == sorted(["checkpoints", *last, *inside, *inside])
    run.writer.close()
