"""A run's directory is used by one run at a time, and never for other physics."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import jax

from solver.cluster import LOGGER, Agreement, is_first, log_to
from solver.config import ConfigError, Source, changed_keys, changed_physics, read_toml
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.derivation import plan_to_keep
from solver.dynamics.equation import has_text
from solver.io import (
    DirectoryLock,
    RunDirectory,
    RunLock,
    TakenError,
    live_holder,
    newest_time,
    record_provenance,
    remove_leftovers,
    write_text,
)
from solver.loop import BlowUp
from solver.outputs import Output
from solver.written.derivation import keep_plan as use_plan

PLAN = "plan.json"  # in a run's directory


def refuse_occupied(directory: RunDirectory, kinds: Iterable[type[Output]]) -> None:
    """Raises ConfigError if the directory already holds a run: a run file, or files of one of these kinds of output."""
    files = [directory.run_file, *_written_by(kinds, directory)]
    existing = dict.fromkeys(path.relative_to(directory.path).parts[0] for path in files if path.exists())
    if existing:
        raise ConfigError(
            f"{directory.path} already holds a run ({', '.join(existing)}); continue it with --resume "
            "(resume=True in Python), or choose another output directory"
        )


def _written_by(kinds: Iterable[type[Output]], directory: RunDirectory) -> list[Path]:
    """The files and folders of outputs; raises ConfigError if one is outside the run's directory."""
    root, inside = directory.path.resolve(), []
    for kind in kinds:
        for path in map(Path.resolve, kind.paths(directory)):
            if not path.is_relative_to(root):
                raise ConfigError(f"output {kind.name} writes {path}: a path in the run's directory is needed")
            inside.append(directory.path / path.relative_to(root))
    return inside


def refuse_earlier_end(directory: RunDirectory, end: float) -> None:
    """Raises ConfigError if the run is already beyond `end`: it would count as finished, with a wrong config.toml."""
    reached = newest_time(directory.checkpoints)
    if reached is not None and reached > end * (1 + 1e-12):
        raise ConfigError(
            f"time.end = {end:g}: the run in {directory.path} stands at t = {reached:g}; a later end is needed, or "
            "another output.directory"
        )


def refuse_other_physics(
    directory: RunDirectory, before: Mapping[str, Any], now: Mapping[str, Any], free: str, otherwise: str = ""
) -> None:
    """Raises ConfigError if a run differs from the one in its directory in more than a continued run may.

    Args:
        directory: directory of the run.
        before, now: tables of the resolved run file in the directory, and of the new one.
        free: settings that may differ, for the message.
        otherwise: hint on the use of other physics, for the end of the message.
    """
    changed = changed_physics(before, now)
    if changed:
        raise ConfigError(
            f"{directory.path} holds a run of other physics ({'; '.join(changed)}); only {free} may change when it is "
            f"continued{otherwise}"
        )


@contextmanager
def locked_run_directory(
    directory: RunDirectory,
    run_file: str,
    devices: Sequence[jax.Device],
    kinds: Sequence[type[Output]],
    sources: Sequence[Source] = (),
    notes: Sequence[str] = (),
    *,
    continues: bool,
) -> Iterator[RunLock | None]:
    """Make and lock the run's directory for the time of the context, and write its log there. Collective.

    Args:
        directory: directory in which the run writes.
        run_file: text of its config.toml.
        devices: the devices of the run, for provenance.json.
        kinds: every kind of output that may have written into it.
        sources: the user's own files, which are copied into it.
        notes: differences from the request of the user, for provenance.json.
        continues: True if an existing run may be continued; if False, it is refused.

    Yields:
        The lock, on the first process; None on others.

    Raises:
        ConfigError: another process is writing a run there, or the directory cannot be made.
        DiskError: a file cannot be written.
        FailedElsewhere: on the other processes, if the first one met one of these errors.
    """
    with ExitStack() as stack:
        lock = None
        with Agreement("directory").together():
            if is_first():
                lock = take(directory)
                stack.callback(lock.release)
                _refuse_live_jobs(directory)
                if not continues:
                    refuse_occupied(directory, kinds)  # checked again, since no other run can start here now
                if directory.held is None:
                    refuse_link(directory.log)
                    stack.enter_context(log_to(directory.log))
                for path in {directory.path, *_written_by(kinds, directory)}:
                    if path.is_dir():
                        remove_leftovers(path)
                if continues and directory.held is None:
                    _log_changes(directory, run_file)
                for source in sources:
                    write_text(directory.path / source.copy_name, source.content)
                write_text(directory.run_file, run_file)
                if directory.held is None:
                    record_provenance(directory.provenance, devices, notes)
        with end_recorded(lock):
            yield lock


