"""Kills, full disks, processes that stand still, requests to stop; benchmarks/faults.py is the long form."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from campaign import STEPS, Campaign
from zygote import zygote

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return Campaign(zygote(), tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return Campaign(zygote(), tmp_path_factory.mktemp("pair"), processes=2)


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.01)


def at_step(directory, step):
    return lambda: (directory / "checkpoints" / f"step-{step:08d}").exists()


@pytest.mark.parametrize("when", ["before", "within", "after"])
def test_a_kill_at_any_write_loses_nothing_that_was_finished(alone, when):
    alone.reference()
    calls = alone.calls(alone.folder / "whole")[0]
    rng = np.random.default_rng(["before", "within", "after"].index(when))
    for at in rng.integers(1, calls, 2):
        directory = alone.folder / f"killed-{when}-{at}"
        assert alone.run(directory, at=int(at), when=when) == [-signal.SIGKILL]
        alone.assert_sound(directory)
        assert alone.run(directory) == [0], alone.said(directory)
        alone.assert_as_undisturbed(directory)


@pytest.mark.parametrize("process", [0, 1])
def test_a_kill_of_one_of_two_processes_at_a_write(pair, process):
    pair.reference()
    calls = pair.calls(pair.folder / "whole")[process]
    at = int(np.random.default_rng(process).integers(calls // 4, calls))
    directory = pair.folder / f"killed-{process}"
    codes = pair.run(directory, "time.stall_limit=5", at=at, when="within", process=process)
    assert codes[process] == -signal.SIGKILL
    assert codes[1 - process] not in (0, 2, 3, 75, 1000)
    pair.assert_sound(directory)
    assert pair.run(directory) == [0, 0], pair.said(directory)
    pair.assert_as_undisturbed(directory)


def test_a_disk_that_fills_at_any_write_ends_in_one_line_and_nothing_half_written(alone):
    alone.reference()
    calls = alone.calls(alone.folder / "whole")[0]
    for at in np.random.default_rng(7).integers(1, calls, 6):
        directory = alone.folder / f"full-{at}"
        codes, said = alone.run(directory, at=int(at), do="ENOSPC"), alone.said(directory)
        alone.assert_sound(directory)
        if codes == [0]:  # an old checkpoint could not be deleted, which is no reason to end
            assert re.search(r"step-\d+ could not be deleted: .*No space left on device", said), said
            continue
        assert codes == [1], said
        assert re.search(r"^slabwave: error: \S+: No space left on device", said, re.MULTILINE), said
        assert "Traceback" not in said
        assert not list(directory.rglob(".*.partial"))
        assert alone.run(directory) == [0], alone.said(directory)
        alone.assert_as_undisturbed(directory)


@pytest.fixture
def small_disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(tmp_path)]
    made = subprocess.run(mount, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {made.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("campaign", ["alone", "pair"])
def test_a_full_disk(small_disk, campaign, request):
    campaign = request.getfixturevalue(campaign)
    directory = small_disk / "run"
    codes = campaign.run(directory)
    assert codes == [1] * campaign.processes
    said = campaign.said(directory)
    line = r"slabwave: error: \S+/run/\S+: No space left on device: [\d.]+ \w+ needed, [\d.e+]+ \w+ free"
    # one line of each process that had no room; where both find none in the same block, both say so
    assert 1 <= len(re.findall(line, said)) <= campaign.processes, said
    assert "HDF5" not in said
    campaign.assert_sound(directory)
    assert not list(directory.rglob(".*.partial"))
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    assert campaign.run(directory) == [0] * campaign.processes, campaign.said(directory)
    campaign.assert_as_undisturbed(directory)


@pytest.mark.parametrize(("stuck", "process"), [("stopped", 0), ("looping", 1)])
def test_a_process_that_stands_still_ends_all(pair, stuck, process):
    directory = pair.folder / f"{stuck}-{process}"
    loop = (
        "from solver.simulation.pauses import EnergyLimit\n"
        "def endless(self, pause):\n    while int(pause.state.step) >= 12: pass\n"
        "EnergyLimit.at_pause = endless"
    )
    inject = {"code": loop, "process": process} if stuck == "looping" else {}
    started = pair.start(directory, "time.stall_limit=4", "time.end=20", **inject)
    until(at_step(directory, 10))
    if stuck == "stopped":
        started[process].send_signal(signal.SIGSTOP)
    else:
        until(lambda: "stalled" in pair.said(directory), 30)
    began = time.monotonic()
    other = pair.wait(started[1 - process])
    took = time.monotonic() - began
    if stuck == "stopped":
        started[process].kill()
    code = pair.wait(started[process])
    assert other == 70, pair.said(directory)
    assert took < 60, "a busy machine stretches the limit of 4 s to some times its slowest chunk, and no further"
    log = (directory / "log.txt").read_text()
    assert f"process {1 - process} (" in log
    assert 'File "' in log
    if stuck == "looping":
        assert code == 70
        assert f"process {process} (" in log
        assert "in endless" in log
    pair.assert_sound(directory)
    assert pair.run(directory) == [0, 0], pair.said(directory)
    pair.assert_as_undisturbed(directory)


def test_a_request_to_stop_at_any_moment_leads_to_a_checkpoint_and_the_series_has_no_gap(pair):
    """Ten times in a row: by signal, to either process, at once or later, or by a file."""
    directory = pair.folder / "requeued"
    pair.reference()
    stops = 0
    for round_ in range(10):
        started = pair.start(directory)
        if round_ % 3 == 2:
            until(lambda: (directory / "log.txt").exists())
            time.sleep(0.2)
            (directory / "stop").touch()
        else:
            time.sleep(0.1 + 0.25 * round_)  # before the processes meet, while they compile, or later
            name = (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)[round_ % 3]
            started[round_ % 2].send_signal(name)
        codes = [pair.wait(process) for process in started]
        assert codes in ([75, 75], [0, 0]), pair.said(directory)
        if "nothing was done yet" in pair.said(directory):  # they had not met
            continue
        stops += codes == [75, 75]
        pair.assert_sound(directory)
        if codes == [75, 75]:
            assert len(re.findall("stopped early by", pair.said(directory))) == 1
            assert (directory / "checkpoints").exists()
        else:
            break
    assert stops >= 3
    if codes == [75, 75]:
        assert pair.run(directory) == [0, 0], pair.said(directory)
    pair.assert_as_undisturbed(directory)


def test_the_clock_stops_a_run_in_time(alone):
    directory = alone.folder / "clock"
    began = time.monotonic()
    assert alone.run(directory, "time.end=500", "time.wall_limit='00:00:17'") == [75], alone.said(directory)
    assert time.monotonic() - began < 17
    assert "stopped early by the clock" in alone.said(directory)
    step = int(re.search(r"at step (\d+); its", alone.said(directory))[1])
    assert step > 0
    assert at_step(directory, step)()


def test_a_solution_with_too_much_energy_ends_with_3_and_is_in_no_checkpoint(alone):
    directory = alone.folder / "energy"
    assert alone.run(directory, "equation.viscosity=0", "time.energy_limit=0.1") == [3]
    assert "the energy is 0.125, beyond time.energy_limit = 0.1" in alone.said(directory)
    assert not list((directory / "checkpoints").glob("step-*"))
    assert STEPS == 40
