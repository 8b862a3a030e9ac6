"""Reading a run file, and checking every part of it against every other, before a device is touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from solver.assemble.devices import smallest_count
from solver.assemble.objects import dry_run
from solver.assemble.registry import Registry
from solver.config import Config, ConfigError, Schema, load, read_toml
from solver.equations.base import Equation


def schema(folder: Path | str = ".") -> Schema:
    """The classes that a run file in this folder may name, for `solver.config.load`."""
    return Registry(Path(folder))


def read_run_file(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """A run file with its overrides, checked; every error names the file.

    Raises:
        ConfigError: see `config.load` and `resolve`; the run file of a run that a Python script made.
    """
    path = Path(path)
    script = read_toml(path).get("script")
    if script is not None:
        raise ConfigError(f"{path}: a Python script made this run: {script}; that script continues it (resume=True)")
    config = load(path, schema(path.parent), overrides)
    try:
        return resolve(config)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def resolve(config: Config) -> Config:
    """The same run file, once every part of it has been checked against every other.

    Raises:
        ConfigError: parts that do not go together, or a missing input file.
    """
    _check_names(config)
    dry_run(config, smallest_count(config))
    return config


def _check_names(config: Config) -> None:
    equation, stepper = config.equation.cls, config.stepper.cls
    registry = Registry()
    if not issubclass(equation, stepper.takes):
        steppers = {name: registry.find("stepper", name).cls for name in registry.names("stepper")}
        fit = ", ".join(name for name, cls in steppers.items() if issubclass(equation, cls.takes))
        raise ConfigError(f"time.stepper = {config.stepper.name!r}: {config.equation.name} is stepped by {fit}")
    if config.forcing and not issubclass(equation, Equation):
        raise ConfigError(f"forcing: {config.equation.name} has no place for one")
    for name, start in config.initial.items():
        rank = equation.fields[name].rank
        if rank not in start.cls.ranks:
            known = {other: registry.find("initial", other).cls for other in registry.names("initial")}
            fit = ", ".join(other for other, cls in known.items() if rank in cls.ranks)
            path = "initial" if len(config.initial) == 1 else f"initial.{name}"
            raise ConfigError(
                f"{path}.name = {start.name!r}: {name}, a {rank} of {config.equation.name}, starts from {fit}"
            )
