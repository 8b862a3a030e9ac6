"""`solver.run`: a whole run from Python, with the directory that the command `slabwave run` leaves."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tomli_w

from solver.assemble.classes import FROM_THE_RUN, known_outputs
from solver.cluster import Agreement, is_first, start_log
from solver.config import STALL_SECONDS, read_toml
from solver.equations.system import PeriodicSystem
from solver.grid import Grid, gather
from solver.io import RunDirectory
from solver.loop import StepControl, step_control
from solver.outputs.base import Output
from solver.simulation import (
    Limits,
    Listener,
    OutputList,
    Simulation,
    locked_run_directory,
    refuse_earlier_end,
    refuse_occupied,
    refuse_other_physics,
    simulate,
)
from solver.steppers.base import State, Stepper
from solver.stop import StopRequest

STOPPED_EARLY = 75


class StoppedEarly(SystemExit):
    """A run was stopped by a signal, with a checkpoint written; a script that lets it pass ends with exit code 75."""

    def __init__(self) -> None:
        super().__init__(STOPPED_EARLY)


def run(
    equation: PeriodicSystem,
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
) -> State:
    """Evolve a state to `end` with outputs and checkpoints in a directory: what `slabwave run` does.

    Collective: every process of a job calls it with the same arguments. The log goes to standard output and log.txt.
    SIGTERM, SIGINT, SIGUSR1, or a file `stop` in the directory, lead to a checkpoint and `StoppedEarly`. The
    directory's config.toml describes the objects; since no run file can name the state that was given, this script
    alone can continue the run.

    Args:
        equation, stepper: what evolves the state.
        state: at the start, from `initial_state`; not used if the run is continued from a checkpoint.
        end, control, step, cfl, tolerance, max_step: as in `evolve`.
        directory: where the run writes; made if it is not there.
        outputs: from `solver.outputs`, or your own. The last state is always kept as a checkpoint.
        listeners: objects with a method `at_pause(pause)`, which every process calls at each pause of the run, after
            everything else: `pause.state`, `pause.steps`, `pause.seconds`, `pause.done` (`solver.simulation.Pause`).
            What it raises ends the run.
        title: of the run, in its files.
        resume: continue from the newest valid checkpoint in the directory, or start if there is none.
        wall_limit: seconds after the start of the process before which the run stops, with a checkpoint; under Slurm
            the end of the job counts too.
        stall_limit: seconds without a step after which the process is ended, with exit code 70.
        energy_limit: half the mean square of all fields beyond which the solution counts as blown up.

    Returns:
        The last state.

    Raises:
        ConfigError: an occupied directory (without `resume`), one of a run of other physics, or one that stands
            beyond `end`; nothing in it is changed.
        BlowUp: the solution stopped being finite; the last good checkpoint is kept.
        StoppedEarly: by a signal, the file or the clock; a checkpoint was written.
        DiskError: a file could not be written; everything finished before is whole. In a job of several processes
            the others wait for this one until `stall_limit` ends them: let a script end on an error.
        ValueError: an output that cannot be written for this equation, an end that is not finite, not exactly one
            of `control`, `step`, `cfl` and `tolerance`; nothing in the directory is changed.
    """
    there, listed = RunDirectory(Path(directory)), OutputList.of(outputs, known_outputs())
    control = step_control(control, step=step, cfl=cfl, tolerance=tolerance, max_step=max_step)
    limits = Limits(wall_limit, stall_limit, energy_limit)
    simulation = Simulation(
        equation=equation,
        stepper=stepper,
        control=control,
        end=end,
        start=lambda: state,
        outputs=listed,
        limits=limits,
        listeners=tuple(listeners),
        directory=there,
        title=title,
    )
    simulation.check()
    table = _description(simulation, there)
    with Agreement("occupied").together():  # before the first process makes it its own
        if not resume:
            refuse_occupied(there)
        elif there.run_file.exists():
            refuse_other_physics(there, read_toml(there.run_file), table, free="the end, the limits and the outputs")
            refuse_earlier_end(there, end)
    start_log(quiet=not is_first())
    text = tomli_w.dumps(table)
    simulation = dataclasses.replace(simulation, run_file=text)
    devices = list(equation.grid.mesh.devices.flat)
    with StopRequest() as stop, locked_run_directory(there, text, devices, continues=resume) as lock:
        final, finished = simulate(simulation, stop, lock)
    if not finished:
        raise StoppedEarly
    return final


# ---- config.toml ------------------------------------------------------------------------------------------------


def _description(simulation: Simulation, directory: RunDirectory) -> dict[str, Any]:
    """Keys as in a run file; `script` says who made the run."""
    equation = simulation.equation
    time = {"stepper": simulation.stepper.name, "end": simulation.end, **simulation.control.time_keys()}
    forcing = {name: _object(forced) for name, forced in equation.forcings().items()}
    start = {name: {"name": "given in Python"} for name in equation.fields}
    return {
        "title": simulation.title,
        "script": sys.argv[0] or "interactive",
        "grid": _grid(equation.grid),
        "equation": _object(equation),
        "initial": start if len(start) > 1 else next(iter(start.values())),
        **({"forcing": forcing if len(start) > 1 else next(iter(forcing.values()))} if forcing else {}),
        "time": _without_none(time),
        "output": {
            "directory": str(directory.path),
            **{output.name: _without_none(dataclasses.asdict(output)) for output in simulation.outputs.all},
        },
    }


def _grid(grid: Grid) -> dict[str, Any]:
    return {
        "shape": list(grid.shape),
        "lengths": list(grid.lengths),  # type: ignore[arg-type]
        "dealias": grid.dealias,
        "precision": grid.precision,
    }


def _object(value: Any) -> dict[str, Any]:
    """Name and parameters of an equation or a forcing."""
    values = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.name not in FROM_THE_RUN}
    described = {name: _described(v) for name, v in values.items() if v is not None}
    return {"name": value.name, "class": f"{type(value).__module__}:{type(value).__qualname__}", **described}


def _described(value: Any) -> Any:
    """Numbers, words and lists of them as they are; arrays by shape and checksum, other objects by their type."""
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_described(v) for v in value]
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        whole = gather(value) if isinstance(value, jax.Array) and value.ndim == 0 else value
        if np.ndim(whole) == 0 and not np.iscomplexobj(whole):
            return np.asarray(whole).item()
        return f"{value.dtype}{list(value.shape)} {_checksum(value)}"
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _checksum(value: Any) -> str:
    """Of a small array; fields split over devices are not gathered for it."""
    if value.size > 2**16:
        return "not compared"
    whole = gather(value) if isinstance(value, jax.Array) else np.asarray(value)
    return f"sha256 {hashlib.sha256(np.ascontiguousarray(whole).tobytes()).hexdigest()[:16]}"


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _described(value) for key, value in table.items() if value is not None}
