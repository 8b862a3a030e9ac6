"""Reading a run file, and checking every part of it against every other, before a device is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from solver.assemble.devices import smallest_count
from solver.assemble.objects import dry_run
from solver.assemble.registry import Registry
from solver.config import Config, ConfigError, Schema, load
from solver.equations.base import Equation
from solver.equations.field import fields_of
from solver.loop import Control


def schema(folder: Path | str = ".", *, copies_only: bool = False) -> Schema:
    """The classes that a run file in this folder may name, for `solver.config.load`; see `Registry`."""
    return Registry(Path(folder), copies_only)


def read_run_file(
    path: str | Path,
    overrides: Sequence[str] = (),
    *,
    continues: Callable[[Config], bool] = lambda config: False,
    copies_only: bool = False,
) -> Config:
    """A run file with its overrides, checked; every error names the file.

    Args:
        path: the file.
        overrides: `section.key=value`.
        continues: whether the run that a run file means goes on from a checkpoint: files that it started from may be
            gone then.
        copies_only: import no Python but the copies that the run in the file's folder made.

    Raises:
        ConfigError: see `config.load` and `resolve`.
    """
    path = Path(path)
    config = parse_run_file(path, overrides, copies_only=copies_only)
    try:
        return resolve(config, from_start=not continues(config))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse_run_file(path: Path, overrides: Sequence[str] = (), *, copies_only: bool = False) -> Config:
    """A run file with its overrides; its parts are not checked against each other.

    Raises:
        ConfigError: see `config.load`.
    """
    return load(path, schema(path.parent, copies_only=copies_only), overrides)


def resolve(config: Config, *, from_start: bool = True) -> Config:
    """The same run file, once every part of it has been checked against every other.

    Raises:
        ConfigError: parts that do not go together, or a missing input file.
    """
    _check_names(config)
    _check_intervals(config)
    dry_run(config, smallest_count(config), from_start=from_start)
    return config


def _check_intervals(config: Config) -> None:
    time, step = config.time, config.time.step
    try:
        control = Control(time.end, step, time.cfl, time.tolerance, time.max_step)
    except ValueError as error:
        raise ConfigError(f"time: {error}") from None
    try:
        control.check(config.stepper.make())
    except TypeError as error:
        raise ConfigError(f"time.tolerance = {time.tolerance}: {error}") from None
    for name, output in config.outputs.items():
        schedule = output.make().schedule
        if not schedule.suits(step):
            every = schedule.every_time
            raise ConfigError(f"output.{name}.every_time = {every}: at least a thousandth of time.step is needed")


def _check_names(config: Config) -> None:
    equation, stepper = config.equation.cls, config.stepper.cls
    fields = fields_of(equation, config.equation.parameters)
    registry = Registry()
    if not issubclass(equation, stepper.takes):
        fit = ", ".join(registry.steppers_of(equation))
        raise ConfigError(f"time.stepper = {config.stepper.name!r}: {config.equation.name} is stepped by {fit}")
    if config.forcing and not issubclass(equation, Equation):
        raise ConfigError(f"forcing: {config.equation.name} has no place for one")
    for name, start in config.initial.items():
        rank = fields[name].rank
        if rank not in start.cls.ranks:
            fit = ", ".join(registry.initials_of(rank))
            raise ConfigError(
                f"{config.key_of('initial', name)}.name = {start.name!r}: {name}, a {rank} of {config.equation.name}, "
                f"starts from {fit}"
            )
