"""`run_one` locks a run's directory, writes its log there, and steps from its start or its newest checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from jax.sharding import Mesh

from solver import assemble
from solver.assemble.branch import kept_start
from solver.cluster import LOGGER, Watchdog, is_first
from solver.config import Config, ConfigError
from solver.io import RunDirectory, RunLock, WritingThread, ailments_of, list_checkpoints
from solver.loop import BlowUp
from solver.reading import RunStatus, after_blow_up, run_status
from solver.simulation import (
    Profile,
    Running,
    Simulation,
    analyse,
    locked_run_directory,
    record_branch,
    running,
    simulate,
)
from solver.steppers.state import State
from solver.stop import StopRequest


def run_one(
    assembly: assemble.Assembly,
    directory: RunDirectory,
    stop: StopRequest,
    lines: Sequence[str],
    *,
    continues: bool,
    profile: Profile | None = None,
) -> bool:
    """Carry a run out in its directory. Collective.

    Args:
        assembly: its objects.
        directory: the run's directory.
        stop: asks it to stop early.
        lines: for the head of its log.
        continues: True if an existing run may be continued.
        profile: steps to be traced, if any.

    Returns:
        Whether it came to its end.

    Raises:
        BlowUp: the message names the command that continues from the last checkpoint.
    """
    with _begun(assembly, directory, lines, continues) as (simulation, lock):
        _, finished = simulate(simulation, stop, lock, profile)
    return finished


def write_outputs_of_one(assembly: assemble.Assembly, directory: RunDirectory, stop: StopRequest) -> bool:
    """Carry out the outputs of a run of which other processes call `run_one`. Collective.

    Args:
        assembly: its objects.
        directory: the run's directory.
        stop: a signal to this process, which is passed on to those that step.

    Returns, raises:
        As `run_one`.
    """
    stepping = assembly.mesh
    assert isinstance(stepping, Mesh)
    if is_first():
        LOGGER.setLevel(logging.WARNING)  # of outputs, which nobody else sees
    return analyse(replace(assembly.on_devices_that_analyse().simulation, directory=directory), stepping, stop)


@contextmanager
def one_of_several(
    assembly: assemble.Assembly,
    directory: RunDirectory,
    stop: StopRequest,
    lines: Sequence[str],
    *,
    continues: bool,
    watchdog: Watchdog,
    companions: int,
    thread: WritingThread,
) -> Iterator[Running]:
    """The run of `run_one`, begun, for a caller that steps several runs together. Collective.

    Args:
        assembly, directory, stop, lines, continues: as of `run_one`.
        watchdog: the watchdog that all runs share that are carried out together.
        companions: number of other runs that are carried out together.
        thread: writes its large files; others may use it too.

    Raises:
        As `run_one`.
    """
    with (
        _begun(assembly, directory, lines, continues) as (simulation, lock),
        running(simulation, stop, lock, watchdog, companions=companions, thread=thread) as run,
    ):
        yield run


@contextmanager
def _begun(
    assembly: assemble.Assembly, directory: RunDirectory, lines: Sequence[str], continues: bool
) -> Iterator[tuple[Simulation, RunLock | None]]:
    """The run with its directory locked and the head of its log written there."""
    config, devices = assembly.config, assembly.devices
    differs = [line for start in assembly.initials.values() for line in start.notes(assembly.grid)]
    with locked_run_directory(
        directory, config.to_toml(), devices, config.known_outputs, config.sources, differs, continues=continues
    ) as lock:
        for line in [*lines, _summary(assembly), *differs]:
            LOGGER.info(line)
        simulation = replace(assembly.simulation, directory=directory, start=lambda: _start(assembly))
        with _blow_up_names_branch(directory):
            yield simulation, lock


def blew_up_under(now: RunStatus, directory: RunDirectory, config: Config) -> bool:
    """True if a run of this status blew up, and its run file is the same as then."""
    return now.status == "blown up" and directory.run_file.read_text(encoding="utf-8") == config.to_toml()


def came_to_its_end(now: RunStatus, config: Config) -> bool:
    """True if a run of this status is finished, and its run file has no later end."""
    return now.status == "finished" and now.t >= config.time.end * (1 - 1e-9)


def refuse_blow_up_again(directory: RunDirectory, config: Config) -> None:
    """Raises BlowUp, which gives exit code 3, if the run blew up and its run file is the same as then.

    Otherwise each job of a chain of batch jobs would compute from the last checkpoint to the same blow-up. Of an
    ensemble the members that did so are left out one by one.
    """
    now = run_status(directory)
    if not config.members and blew_up_under(now, directory, config):
        raise BlowUp(
            f"{directory.path}: {now.message}; the same run file would lead there again; {after_blow_up(directory)}"
        )


@contextmanager
def _blow_up_names_branch(directory: RunDirectory) -> Iterator[None]:
    """Add the command that continues from the last healthy checkpoint to the message of a blow-up."""
    try:
        yield
    except BlowUp as error:
        remedy = after_blow_up(directory)
        if not remedy:
            raise
        raise BlowUp(f"{error}; {remedy}") from error


def _start(assembly: assemble.Assembly) -> State:
    LOGGER.info("starting from %s", ", ".join(start.name for start in assembly.config.initial.values()))
    try:
        state = assembly.start()
    except ValueError as error:
        raise ConfigError(f"initial: {error}") from error
    kept = kept_start(assembly.config)
    if kept is not None:
        there = kept.checkpoint()
        record_branch(there.path, there.t, assembly.config.directory)
        _warn_of_ailments(there.path)
    return state


def _warn_of_ailments(checkpoint: Path) -> None:
    """Log the faults of the checkpoint that a branch starts from, or of later checkpoints."""
    for line in ailments_of(checkpoint) or []:
        LOGGER.warning("branch: %s is not healthy: %s", checkpoint.name, line)
    later = [path for path in list_checkpoints(checkpoint.parent) if path.name > checkpoint.name]
    if later:
        LOGGER.info("branch: starts from %s; later ones are %s", checkpoint.name, ", ".join(p.name for p in later))


def _summary(assembly: assemble.Assembly) -> str:
    config, grid = assembly.config, assembly.grid
    shape = "×".join(map(str, grid.shape))
    return (
        f"{config.title or 'untitled'}: {config.equation.name} on {shape} {grid.dealias}, {grid.precision}, "
        f"{config.stepper.name}, {assembly.control}, until t = {config.time.end:g}"
    )
