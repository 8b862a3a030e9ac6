"""The clock ends a run in time, and says which clock it was."""

import logging

import numpy as np
import pytest

from solver.cluster import time_limit
from solver.io import RunDirectory, Writer
from solver.simulation import StopConditions, stop_conditions
from solver.steppers import State
from solver.stop import StopRequest


@pytest.fixture
def begun(tmp_path, monkeypatch, caplog):
    """A run that began 100 s ago, with a limit, in a job that ends some seconds from now."""
    state = State(field=None, step=np.int64(0), t=np.float64(0), dt=np.float64(0.1))
    monkeypatch.setattr(stop_conditions.LOGGER, "propagate", True)
    monkeypatch.setattr(time_limit, "STARTED", time_limit.time.time() - 100)
    caplog.set_level(logging.INFO, "slabwave")

    def begin(limit, job_left):
        monkeypatch.setattr(stop_conditions, "end_of_job", lambda environment: time_limit.time.time() + job_left)
        conditions = StopConditions(StopRequest(), RunDirectory(tmp_path), None, limit)
        conditions.begin(state, Writer())
        return conditions

    return begin


def test_a_limit_near_the_reserve_warns_at_the_start(begun, caplog):
    begun(120.0, 1e6)
    assert "time.wall_limit = 115 s: of the" not in caplog.text
    begun(115.0, 1e6)
    assert "time.wall_limit = 115 s: of the 15 s that are left, 10 s are kept to write a checkpoint" in caplog.text


@pytest.mark.parametrize(
    ("limit", "job_left", "what"), [(105.0, 1e6, "time.wall_limit = 105 s"), (1e6, 5.0, "the end of the job")]
)
def test_the_clock_that_stopped_the_run_is_named(begun, caplog, limit, job_left, what):
    conditions = begun(limit, job_left)
    assert not conditions.should_stop(advanced=False)
    assert conditions.should_stop(advanced=True)
    conditions.log_stop(7)
    assert f"stopped early by the clock, 5 s before {what} at step 7" in caplog.text
