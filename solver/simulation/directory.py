"""A run's directory is taken by one run at a time, and by one physics for good."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import jax

from solver.cluster import Agreement, is_first, log_to
from solver.config import ConfigError, Source, changed_physics
from solver.io import (
    DirectoryLock,
    RunDirectory,
    TakenError,
    newest_time,
    record_provenance,
    remove_leftovers,
    write_text,
)
from solver.loop import BlowUp


def refuse_occupied(directory: RunDirectory) -> None:
    """Raises ConfigError where a new run would lie over another."""
    existing = directory.existing_files()
    if existing:
        raise ConfigError(
            f"{directory.path} already holds a run ({', '.join(existing)}); continue it with --resume "
            "(resume=True in Python), or choose another output directory"
        )


def refuse_earlier_end(directory: RunDirectory, end: float) -> None:
    """Raises ConfigError where a run stands beyond `end`: it would be called finished, and config.toml say so."""
    stands = newest_time(directory.checkpoints)
    if stands is not None and stands > end * (1 + 1e-12):
        raise ConfigError(
            f"time.end = {end:g}: the run in {directory.path} stands at t = {stands:g}; a later end is needed, or "
            "another output.directory"
        )


def refuse_other_physics(
    directory: RunDirectory, before: Mapping[str, Any], now: Mapping[str, Any], free: str, otherwise: str = ""
) -> None:
    """Raises ConfigError where the run in a directory differs in more than a continued one may.

    Args:
        directory: of the run.
        before, now: tables of its resolved run file, as it is there and as it would become.
        free: what may differ, for the message.
        otherwise: how to go on with other physics, for its end.
    """
    changed = changed_physics(before, now)
    if changed:
        raise ConfigError(
            f"{directory.path} holds a run of other physics ({'; '.join(changed)}); only {free} may change when it is "
            f"continued{otherwise}"
        )


@contextmanager
def taken_directory(
    directory: RunDirectory,
    run_file: str,
    devices: Sequence[jax.Device],
    sources: Sequence[Source] = (),
    notes: Sequence[str] = (),
    *,
    continues: bool,
) -> Iterator[DirectoryLock | None]:
    """Make the directory this run's as long as the context lasts, with its log. Collective.

    Args:
        directory: where the run writes.
        run_file: text of its config.toml.
        devices: that it runs on, for provenance.json.
        sources: files of the user's to copy into it.
        notes: what differs from what was asked for, for provenance.json.
        continues: whether a run that is there may be continued; otherwise it is refused.

    Yields:
        The lock, on the first process; None on others.

    Raises:
        ConfigError: another process is writing a run there, or the directory cannot be made.
        DiskError: it cannot be written.
        FailedElsewhere: the first process met one of these.
    """
    with ExitStack() as stack:
        lock = None
        with Agreement("directory").together():
            if is_first():
                lock = _take(directory)
                stack.callback(lock.release)
                if not continues:
                    refuse_occupied(directory)  # again: now nobody else can begin one
                _refuse_link(directory.log)
                stack.enter_context(log_to(directory.log))
                for folder in directory.folders:
                    remove_leftovers(folder)
                for source in sources:
                    write_text(directory.path / source.copy_name, source.content)
                write_text(directory.run_file, run_file)
                record_provenance(directory.provenance, devices, notes)
        try:
            yield lock
        except BaseException as error:
            _say(lock, "blown up" if isinstance(error, BlowUp) else "failed")
            raise
        _say(lock, "finished" if lock is None or lock.state == "running" else lock.state)


def _refuse_link(path: Path) -> None:
    """Raises ConfigError where a file that is appended to is a link: it may lead to a file outside of the run."""
    if path.is_symlink():
        raise ConfigError(f"{path} is a symbolic link, which is not followed; remove it")


def _say(lock: DirectoryLock | None, state: str) -> None:
    if lock is not None:
        lock.say(state=state)


def _take(directory: RunDirectory) -> DirectoryLock:
    try:
        directory.path.mkdir(parents=True, exist_ok=True)
        return DirectoryLock(directory.path, os.environ)
    except OSError as error:
        raise ConfigError(f"output.directory = {str(directory.path)!r}: cannot be made: {error}") from None
    except TakenError as error:
        raise ConfigError(f"{directory.path}: {error}; wait for it, or stop it") from None
