"""Progress: plain lines seconds apart, a bar on a terminal, chunks of about a second."""

import logging
import re

import numpy as np
import pytest

from solver.simulation import progress
from solver.simulation.progress import Pace, Progress, duration
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
    pace.learn(0, 0.1)
    pace.learn(1, 20.0)  # compiling
    seen = []
    for _ in range(8):
        pace.learn(pace(), 0.01 * pace())
        seen.append(pace())
    assert seen[0] < 10
    assert seen[-1] == 100
    pace.learn(100, 50.0)
    assert pace() == 2


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (59.4, "59 s"), (65, "1 min 05 s"), (3600 * 26 + 61, "26 h 01 min")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words
