"""`solver.run`: a whole run from Python, with the directory that the command `slabwave run` leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import jax
import tomli_w
from jax.sharding import Mesh

from solver.assemble.classes import known_outputs
from solver.cluster import Agreement, in_group_of, is_first, processes_of, start_log
from solver.config import STALL_SECONDS, read_toml
from solver.dynamics.any_equation import AnyEquation
from solver.io import RunDirectory, RunLock, list_checkpoints
from solver.loop import StepControl, check_end, step_control
from solver.outputs.output import Output
from solver.simulation import (
    Limits,
    Listener,
    OutputList,
    Simulation,
    locked_run_directory,
    refuse_earlier_end,
    refuse_occupied,
    refuse_other_physics,
    run_table,
    simulate,
)
from solver.steppers.checks import check_kinds
from solver.steppers.state import State
from solver.steppers.stepper import Stepper
from solver.stop import StopRequest

STOPPED_EARLY = 75


class StoppedEarly(SystemExit):
    """A run was stopped by a signal, with a checkpoint written; a script that lets it pass ends with exit code 75."""

    def __init__(self) -> None:
        super().__init__(STOPPED_EARLY)


def run(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    *,
    end: float,
    control: StepControl | None = None,
    step: float | None = None,
    cfl: float | None = None,
    tolerance: float | None = None,
    max_step: float | None = None,
    directory: str | Path,
    outputs: Sequence[Output] = (),
    listeners: Sequence[Listener] = (),
    title: str = "",
    resume: bool = False,
    wall_limit: float | None = None,
    stall_limit: float = STALL_SECONDS,
    energy_limit: float | None = None,
    analyse: Mesh | None = None,
) -> State:
    """Evolve a state to `end` with outputs and checkpoints in a directory: what `slabwave run` does.

    Collective: every process of a job calls it with the same arguments. The log goes to standard output and log.txt.
    SIGTERM, SIGINT, SIGUSR1, or a file `stop` in the directory, lead to a checkpoint and `StoppedEarly`. The
    directory's config.toml describes the objects; since no run file can name the state that was given, this script
    alone can continue the run.

    Args:
        equation, stepper: evolve the state.
        state: at the start, from `initial_state`; not used if the run is continued from a checkpoint.
        end, control, step, cfl, tolerance, max_step: as in `evolve`.
        directory: the run's directory; made if it is not there.
        outputs: from `solver.outputs`, or your own. The last state is always kept as a checkpoint.
        listeners: objects with a method `at_pause(pause)`, which every process calls at each pause of the run, after
            everything else: `pause.state`, `pause.steps`, `pause.seconds`, `pause.done` (`solver.simulation.Pause`).
            What it raises ends the run.
        title: title of the run, in its files.
        resume: continue from the newest valid checkpoint in the directory, or start if no checkpoint is found.
        wall_limit: seconds after the start of the process before which the run stops, with a checkpoint; under Slurm
            the end of the job counts too.
        stall_limit: seconds without a step after which the process is ended, with exit code 70.
        energy_limit: half the mean square of all fields beyond which the solution counts as blown up.
        analyse: mesh of other devices of this process (`device_groups`), which carry out outputs and checkpoints while
            the devices of the state step; None where these do everything.

    Returns:
        The last state.

    Raises:
        ConfigError: an occupied directory (without `resume`), one of a run of other physics, or one that stands
            beyond `end`; nothing in it is changed.
        BlowUp: the solution stopped being finite; the last good checkpoint is kept.
        StoppedEarly: by a signal, the file or the clock; a checkpoint was written.
        DiskError: a file could not be written; everything finished before is whole. In a job of several processes
            the others wait for this one until `stall_limit` ends them: let a script end on an error.
        ValueError: an output that cannot be written for this equation, an end that is not finite or lies before the
            state's time, not exactly one of `control`, `step`, `cfl` and `tolerance`, a state made by hand; nothing in
            the directory is changed.
    """
    check_kinds(equation, stepper, state)
    control = step_control(control, step=step, cfl=cfl, tolerance=tolerance, max_step=max_step)
    simulation = Simulation(
        equation=equation,
        stepper=stepper,
        control=control,
        end=end,
        start=lambda: state,
        outputs=OutputList.of(outputs, known_outputs()),
        limits=Limits(wall_limit, stall_limit, energy_limit),
        listeners=tuple(listeners),
        directory=RunDirectory(Path(directory)),
        title=title,
        analyse=analyse,
    )
    if analyse is not None and processes_of(analyse) != (jax.process_index(),):
        raise ValueError(
            "analyse: a mesh with devices of other processes, which devices.groups is for in a run file; send_state "
            "sends a state there"
        )
    with in_group_of(equation.grid.mesh):
        simulation = prepared(simulation, state, resume)
        start_log(quiet=not is_first())
        with StopRequest() as stop, locked(simulation, resume) as lock:
            final, finished = simulate(simulation, stop, lock)
    if not finished:
        raise StoppedEarly
    return final


def prepared(simulation: Simulation, state: State, resume: bool) -> Simulation:
    """A run from Python with the text of its run file, once it and what its directory holds are checked. Collective."""
    simulation.check()
    state.storage_by_path()  # a state that no checkpoint can be made of is refused before the first step
    directory = simulation.directory
    assert directory is not None
    table = run_table(simulation, directory)
    with Agreement("occupied").together():  # before the first process makes it its own
        if not resume:
            refuse_occupied(directory, simulation.outputs.known)
        elif directory.run_file.exists():
            free = "the end, the limits and the outputs"
            refuse_other_physics(directory, read_toml(directory.run_file), table, free=free)
            refuse_earlier_end(directory, simulation.end)
        if not list_checkpoints(directory.checkpoints):  # so that the run begins with this state
            check_end(simulation.end, simulation.control, state.t)
    return dataclasses.replace(simulation, run_file=tomli_w.dumps(table))


def locked(simulation: Simulation, resume: bool) -> AbstractContextManager[RunLock | None]:
    """The directory of a prepared run, locked for the time of the context."""
    assert simulation.directory is not None
    known = simulation.outputs.known
    return locked_run_directory(simulation.directory, simulation.run_file, simulation.devices, known, continues=resume)
