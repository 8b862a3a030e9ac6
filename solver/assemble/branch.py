"""A run that goes on where another stood, with its time and forcing: `keep_time` of the initial field `run`."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import jax
import numpy as np

from solver.assemble.from_run import FromRun
from solver.assemble.registry import Registry
from solver.cluster import LOGGER, is_first, log_to
from solver.config import Config, ConfigError, Named, parse
from solver.equations.system import PeriodicSystem
from solver.io import read_manifest
from solver.steppers.base import State


def kept_start(config: Config) -> FromRun | None:
    """The start that gives the time of a run, too; None where time begins at 0.

    Raises:
        ConfigError: fields that go on from different times, or an end that is not later.
    """
    starts = [named for named in config.initial.values() if named.parameters.get("keep_time")]
    if not starts:
        return None
    places = {(named.parameters["path"], named.parameters["step"]) for named in starts}
    if len(starts) < len(config.initial) or len(places) > 1:
        raise ConfigError("initial: keep_time: every field from one run and step is needed")
    start: FromRun = starts[0].make()
    try:
        t = start.checkpoint().t
    except ValueError as error:
        raise ConfigError(f"initial.{error}") from None
    if not config.time.end > t:
        raise ConfigError(f"time.end = {config.time.end:g}: the run goes on from t = {t:g}; a later end is needed")
    return start


def with_time(state: State, equation: PeriodicSystem, config: Config, start: FromRun) -> State:
    """A state at the start of a run, with the time, the number of steps and the forcing of the run it goes on from.

    What the stepper carries, conserved quantities, energy budgets and sums of outputs begin anew. So does a forcing
    that has another name or other static parameters than there.
    """
    path = start.checkpoint(whole=True).path
    manifest = read_manifest(path)
    value = lambda name: np.asarray(manifest["values"][name]["value"], manifest["values"][name]["dtype"])[()]  # noqa: E731
    t, step = value("t"), value("step")
    forcing = _forcing_of(state, manifest, _same_forcings(equation, config, manifest, path.parent.parent))
    return state.replace(t=t, t_reference=t, step=step, step_reference=step, forcing=forcing)


def record_there(config: Config, start: FromRun) -> None:
    """Say in the other run's log where it goes on."""
    found = start.checkpoint()
    log = found.path.parent.parent / "log.txt"
    if not is_first():
        return
    try:
        with log_to(log):
            LOGGER.info("branch: %s goes on from %s, t = %.6g", config.directory, found.path, found.t)
    except OSError as error:
        LOGGER.warning("branch: %s cannot be written: %s", log, error)


def _same_forcings(equation: PeriodicSystem, config: Config, manifest: dict[str, Any], folder: Path) -> list[str]:
    """Fields whose forcing is of the same kind as there."""
    if not equation.forcings():
        return []
    try:
        before = parse(tomllib.loads(manifest["run_file"]), Registry(folder, copies_only=True))
        kinds = {name: _kind(named) for name, named in before.forcing.items()}
    except ConfigError as error:
        LOGGER.warning("forcing: begins anew, since that of the other run cannot be told: %s", error)
        return []
    return [name for name, named in config.forcing.items() if kinds.get(name) == _kind(named)]


def _kind(named: Named) -> tuple[str, dict[str, Any]]:
    """Name and static parameters: those decide what the state of a forcing means."""
    static = [field.name for field in dataclasses.fields(named.cls) if field.metadata.get("static")]
    return named.name, {key: named.parameters.get(key) for key in static}


def _forcing_of(state: State, manifest: dict[str, Any], fields: list[str]) -> dict[str, Any]:
    found = {}
    for name, begun in state.forcing.items():
        stored = _stored(f"forcing/{name}", begun, manifest) if name in fields else None
        found[name] = begun if stored is None else stored
        if jax.tree.leaves(begun):
            LOGGER.info("forcing: that of %s %s", name, "begins anew" if stored is None else "goes on")
    return found


def _stored(name: str, begun: Any, manifest: dict[str, Any]) -> Any:
    """A forcing's state as the checkpoint has it; None where that has other shapes, or fields at every point."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(begun)
    values = []
    for place, leaf in leaves:
        key = "/".join(part for part in (name, jax.tree_util.keystr(place, simple=True, separator="/")) if part)
        entry = manifest["values"].get(key)
        if entry is None or "key" in entry or np.shape(entry["value"]) != leaf.shape:
            return None
        values.append(jax.device_put(np.asarray(entry["value"], leaf.dtype), leaf.sharding))
    return jax.tree_util.tree_unflatten(structure, values)
