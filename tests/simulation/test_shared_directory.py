"""The files that the jobs of an ensemble have in common: written once, compared by the others."""

import fcntl
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import pytest

from solver.config import ConfigError, Share
from solver.io import RunDirectory
from solver.loop import BlowUp
from solver.reading import job_statuses, jobs_line
from solver.simulation import CommonFiles, locked_run_directory, shared_directory
from solver.simulation.directory import live_jobs

RUN = "[ensemble]\n[time]\nend = 1.0\n[equation]\nviscosity = 0.1\n"
FILES = CommonFiles(RUN, "member\nmember-0000\n")


@pytest.fixture
def directory(tmp_path):
    return RunDirectory(tmp_path / "many")


def no_locks(*arguments):
    raise OSError("no locks")


def hold(directory, job=0, jobs=4, files=FILES):
    return shared_directory(directory, Share(job, jobs), files, jax.devices(), "some members")


@pytest.mark.parametrize("locks", [True, False], ids=["locks", "a file system without locks"])
def test_jobs_that_start_at_one_time_all_begin(directory, caplog, monkeypatch, locks):
    if not locks:
        monkeypatch.setattr(fcntl, "flock", no_locks)
    caplog.set_level("INFO", "slabwave")
    started = threading.Barrier(8, timeout=20)

    def job(number):
        started.wait()
        with hold(directory, number, 8):
            started.wait()  # no job waits for another one's end
            return directory.run_file.read_text(), directory.members.read_text()

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(job, range(8))) == {(FILES.run_file, FILES.members)}
    lines = directory.log.read_text().splitlines()
    assert sorted(line.partition(" I ")[2][:10] for line in lines) == [f"job {n} of 8" for n in range(8)]
    assert json.loads(directory.provenance.read_text())["earlier"] == [], "of the first job; each has its own beside"
    for number in range(8):
        folder = directory.jobs / f"{number:04d}-of-0008"
        assert {path.name for path in folder.iterdir()} == {".lock", "log.txt", "provenance.json", "status.json"}
        assert json.loads((folder / "status.json").read_text())["state"] == "finished"
    assert json.loads((directory.path / "status.json").read_text())["state"] == "by jobs"


def test_live_jobs_keep_others_away(directory, monkeypatch):
    other = CommonFiles(RUN.replace("1.0", "2.0"), FILES.members)
    with hold(directory, 1):
        with pytest.raises(ConfigError, match=r"process .* is writing this run"), hold(directory, 1):
            pass
        with pytest.raises(ConfigError, match=r"--jobs 2: jobs 0001-of-0004 carry out .*; wait"), hold(directory, 0, 2):
            pass
        with (
            pytest.raises(ConfigError, match=r"by another run file, with 'end = 1\.0' instead of 'end = 2\.0'"),
            hold(directory, 0, files=other),
        ):
            pass
        with (
            pytest.raises(ConfigError, match="jobs 0001-of-0004 carry out its members; wait for them"),
            locked_run_directory(directory, RUN, jax.devices(), (), continues=True),
        ):
            pass
    assert jobs_line(job_statuses(directory)) == "2 failed (0000-of-0002, 0000-of-0004), 1 finished"
    monkeypatch.setattr("solver.simulation.shared.TURN_SECONDS", 0.3)
    with (
        locked_run_directory(directory, RUN, jax.devices(), (), continues=True),
        pytest.raises(ConfigError, match=r"process .* is writing this run"),
        hold(directory, 0),
    ):
        pass


def test_jobs_that_ended_are_continued_by_others(directory):
    with pytest.raises(BlowUp), hold(directory, 0):
        raise BlowUp("not finite")
    assert json.loads((directory.jobs / "0000-of-0004" / "status.json").read_text())["state"] == "blown up"
    later = CommonFiles(RUN.replace("1.0", "2.0"), FILES.members)
    with hold(directory, 0, 2, later):
        assert directory.run_file.read_text() == later.run_file
    with (
        pytest.raises(ConfigError, match=r"other physics \(equation.viscosity: 0\.1 → 0\.2\)"),
        hold(directory, 1, 2, CommonFiles(later.run_file.replace("0.1", "0.2"), FILES.members)),
    ):
        pass
    assert directory.run_file.read_text() == later.run_file


def test_a_killed_job_counts_as_dead(directory):
    """Its process is gone, though its last word in the lock file is fresh."""
    with hold(directory, 1):
        lock = directory.jobs / "0001-of-0004" / ".lock"
        content = json.loads(lock.read_text())
        assert live_jobs(directory) == ["0001-of-0004"]
        assert [job.state for job in job_statuses(directory)] == ["running"]
    lock.write_text(json.dumps({**content, "pid": 2**22 + 1}))
    assert live_jobs(directory) == []
    assert jobs_line(job_statuses(directory)) == "1 killed (0001-of-0004)"
    lock.write_text(json.dumps({**content, "host": "elsewhere"}))
    assert live_jobs(directory) == ["0001-of-0004"]
    lock.write_text(json.dumps({**content, "host": "elsewhere", "time": content["time"] - 60}))
    assert live_jobs(directory) == []


def test_the_file_that_stops_all_members_goes_with_the_last_job(directory):
    with hold(directory, 0):
        with hold(directory, 1):
            (directory.path / "stop").touch()
        assert (directory.path / "stop").exists()
    assert not (directory.path / "stop").exists()
