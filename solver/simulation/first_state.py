"""First state of a run: the state of its newest checkpoint, or its start."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from solver.cluster import LOGGER, Agreement, is_first
from solver.config import ConfigError
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.companion import CompanionWarning
from solver.dynamics.derivation import means_along_axes
from solver.dynamics.idle_forcing import IdleForcing
from solver.dynamics.start_changes import ChangedStart
from solver.dynamics.unsolved_modes import UnsolvedModes
from solver.grid import Storage
from solver.io import CheckpointError, RunDirectory, load_checkpoint, newest_valid, read_manifest, set_aside
from solver.loop import long_step_at_start, rounded_time_at_start
from solver.outputs.output import Run
from solver.simulation.output_list import OutputList
from solver.simulation.simulation import Simulation
from solver.steppers.state import State

_finite = jax.jit(lambda fields: {name: jnp.all(jnp.isfinite(f)) for name, f in fields.items()})

OF_STARTS = (ChangedStart, CompanionWarning, IdleForcing, UnsolvedModes)  # warnings that the log has


def first_state(simulation: Simulation, run: Run) -> tuple[State, int | None]:
    """The state from which a run starts or resumes, and its step if it is from a checkpoint. Collective.

    It is the newest valid checkpoint if there is any checkpoint, and else the start. If all checkpoints are damaged,
    the run is not started over.

    Raises:
        CheckpointError: all of them are damaged.
        OtherFormat: the newest that is not damaged has a format that this version does not read; nothing is set aside.
        ConfigError: values at the start that are not finite.
    """
    directory = run.directory
    path, damaged = newest_valid(directory.checkpoints)
    for bad, problems in damaged.items():
        LOGGER.error("checkpoint %s is damaged and not used: %s", bad.name, "; ".join(problems))
    if path is None:
        if damaged:
            raise CheckpointError(
                f"{directory.checkpoints}: none of its {len(damaged)} checkpoints is valid; the run is not started "
                "over, move the directory away to do that"
            )
        state = _started(simulation)
        _check_finite(state)
        _warn_of_long_step(simulation, state)
        _warn_of_rounded_time(simulation, state)
        return state, None
    _set_aside(directory, list(damaged))
    statistics = statistics_of(simulation.outputs, run.equation)
    state = load_checkpoint(path, run.equation, simulation.stepper, statistics=statistics, checked=True)
    for name in statistics.keys() - state.statistics.keys():
        LOGGER.warning("%s has no sums of output.%s as it is now: they begin anew", path.name, name)
    LOGGER.info("continuing from %s, t = %.6g", path.name, float(state.t))
    warn_of_other_exchanges(path.name, read_manifest(path), run.equation.exchange_rounding)
    _warn_of_rounded_time(simulation, state)
    return state, int(state.step)


def _started(simulation: Simulation) -> State:
    """The first state of a new run; its warnings of fields and forcings go to the log."""
    with warnings.catch_warnings(record=True) as caught:
        for category in OF_STARTS:
            warnings.simplefilter("always", category)
        state = simulation.start()
    for warning in caught:
        if issubclass(warning.category, OF_STARTS):
            LOGGER.warning("%s", warning.message)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    for line in means_along_axes(simulation.equation):
        LOGGER.info("%s", line)
    return state


def _warn_of_long_step(simulation: Simulation, state: State) -> None:
    line = long_step_at_start(simulation.equation, simulation.control, state)
    if line:
        LOGGER.warning("time.%s", line)


def _warn_of_rounded_time(simulation: Simulation, state: State) -> None:
    line = rounded_time_at_start(simulation.equation, simulation.control, state, simulation.end)
    if line:
        LOGGER.warning("%s", line)


def warn_of_other_exchanges(name: str, manifest: Mapping[str, Any], now: dict[str, Any] | None) -> None:
    """A warning in the log if a checkpoint was computed with exchanges that round otherwise than those to come."""
    before = manifest.get("exchange")
    if before != now:
        LOGGER.warning(
            "%s comes from %s; this run goes on with %s: results differ to that precision from those without a change",
            name, _in_words(before), _in_words(now),
        )  # fmt: skip


def _in_words(exchange: dict[str, Any] | None) -> str:
    if exchange is None:
        return "exchanges in the grid's precision"
    pencils = exchange["pencils"]
    split = f"{exchange['devices'] // pencils} × {pencils} devices" if pencils > 1 else f"{exchange['devices']} devices"
    return f"exchanges in {exchange['precision']} on {split}"


def log_rounding(equation: AnyEquation) -> None:
    """Log a line if the precision of exchanges is below the precision of the grid."""
    exchange = equation.exchange_rounding
    if exchange is not None:
        LOGGER.info("%s: results depend on the number of devices to that precision", _in_words(exchange))


def statistics_of(outputs: OutputList, equation: AnyEquation) -> dict[str, tuple[Any, dict[str, Storage]]]:
    """Shapes and storage of the sums of each output, by its name."""
    sums = jax.eval_shape(lambda: outputs.accumulators(equation))
    declared = outputs.declared(equation, sums)
    return {name: (sums[name], declared[name]) for name in sums}


def _set_aside(directory: RunDirectory, damaged: Sequence[Path]) -> None:
    with Agreement("damaged").together():
        for bad in damaged if is_first() else ():
            LOGGER.error("kept aside as %s", set_aside(bad).name)


def _check_finite(state: State) -> None:
    """Raises ConfigError where a run would start from values that are not finite."""
    for name, finite in _finite(state.field).items():
        if not finite:
            raise ConfigError(f"initial: {name} has values that are not finite")
