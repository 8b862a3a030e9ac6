"""First state of a run: the state of its newest checkpoint, its start, or the checkpoint that a branch continues."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from solver.cluster import LOGGER, Agreement, is_first, log_to
from solver.config import ConfigError
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.companion import CompanionWarning
from solver.dynamics.derivation import means_along_axes
from solver.dynamics.start_changes import ChangedStart
from solver.dynamics.start_warnings import IdleForcing, UnsolvedModes
from solver.grid import Storage
from solver.io import CheckpointError, RunDirectory, load_checkpoint, newest_valid, read_manifest, set_aside
from solver.loop import long_step_at_start, rounded_time_at_start
from solver.mesh import whole_on_each
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


def with_time_of(
    manifest: dict[str, Any],
    state: State,
    forced: Collection[str],
    beside: Mapping[str, np.ndarray | None],
    carried: Mapping[str, jax.Array],
) -> State:
    """A state at the start of a run, with the time, the number of steps, forcings and companions of a checkpoint.

    The stepper's history, conserved quantities, energy budgets and sums of outputs begin anew.

    Args:
        manifest: manifest of the checkpoint.
        state: state at the start of the new run.
        forced: fields whose forcing continues, where the checkpoint's state of it has the same shapes.
        beside: by name of each companion, the change to add to its numbers in the checkpoint; None for a companion that
            begins anew.
        carried: the companions that are split over the devices, as the checkpoint has them, by name.
    """
    value = lambda name: np.asarray(manifest["values"][name]["value"], manifest["values"][name]["dtype"])[()]  # noqa: E731
    t, step = value("t"), value("step")
    forcing = _forcing_of(state, manifest, forced)
    field = {**state.field, **carried}
    for name, more in beside.items():
        if more is not None:
            field[name] = whole_on_each(value(f"field/{name}") + more, field[name].sharding)
    return state.replace(field=field, t=t, t_reference=t, step=step, step_reference=step, forcing=forcing)


def record_branch(checkpoint: Path, t: float, directory: str) -> None:
    """Write into the log of a checkpoint's run that another run, in this directory, continues from the checkpoint."""
    log = checkpoint.parent.parent / "log.txt"
    if not is_first():
        return
    try:
        with log_to(log):
            LOGGER.info("branch: %s goes on from %s, t = %.6g", directory, checkpoint, t)
    except OSError as error:
        LOGGER.warning("branch: %s cannot be written: %s", log, error)


def _forcing_of(state: State, manifest: dict[str, Any], forced: Collection[str]) -> dict[str, Any]:
    """The states of all forcings by field: from the checkpoint where the forcing continues, else from the start."""
    forcing = {}
    for name, begun in state.forcing.items():
        stored = _stored(f"forcing/{name}", begun, manifest) if name in forced else None
        forcing[name] = begun if stored is None else stored
        if jax.tree.leaves(begun):
            LOGGER.info("forcing: that of %s %s", name, "begins anew" if stored is None else "goes on")
    return forcing


def _stored(name: str, begun: Any, manifest: dict[str, Any]) -> Any:
    """A forcing's state as the checkpoint has it; None where it has other shapes, or fields at every point."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(begun)
    values = []
    for place, leaf in leaves:
        key = "/".join(part for part in (name, jax.tree_util.keystr(place, simple=True, separator="/")) if part)
        entry = manifest["values"].get(key)
        if entry is None or "key" in entry or np.shape(entry["value"]) != leaf.shape:
            return None
        values.append(np.asarray(entry["value"], leaf.dtype))  # on no device yet, as from a checkpoint
    return jax.tree_util.tree_unflatten(structure, values)
