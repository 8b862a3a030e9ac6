"""Progress: plain lines seconds apart, a bar on a terminal, chunks of about a second."""

import json
import logging
import platform
import re
import subprocess
import time

import numpy as np
import pytest

from solver.io import duration
from solver.simulation import progress
from solver.simulation.progress import Pace, Progress
from solver.steppers import State


def state(step):
    return State(field=None, step=np.int64(step), t=np.float64(0.1 * step), dt=np.float64(0.1))


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_plain_line_every_few_seconds(clock, monkeypatch):
    lines = []
    monkeypatch.setattr(progress.LOGGER, "info", lines.append)
    shown = Progress(end=10.0, start=state(0), active=True)
    for step in range(1, 41):
        clock[0] += 0.5
        shown.show(state(step))
    assert len(lines) == 4
    # speed counts from the end of the first chunk: 2 steps a second
    assert lines[-1] == "step 40  t = 4  dt = 0.1  2 steps/s, 30 s left"


def test_a_bar_on_a_terminal(clock, monkeypatch, capsys):
    monkeypatch.setattr(progress.sys.stdout, "isatty", lambda: True, raising=False)
    shown = Progress(end=10.0, start=state(0), active=True)
    for step in (1, 50):
        clock[0] += 5
        shown.show(state(step))
    shown.close()
    last = capsys.readouterr().out.split("\r")[-1]
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")  # mpiexec, which makes terminals where there is none
    assert not Progress(end=10.0, start=state(0), active=True).live
    assert re.match(r"\[(█+)(·+)\]  50 % step 50 .* steps/s, \d+ s left", last)


def test_silent_where_it_is_not_the_first_process(clock, capsys):
    shown = Progress(end=1.0, start=state(0), active=False)
    clock[0] += 60
    shown.show(state(1))
    assert capsys.readouterr().out == ""
    assert logging.getLogger("slabwave").handlers is not None


def test_chunks_grow_to_about_a_second_and_do_not_trust_the_first():
    pace = Pace()
    assert pace() == 1
    pace.record(0, 0.1)
    pace.record(1, 20.0)  # compiling
    seen = []
    for _ in range(8):
        pace.record(pace(), 0.01 * pace())
        seen.append(pace())
    assert seen[0] < 10
    assert seen[-1] == 100
    pace.record(100, 50.0)
    assert pace() == 2


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (59.4, "59 s"), (65, "1 min 05 s"), (3600 * 26 + 61, "26 h 01 min")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_info_says_who_is_at_it_and_when_it_will_end(tmp_path):
    from solver.cli.commands.info import _now
    from solver.io import RunDirectory

    there = RunDirectory(tmp_path)
    assert _now(there) == "no process is running it"
    holder = {"host": "n1", "pid": 7, "job": "42", "released": False, "time": time.time()}

    def say(**more):
        (tmp_path / ".lock").write_text(json.dumps({**holder, **more}))
        return _now(there)

    assert say() == "process 7 on n1, Slurm job 42 is starting it"
    status = {"step": 30, "t": 0.3, "steps_per_second": 2.5, "seconds_left": 7205.0}
    assert re.fullmatch(
        r"process 7 on n1, Slurm job 42 is at step 30, t = 0.3; at 2.5 steps/s it ends in 2 h 00 min, \d{4}-\d\d-\d\d "
        r"\d\d:\d\d",
        say(**status),
    )
    silent = say(**status, time=time.time() - 3600)
    assert silent == "no process is running it; process 7 on n1, Slurm job 42 was last heard of 1 h 00 min ago"
    assert say(**status, released=True) == "no process is running it"
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    dead = say(**status, host=platform.node(), pid=gone.pid)
    assert dead.startswith(f"no process is running it; process {gone.pid} on {platform.node()}, Slurm job 42 was last")
