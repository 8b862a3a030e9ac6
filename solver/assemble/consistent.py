"""Checks of a run file's parts against each other, before a device is touched."""

from __future__ import annotations

from typing import Any

from solver.assemble.build import abstract_assembly, control_of, dry_run
from solver.assemble.data_sets import check_data_set, draws_to_check
from solver.assemble.devices import check_groups, smallest_count
from solver.assemble.number_range import check_range
from solver.assemble.registry import Registry
from solver.config import Config, ConfigError
from solver.dynamics.equation import Equation
from solver.loop import check_end, signature
from solver.spaces.field import fields_of


def resolve(config: Config, *, from_start: bool = True) -> Config:
    """The same run file, once every part of it has been checked against every other.

    Of an ensemble the first member is, and one for each value that bounds the others' values.

    Raises:
        ConfigError: parts that do not go together, or a missing input file.
    """
    check_data_set(config)
    for said, bound in (*config.bounds.items(), *draws_to_check(config)):
        try:
            resolve(bound, from_start=from_start)
        except ConfigError as error:
            raise ConfigError(f"ensemble, with {said}: {error}") from None
    _check_names(config)
    _check_intervals(config)
    check_range(config)
    check_groups(config)
    dry_run(config, smallest_count(config), from_start=from_start)
    if config.ensemble is not None and config.ensemble.together not in (1, "auto"):
        _check_together(config, config.ensemble.together)
    return config


def _check_together(config: Config, together: int | str) -> None:
    """Refuse values that keep members from being stepped by one program, where `together` is a number."""
    if config.devices.engine != "slabwave":
        raise ConfigError(f"ensemble.together = {together}: devices.engine = 'slabwave' is needed, or together = 1")
    kinds: dict[str, Any] = {}
    for said, bound in config.bounds.items():
        kind = _kind(bound)
        if kinds.setdefault(said.partition(" = ")[0], kind) != kind:  # of the values of one key
            raise ConfigError(
                f"ensemble.together = {together}: {said} changes shapes or formulas, and members that one program "
                "steps may differ in numbers alone; 1 or 'auto' is needed"
            )


def _kind(config: Config) -> Any:
    run = abstract_assembly(config, smallest_count(config))
    return signature((run.equation, run.stepper, run.control))


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
    if (config.bodies or config.sponges) and not issubclass(equation, Equation):
        section = "body" if config.bodies else "sponge"
        raise ConfigError(f"{section}: {config.equation.name} has no velocity that it could act on")
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
