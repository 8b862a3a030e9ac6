"""Real processes of which some are missing, started twice, or told to stop while they wait."""

import signal
import time

import pytest
from test_processes import TAYLOR_GREEN, finish, start

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]


def test_missing_and_doubled_processes_and_signals_each_take_one_line(tmp_path):
    # of three: the first, the second twice, and no third
    words = ["run", *TAYLOR_GREEN, f"output.directory={tmp_path}/run", "--join-limit", "100"]
    first, *twice = start(words, processes=3, number=lambda i: min(i, 1))
    deadline = time.monotonic() + 60
    while all(process.poll() is None for process in twice) and time.monotonic() < deadline:
        time.sleep(0.05)
    twice.sort(key=lambda process: process.poll() is None)
    twice[1].send_signal(signal.SIGTERM)
    codes, outputs, errors = finish([first, *twice], timeout=60)
    assert codes == [75, 2, 75]
    assert "process 1 was stopped by SIGTERM while all were waited for; nothing was done yet" in errors[0]
    assert "process 1 was started twice" in outputs[0]
    assert errors[1].count("\n") == 1
    assert "has that number already; each process needs its own" in errors[1]
    assert "stopped by SIGTERM while waiting for" in errors[2]
    assert not (tmp_path / "run").exists()
