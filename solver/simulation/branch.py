"""First state of a branch, a run that continues another one: time and forcings come from the other's checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from solver.cluster import LOGGER, is_first, log_to
from solver.mesh import whole_on_each
from solver.steppers.state import State


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