def _log_changes(directory: RunDirectory, run_file: str) -> None:
    """Log every key of the run file that differs from the last start of the run."""
    if not directory.run_file.exists():
        return
    for change in changed_keys(read_toml(directory.run_file), tomllib.loads(run_file)):
        LOGGER.info("changed since the last start: %s", change)


@contextmanager
def end_recorded(lock: RunLock | None) -> Iterator[None]:
    """Write into the status of a lock how the context ended: the message of a blow-up is there already."""
    try:
        yield
    except BlowUp:
        _update(lock, state="blown up")
        raise
    except BaseException as error:
        _update(lock, state="failed", message=" ".join(str(error).split()) or type(error).__name__)
        raise
    _update(lock, state="finished" if lock is None or lock.state == "running" else lock.state)


def live_jobs(directory: RunDirectory, pattern: str = "*-of-*") -> list[str]:
    """Names of the folders of the jobs that carry out members of an ensemble now."""
    return [folder.name for folder in sorted(directory.jobs.glob(pattern)) if live_holder(folder)]


def _refuse_live_jobs(directory: RunDirectory) -> None:
    """Raises ConfigError if jobs carry out members of the ensemble now, or make its data set."""
    names = live_jobs(directory, "*")
    if names:
        raise ConfigError(
            f"{directory.path}: jobs {', '.join(names)} carry out its members; wait for them, or stop them"
        )


def refuse_link(path: Path) -> None:
    """Raises ConfigError if a file to append to is a symbolic link, which may lead to a file outside of the run."""
    if path.is_symlink():
        raise ConfigError(f"{path} is a symbolic link, which is not followed; remove it")


def _update(lock: RunLock | None, **status: str) -> None:
    if lock is not None:
        lock.update_status(**status)


def take(directory: RunDirectory) -> RunLock:
    """Make a run's directory and lock it.

    Raises:
        ConfigError: another process is writing a run there, or the directory cannot be made.
    """
    if directory.path.is_symlink() and not directory.path.exists():
        lost = os.readlink(directory.path)
        raise ConfigError(f"output.directory = {str(directory.path)!r}: a link to {lost}, which does not exist")
    try:
        directory.path.mkdir(parents=True, exist_ok=True)
        if directory.held is not None:
            return directory.held.member(directory.path)
        return DirectoryLock(directory.path, os.environ)
    except OSError as error:
        raise ConfigError(f"output.directory = {str(directory.path)!r}: cannot be made: {error}") from None
    except TakenError as error:
        raise ConfigError(f"{directory.path}: {error}; wait for it, or stop it") from None


def keep_plan(equation: AnyEquation, file: Path) -> None:
    """Let all processes use the plan that the run's directory keeps, or else the one that the first has found.

    Results of a search are facts of the run, found once and used again.

    Collective. Another processor's round-off could find another plan of equal cost, and so another program.

    Raises:
        ConfigError: the file cannot be read.
    """
    if not has_text(equation):
        return
    found = plan_to_keep(equation)
    has_file = is_first() and bool(found) and file.exists()
    plan = Agreement("plan").tell(file.read_text("utf-8") if has_file else found)
    if not plan:
        return
    try:
        use_plan(plan)
    except ValueError as error:
        raise ConfigError(f"{file}: {error}") from None
    if is_first() and not has_file:
        write_text(file, plan)
