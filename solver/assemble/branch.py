"""`keep_time` of the initial field `run`: from which checkpoint a run goes on, and with which of its forcings."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from solver.assemble.registry import Registry
from solver.bodies.free import spins
from solver.cluster import LOGGER
from solver.config import Config, ConfigError, Named, parse
from solver.equations.system import PeriodicSystem
from solver.io import read_manifest
from solver.io.from_run import FromRun
from solver.simulation import with_time_of
from solver.steppers.state import State


def kept_start(config: Config) -> FromRun | None:
    """The initial field `run` from whose checkpoint the run takes its time, too; None for a run that starts at t = 0.

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

    A forcing begins anew if it has another name or other static parameters than in that run.
    """
    path = start.checkpoint().path  # whose files were compared when its fields were read
    manifest = read_manifest(path)
    folder = path.parent.parent
    forced = _same_forcings(equation, config, manifest, folder)
    return with_time_of(manifest, state, forced, _moved_centres(equation, config, manifest, folder))


def _same_forcings(equation: PeriodicSystem, config: Config, manifest: dict[str, Any], folder: Path) -> list[str]:
    """Fields whose forcing has the same name and static parameters as in the run that this one goes on from."""
    if not equation.forcings():
        return []
    try:
        before = parse(tomllib.loads(manifest["run_file"]), Registry(folder, copies_only=True))
        kinds = {name: _kind(named) for name, named in before.forcing.items()}
    except ConfigError as error:
        LOGGER.warning("forcing: begins anew, since the forcing of the other run cannot be read: %s", error)
        return []
    return [name for name, named in config.forcing.items() if kinds.get(name) == _kind(named)]


def _moved_centres(
    equation: PeriodicSystem, config: Config, manifest: dict[str, Any], folder: Path
) -> np.ndarray | None:
    """How far the centres of the bodies that the flow moves lie from those in the run that this one goes on from.

    Their places are counted from there. None if that run has not the same bodies, by name.
    """
    free = lambda bodies: {n: b.parameters["centre"] for n, b in bodies.items() if b.parameters.get("mass") is not None}  # noqa: E731
    now = free(config.bodies)
    if not now:
        return None
    try:
        before = free(parse(tomllib.loads(manifest["run_file"]), Registry(folder, copies_only=True)).bodies)
    except ConfigError as error:
        LOGGER.warning("body: the bodies of the other run cannot be read: %s", error)
        return None
    if before.keys() != now.keys():
        return None
    d = equation.grid.dimensions
    others = np.zeros(d + spins(d))  # velocity and spin
    return np.concatenate([np.append(np.subtract(before[name], now[name]), others) for name in sorted(now)])


def _kind(named: Named) -> tuple[str, dict[str, Any]]:
    """Name and static parameters of a forcing: they decide what its state means."""
    static = [field.name for field in dataclasses.fields(named.cls) if field.metadata.get("static")]
    return named.name, {key: named.parameters.get(key) for key in static}
