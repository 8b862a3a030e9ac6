"""Whether the parts of a run file go together, checked before a device is touched."""

from __future__ import annotations

from solver.assemble.build import control_of, dry_run
from solver.assemble.devices import check_groups, smallest_count
from solver.assemble.registry import Registry
from solver.config import Config, ConfigError
from solver.equations.base import Equation
from solver.equations.field import fields_of
from solver.loop import check_end


def resolve(config: Config, *, from_start: bool = True) -> Config:
    """The same run file, once every part of it has been checked against every other.

    Of an ensemble the first member is, and one for each value that bounds those of the others.

    Raises:
        ConfigError: parts that do not go together, or a missing input file.
    """
    for said, bound in config.bounds.items():
        try:
            resolve(bound, from_start=from_start)
        except ConfigError as error:
            raise ConfigError(f"ensemble, with {said}: {error}") from None
    _check_names(config)
    _check_intervals(config)
    check_groups(config)
    dry_run(config, smallest_count(config), from_start=from_start)
    return config


def _check_intervals(config: Config) -> None:
    time, step = config.time, config.time.step
    try:
        control = control_of(config)
        check_end(time.end, control)
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
        fit = ", ".join(registry.steppers_of(config.equation.entry))
        raise ConfigError(f"time.stepper = {config.stepper.name!r}: {config.equation.name} is stepped by {fit}")
    if config.forcing and not issubclass(equation, Equation):
        raise ConfigError(f"forcing: {config.equation.name} has no place for one")
    for name, start in config.initial.items():
        rank = fields[name].rank
        if not hasattr(start.cls, "ranks"):
            raise ConfigError(f"{start.described}: a class attribute `ranks` is needed, such as ('scalar',)")
        if rank not in start.cls.ranks:
            fit = ", ".join(registry.initials_of(rank))
            raise ConfigError(
                f"{config.key_of('initial', name)}.name = {start.name!r}: {name}, a {rank} of {config.equation.name}, "
                f"starts from {fit}"
            )
