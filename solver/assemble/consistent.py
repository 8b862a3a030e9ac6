"""Checks of a run file's parts against each other, before a device is touched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from solver.assemble.build import abstract_assembly, control_of, dry_run
from solver.assemble.devices import check_groups, smallest_count
from solver.assemble.registry import Registry
from solver.config import Config, ConfigError, Named
from solver.config.ensemble import MOST_AGAIN, Draw
from solver.config.toml import keys_of
from solver.dynamics.equation import Equation
from solver.io import RunDirectory
from solver.loop import check_end, signature
from solver.spaces.field import fields_of

OF_ALL = (("time", "end"), ("output", "well"), ("grid",), ("equation", "name"), ("equation", "fields"))
FREE = (("grid", "precision"),)  # files are in single precision


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
    fields = fields_of(equation, config.equation.parameters, config.units_of_scalars)
    registry = Registry()
    if not issubclass(equation, stepper.takes):
        fit = ", ".join(registry.steppers_of(config.equation.entry))
        raise ConfigError(f"time.stepper = {config.stepper.name!r}: {config.equation.name} is stepped by {fit}")
    if (config.bodies or config.sponges) and not issubclass(equation, Equation):
        section = "body" if config.bodies else "sponge"
        raise ConfigError(f"{section}: {config.equation.name} has no velocity that it could act on")
    for section in ("particles", "scalars"):
        if getattr(config, section) and not issubclass(equation, Equation):
            raise ConfigError(f"{section}: {config.equation.name} has no velocity that carries them")
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


def check_range(config: Config) -> None:
    """Refuse numbers of the physics that single precision makes infinite or zero: another problem would be solved.

    Raises:
        ConfigError: the message names the key and the value.
    """
    if config.grid.precision != "float32":
        return
    least, most = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    for place, named in _physics(config):
        for key, value in _numbers(named.parameters, place):
            if value and math.isfinite(value) and not least <= abs(value) <= most:
                raise ConfigError(
                    f"{key} = {value!r}: grid.precision = 'float32' holds numbers from {least:.2g} to {most:.2g}; "
                    "'float64' is needed, or other units"
                )


def _physics(config: Config) -> Iterator[tuple[str, Named]]:
    yield "equation", config.equation
    for section, of in (("initial", config.initial), ("forcing", config.forcing)):
        for field, named in of.items():
            yield config.key_of(section, field), named
    for section, of in (("body", config.bodies), ("sponge", config.sponges)):
        for name, named in of.items():
            yield section if name == section else f"{section}.{name}", named


def _numbers(given: Any, key: str) -> Iterator[tuple[str, float]]:
    """The numbers of a table with their keys, numbers of a list under the key of the list."""
    if isinstance(given, Mapping):
        for name, value in given.items():
            yield from _numbers(value, f"{key}.{name}")
    elif isinstance(given, list | tuple):
        for value in given:
            yield from _numbers(value, key)
    elif isinstance(given, float):
        yield key, given


def check_data_set(config: Config) -> None:
    """Raises ConfigError if members with `[output.well]` differ in what all members of a data set share."""
    if config.ensemble is None or "well" not in config.outputs:
        return
    for key in (*config.ensemble.draw, *config.ensemble.sweep):
        keys = keys_of(key)
        if any(keys[: len(of_all)] == of_all for of_all in OF_ALL) and keys not in FREE:
            raise ConfigError(
                f"output.well: members differ in {key!r}; the same times, points and fields in all members are needed, "
                "so one value"
            )


def draws_to_check(config: Config) -> Iterator[tuple[str, Config]]:
    """Members as they would be if they blew up and were drawn again, where no bound of the draw holds for all.

    Only of a normal distribution: the smallest and the largest value among all that can be drawn.

    Yields:
        What the member has of its own, and its run file.
    """
    if config.ensemble is None or config.member is None or "well" not in config.outputs:
        return
    table, again = config.to_table(), range(1, MOST_AGAIN + 1)
    for key, draw in config.ensemble.draw.items():
        if isinstance(draw, Draw) and draw.normal is not None:
            drawn = [(n, config.ensemble.drawn_again({n: k})) for n in range(len(config.members)) for k in again]
            values = [of.values(n, table)[key] for n, of in drawn]
            for place in {values.index(min(values)), values.index(max(values))}:
                number, of = drawn[place]
                yield f"{key} = {values[place]!r}", config.member(of, number)


def refuse_data_set_of_one(config: Config, path: Path) -> None:
    """Raises ConfigError if a run file with `[output.well]` has no `[ensemble]`, and is not a member's run file."""
    begun = RunDirectory(path.parent)
    is_run = path.name == begun.run_file.name and begun.provenance.exists()
    if config.ensemble is None and "well" in config.outputs and not is_run:
        raise ConfigError("output.well: a data set is made of the members of an ensemble; [ensemble] is needed")
