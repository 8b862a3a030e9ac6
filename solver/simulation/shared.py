"""The directory of an ensemble whose members several jobs carry out at a time.

Each job locks a folder of its own in `jobs/` for as long as it lives, and each member's directory while it carries the
member out. The lock of the ensemble's directory is held by one job after another, only while it writes or compares the
files that all have in common. A job that carries out all members by itself holds it for good and refuses live jobs.
"""

from __future__ import annotations

import csv
import io
import os
import random
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import jax

from solver.cluster import LOGGER, Agreement, is_first, log_to
from solver.config import ConfigError, Share, Source, read_toml
from solver.io import DirectoryLock, RunDirectory, RunLock, TakenError, record_provenance, remove_leftovers, write_text
from solver.io.files import publish
from solver.simulation.directory import end_recorded, live_jobs, refuse_link, refuse_other_physics, take

TURN_SECONDS = 60.0  # a job waits so long until those that started at the same time have written their files
BY_JOBS = "by jobs"  # state of an ensemble in its status.json: the status of each job stands in the folder of the job


@dataclass(frozen=True)
class CommonFiles:
    """Files of an ensemble that all of its jobs write alike.

    Args:
        run_file: text of config.toml.
        members: text of members.csv: a line for each member, which its name begins.
        own: names of the job's own members: lines of other members come from their jobs, which may have drawn again.
        sources: the user's own files, which are copied into the directory.
    """

    run_file: str
    members: str
    own: Sequence[str] = ()
    sources: Sequence[Source] = ()


@contextmanager
def shared_directory(
    directory: RunDirectory, share: Share, files: CommonFiles, devices: Sequence[jax.Device], does: str
) -> Iterator[RunLock | None]:
    """Hold the folder of a job for the time of the context, and write its log there. Collective.

    The first job writes the common files; the others compare them with their own. While no other job is alive, a job
    may replace them under the rules for a continued run.

    Args:
        directory: directory of the ensemble.
        share: number of this job, and of all jobs of the ensemble.
        files: files that all jobs have in common.
        devices: the devices of the job, for provenance.json.
        does: work of the job, for the log of the ensemble.

    Yields:
        The lock of the job's folder, on the first process; None on others.

    Raises:
        ConfigError: the same job, a job with another run file, or one that carries out all members is alive; or the
            directory cannot be made.
        DiskError: a file cannot be written.
        FailedElsewhere: on the other processes, if the first one met one of these errors.
    """
    own = RunDirectory(directory.jobs / share.folder)
    with ExitStack() as stack:
        lock = None
        with Agreement("directory").together():
            if is_first():
                lock = take(own)
                stack.callback(_remove_stop_file, directory)  # after the lock is released
                stack.callback(lock.release)
                stack.enter_context(end_recorded(lock))
                refuse_link(own.log)
                stack.enter_context(log_to(own.log))
                record_provenance(own.provenance, devices)
                with _in_turn(directory):
                    _write_common_files(directory, share, files)
                    with log_to(directory.log):
                        LOGGER.info("%s carries out %s; its log is %s", share, does, own.log)
        yield lock


@contextmanager
def _in_turn(directory: RunDirectory) -> Iterator[None]:
    """Hold the lock of the ensemble's directory, once the jobs before have released it."""
    deadline = time.monotonic() + TURN_SECONDS
    while True:
        try:
            lock = DirectoryLock(directory.path, os.environ)
            break
        except TakenError as error:
            if time.monotonic() > deadline:
                raise ConfigError(f"{directory.path}: {error}; wait for it, or stop it") from None
        time.sleep(random.uniform(0.02, 0.2))
    try:
        yield
    finally:
        lock.update_status(state=BY_JOBS)
        lock.release()


def _write_common_files(directory: RunDirectory, share: Share, files: CommonFiles) -> None:
    own = RunDirectory(directory.jobs / share.folder)
    refuse_link(directory.log)
    others = [name for name in live_jobs(directory) if name != share.folder]
    _refuse_other_number(directory, share, others)
    before, table = (_text(path) for path in (directory.run_file, directory.members))
    if before is not None and before != files.run_file:
        _refuse_other_run_file(directory, before, files.run_file, others)
    members = files.members if table is None else _with_lines_of_others(files, table)
    if (before, table) == (files.run_file, members):
        return
    remove_leftovers(directory.path)
    for source in files.sources:
        _put(own, directory.path / source.copy_name, source.content)
    _put(own, directory.members, members)
    _put(own, directory.provenance, own.provenance.read_bytes())
    _put(own, directory.run_file, files.run_file)  # last: a job that finds it finds the others too


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _with_lines_of_others(files: CommonFiles, table: str) -> str:
    """members.csv with the lines of other jobs' members as they are in the file, if it has the same columns."""
    now, before = (csv.DictReader(io.StringIO(text)) for text in (files.members, table))
    columns = before.fieldnames or []
    if set(columns) != set(now.fieldnames or []):
        return files.members
    there = {row["member"]: row for row in before if row["member"] not in files.own}
    merged = io.StringIO()
    writer = csv.DictWriter(merged, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(there.get(row["member"], row) for row in now)
    return merged.getvalue()


def _put(own: RunDirectory, path: Path, content: str | bytes) -> None:
    """Write a file in the job's own folder, and move it to its place as a whole, also where locks do not hold."""
    made = own.path / f"{path.name}.common"
    write_text(made, content)
    publish(made, path)


def _refuse_other_number(directory: RunDirectory, share: Share, others: Sequence[str]) -> None:
    """Raises ConfigError if jobs are alive that share the members by another number: two would have one member."""
    different = [name for name in others if name.partition("-of-")[2] != share.folder.partition("-of-")[2]]
    if different:
        raise ConfigError(
            f"--jobs {share.jobs}: jobs {', '.join(different)} carry out the members of {directory.path}; wait for "
            "them, or stop them"
        )


def _refuse_other_run_file(directory: RunDirectory, before: str, now: str, others: Sequence[str]) -> None:
    """Raises ConfigError if config.toml has other physics, or belongs to other jobs that are alive."""
    if others:
        lines = zip(before.splitlines(), now.splitlines(), strict=False)
        first, own = next(((a, b) for a, b in lines if a != b), ("the end", "more lines"))
        raise ConfigError(
            f"{directory.path}: jobs {', '.join(others)} carry out its members by another run file, with {first!r} "
            f"instead of {own!r}; the same one is needed, or wait for them"
        )
    refuse_other_physics(directory, read_toml(directory.run_file), tomllib.loads(now), "the end and limits of [time]")


def _remove_stop_file(directory: RunDirectory) -> None:
    """Remove the file that asked all members to stop, once no job is left that has to see it."""
    if not live_jobs(directory):
        for file in directory.stop_files:
            file.unlink(missing_ok=True)
