"""The watchdog, with a clock made fast and an end that ends nothing."""

import time
from datetime import datetime

import jax
import jax.numpy as jnp
import pytest

from solver.cluster import Watchdog, watchdog
from solver.cluster.time_limit import end_of_job, seconds_left

LIMIT = 0.3


@pytest.fixture
def barks(tmp_path, monkeypatch):
    """A watchdog's barks; it is fast, and compiling may take no longer than 30 limits."""
    monkeypatch.setattr(watchdog, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(watchdog, "BUSY_SECONDS", 30 * LIMIT)
    heard = []

    def bark(code, message):
        heard.append((code, message))
        dog._over.set()

    dog = Watchdog(LIMIT, tmp_path / "log.txt", end=bark)
    with dog:
        yield dog, heard, tmp_path / "log.txt"


def wait_for(heard, seconds):
    deadline = time.monotonic() + seconds
    while not heard and time.monotonic() < deadline:
        time.sleep(0.01)


def test_what_stands_still_is_ended_with_its_stacks(barks, capsys):
    dog, heard, log = barks
    dog.moved()
    began = time.monotonic()
    wait_for(heard, 5)
    assert LIMIT < time.monotonic() - began < LIMIT + 1
    assert heard[0][0] == 70
    assert "nothing has moved for" in heard[0][1]
    assert "while stepping" in heard[0][1]
    assert "in wait_for" in log.read_text()
    assert "stalled" in capsys.readouterr().err


def test_what_moves_is_left_alone(barks):
    dog, heard, _ = barks
    for _ in range(20):
        dog.moved(0.05)
        time.sleep(0.05)
    assert not heard


@pytest.mark.slow
def test_long_chunks_are_allowed_longer_ones(barks):
    dog, heard, _ = barks
    dog.moved(1.0)
    time.sleep(4 * LIMIT)
    assert not heard
    wait_for(heard, 8)
    assert heard


@pytest.mark.slow
@pytest.mark.parametrize("what", ["starting", "writing", "compiling"])
def test_work_that_takes_its_time_has_a_limit_of_its_own(barks, what):
    dog, heard, _ = barks
    if what != "starting":
        dog.moved()
    if what == "writing":
        with dog.busy("writing"):
            time.sleep(4 * LIMIT)
            assert not heard
    else:
        if what == "compiling":
            dog.compiling(begins=True)
        time.sleep(4 * LIMIT)
        assert not heard
        dog.moved()
    wait_for(heard, 5)
    assert heard, "afterwards it watches as before"


def test_jax_says_when_it_compiles(barks, monkeypatch):
    dog, _, _ = barks
    seen = []
    monkeypatch.setattr(dog, "compiling", lambda begins: seen.append(begins))
    jax.jit(lambda x: x * 3 + jnp.sin(x))(jnp.arange(7.0))
    assert seen[:2] == [True, False]
    assert len(seen) % 2 == 0


def test_the_end_of_a_job_is_read_from_slurm():
    assert end_of_job({}) is None
    assert end_of_job({"SLURM_JOB_ID": "7", "SLURM_JOB_END_TIME": "1700000000"}) == 1.7e9
    assert end_of_job({"SLURM_JOB_ID": "7", "PATH": ""}) is None
    assert seconds_left(None, None) is None
    assert seconds_left(None, time.time() + 60) == pytest.approx(60, abs=1)
    assert seconds_left(30, time.time() + 1e6) < 30


def test_the_end_of_an_element_of_an_array_is_its_own(tmp_path, monkeypatch):
    """Asked for the number of the array, Slurm lists all elements, and the first one may be over."""
    (tmp_path / "scontrol").write_text(f"#!/bin/sh\necho $3 >{tmp_path}/asked; echo EndTime=2030-01-01T00:00:00\n")
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for array, asked in ({}, "7"), ({"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "0"}, "7_0"):
        assert end_of_job({"SLURM_JOB_ID": "7", **array}) == datetime(2030, 1, 1).timestamp()
        assert (tmp_path / "asked").read_text() == f"{asked}\n"


def test_a_process_that_was_stopped_as_a_whole_goes_on(barks, monkeypatch):
    """Between two looks the clock jumps: nobody ran, so nobody stood still."""
    dog, heard, _ = barks
    ahead = [0.0]

    class Clock:
        sleep, monotonic = time.sleep, staticmethod(lambda: time.monotonic() + ahead[0])

    monkeypatch.setattr(watchdog, "time", Clock)
    dog.moved()
    ahead[0] = 1000.0
    time.sleep(0.5 * LIMIT)
    assert not heard
    wait_for(heard, 5)  # from then on it counts as before
    assert heard


def test_a_first_chunk_counts_without_its_compilation(barks):
    """Steps longer than the limit are allowed from the first on; that compiling took long is no excuse."""
    dog, heard, _ = barks
    dog.moved()
    dog.compiling(begins=True)
    time.sleep(2 * LIMIT)
    dog.compiling(begins=False)
    dog.moved(2.5 * LIMIT, first=True)
    assert dog._allowed() == LIMIT
    dog.compiling(begins=True)
    time.sleep(LIMIT)
    dog.compiling(begins=False)
    dog.moved(3 * LIMIT, first=True)
    assert dog._allowed() > 5 * LIMIT
    assert not heard


def test_who_waits_for_work_has_no_limit_and_keeps_nobody_else_alive(tmp_path, monkeypatch):
    """A process that writes outputs for others waits for as long as they step; if they stall, nobody is busy."""
    pulses = []

    class Service:
        def key_value_set(self, key, value, **options):
            pulses.append(value)

        def key_value_dir_get(self, place):
            return []

    monkeypatch.setattr(watchdog, "service_client", Service)
    monkeypatch.setattr(watchdog, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(watchdog, "PULSE_SECONDS", 0.02)
    monkeypatch.setattr(watchdog, "BUSY_SECONDS", LIMIT)
    heard = []
    with Watchdog(LIMIT / watchdog.BUSY_FACTOR, tmp_path / "log.txt", end=lambda *said: heard.append(said)) as dog:
        with dog.resting():
            time.sleep(0.1)
            pulses.clear()
            time.sleep(2 * LIMIT)
            assert not pulses
            assert not heard
        with dog.busy("writing"):
            time.sleep(0.5 * LIMIT)
        assert pulses
        assert not heard
