"""`keep_time` of the initial field `run`: from which checkpoint a run continues, and with which of its forcings."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from solver.assemble.registry import Registry
from solver.bodies.free import Round, spins
from solver.cluster import LOGGER
from solver.config import Config, ConfigError, Named, parse
from solver.dynamics.acting_bodies import MOTION
from solver.dynamics.any_equation import AnyEquation
from solver.grid import Storage
from solver.io import load_array, read_manifest
from solver.io.from_run import FromRun
from solver.simulation import with_time_of
from solver.simulation.first_state import warn_of_other_exchanges
from solver.steppers.state import State


def kept_start(config: Config) -> FromRun | None:
    """The initial field `run` from whose checkpoint the run takes its time, too; None for a run that starts at t = 0.

    Passive scalars that the other run does not have start from their own fields.

    Raises:
        ConfigError: fields that continue from different times, or an end that is not later.
    """
    starts = [named for named in config.initial.values() if named.parameters.get("keep_time")]
    if not starts:
        return None
    places = {(named.parameters["path"], named.parameters["step"]) for named in starts}
    added = [name for name, named in config.initial.items() if not named.parameters.get("keep_time")]
    if not config.scalars.keys() >= set(added) or len(places) > 1:
        raise ConfigError("initial: keep_time: every field but new passive scalars from one run and step is needed")
    start: FromRun = starts[0].make()
    try:
        source = start.checkpoint()
    except ValueError as error:
        raise ConfigError(f"initial.{error}") from None
    known = read_manifest(source.path)["arrays"]
    if both := [name for name in added if f"field/{name}" in known]:
        raise ConfigError(f"initial.{both[0]}: the other run has {both[0]}, which continues; only a new scalar starts")
    t = source.t
    if not config.time.end > t:
        raise ConfigError(f"time.end = {config.time.end:g}: the run continues from t = {t:g}; a later end is needed")
    return start


def with_time(state: State, equation: AnyEquation, config: Config, start: FromRun) -> State:
    """A state at the start of a run, with the time, the number of steps and the forcing of the run it continues.

    A forcing begins anew if it has another name or other static parameters than in that run, a companion if its numbers
    there have another shape, or are of other bodies.
    """
    path = start.checkpoint().path  # whose files were compared when its fields were read
    manifest = read_manifest(path)
    warn_of_other_exchanges(path.name, manifest, equation.exchange_rounding)
    before = _config_of(manifest, path.parent.parent) if equation.forcings() or _free(config) else None
    split = {name: how for name, how in equation.companion_storage().items() if how.is_split}
    whole = equation.companions_by_name().keys() - split.keys()
    added = {name: _added(name, state.field[name].shape, manifest, config, before) for name in sorted(whole)}
    carried = {name: _carried(name, how, state, manifest, path, equation) for name, how in split.items()}
    known = {name: y for name, y in carried.items() if y is not None}
    return with_time_of(manifest, state, _same_forcings(config, before), added, known)


def _carried(name: str, how: Storage, state: State, manifest: dict[str, Any], path: Path, equation: AnyEquation) -> Any:
    """Numbers of a companion that is split over the devices, as a checkpoint has them; None if it begins anew."""
    entry, begun = manifest["arrays"].get(f"field/{name}"), state.field[name]
    if entry is None or tuple(entry["shape"]) != how.logical_shape(begun.shape, equation.grid):
        LOGGER.warning("%s begins anew, since the other run has not the same", name)
        return None
    return load_array(path, entry, how, equation.grid).astype(begun.dtype)


def _config_of(manifest: dict[str, Any], folder: Path) -> Config | None:
    """The run file of the run that this one continues; None if it cannot be read, which is logged."""
    try:
        return parse(tomllib.loads(manifest["run_file"]), Registry(folder, copies_only=True))
    except ConfigError as error:
        LOGGER.warning("forcings and free bodies begin anew, since the other run's file cannot be read: %s", error)
        return None


def _same_forcings(config: Config, before: Config | None) -> list[str]:
    """Fields whose forcing has the same name and static parameters as in the run that this one continues."""
    kinds = {} if before is None else {name: _kind(named) for name, named in before.forcing.items()}
    return [name for name, named in config.forcing.items() if kinds.get(name) == _kind(named)]


def _added(
    name: str, shape: tuple[int, ...], manifest: dict[str, Any], config: Config, before: Config | None
) -> np.ndarray | None:
    """Numbers to add to a companion's numbers in a checkpoint; None, which is logged, if it begins anew."""
    if name == MOTION:
        found = _moved_centres(config, before)
        if found is None:
            LOGGER.warning("body: free bodies begin at their centres, since the other run has not the same ones")
        return found
    entry = manifest["values"].get(f"field/{name}")
    if entry is None or np.shape(entry["value"]) != shape:
        LOGGER.warning("%s begins anew, since the other run has not the same", name)
        return None
    return np.zeros(shape)


def _moved_centres(config: Config, before: Config | None) -> np.ndarray | None:
    """Displacement of the free bodies' centres from the centres in the run that this one continues.

    Their places are counted from there. None if that run has not the same bodies, by name.
    """
    now, then = _free(config), {} if before is None else _free(before)
    if not now or now.keys() != then.keys():
        return None
    shifts = [np.subtract(then[name], now[name]) for name in sorted(now)]
    return np.concatenate([np.append(shift, np.zeros(len(shift) + spins(len(shift)))) for shift in shifts])


def _free(config: Config) -> dict[str, Any]:
    """The centres of the bodies that the flow moves, by name."""
    round_ones = {name: named.parameters for name, named in config.bodies.items() if issubclass(named.cls, Round)}
    return {name: given["centre"] for name, given in round_ones.items() if given.get("mass") is not None}


def _kind(named: Named) -> tuple[str, dict[str, Any]]:
    """Name and static parameters of a forcing: they decide what its state means."""
    static = [field.name for field in dataclasses.fields(named.cls) if field.metadata.get("static")]
    return named.name, {key: named.parameters.get(key) for key in static}
