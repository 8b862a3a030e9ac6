"""From names in a run file to objects; the only place that knows them all.

Also derives the run file's schema from the equations, steppers and initial fields that exist, and rehearses a run
on an abstract mesh: everything that could refuse a run file does so before a device is touched.
"""

from __future__ import annotations

import functools
import math
import operator
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
from jax.sharding import AbstractMesh, AxisType
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.config import Config, ConfigError, Every, Length, Parameter, Schema, load
from solver.config.values import parameters_of
from solver.discovery import concrete_classes
from solver.equations import Equation, Field, PeriodicSystem, SplitEquation, Vector
from solver.fft import Method
from solver.forcing import Forcing
from solver.grid import Grid, Layout
from solver.initial import Initial
from solver.initial.base import as_tuples
from solver.io import describe_field, read_field
from solver.loop import Schedule
from solver.mesh import AnyMesh, mesh_axes
from solver.steppers import State, Stepper, initial_state


class FromFile(Initial):
    """Values read from datasets of an HDF5 file, at the same points; see `solver.io.read_field`.

    Args:
        path: of the file.
        datasets: names, one for each component, or one that holds all of them.

    Returns:
        When called: `(component, *grid.physical_shape)`; each device's block is read by itself.

    Raises:
        ValueError: when called: no such file or dataset, or values of another shape.
    """

    path: str = eqx.field(static=True)
    datasets: tuple[str, ...] = eqx.field(converter=as_tuples, static=True)

    name: ClassVar[str] = "file"
    ranks: ClassVar[tuple[str, ...]] = ("scalar", "vector", "wavefunction")

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        return read_field(self.path, self.datasets, grid)


EQUATIONS: dict[str, type[PeriodicSystem]] = concrete_classes("solver.equations", PeriodicSystem)
STEPPERS: dict[str, type[Stepper]] = concrete_classes("solver.steppers", Stepper)
FORCINGS: dict[str, type[Forcing]] = concrete_classes("solver.forcing", Forcing)
INITIALS: dict[str, type[Initial]] = {**concrete_classes("solver.initial", Initial), FromFile.name: FromFile}
NOT_IN_RUN_FILE = ("grid", "forcing")  # attributes of an equation that are made from other sections


def _key(config: Config, equation: PeriodicSystem, field: str) -> Array:
    """A random key for each field, so that two of them are not the same noise; that of the seed for the first."""
    key = jax.random.key(config.random.seed)
    position = list(equation.fields).index(field)
    return jax.random.fold_in(key, position) if position else key


def schema() -> Schema:
    """What a run file may say, for `config`."""
    return Schema(
        equations={name: _class_parameters(cls) for name, cls in EQUATIONS.items()},
        fields={name: tuple(cls.fields) for name, cls in EQUATIONS.items()},
        initials={name: _class_parameters(cls) for name, cls in INITIALS.items()},
        forcings={name: _class_parameters(cls) for name, cls in FORCINGS.items()},
        steppers=sorted(STEPPERS),
    )


def _class_parameters(cls: type) -> dict[str, Parameter]:
    """What `[equation]`, `[initial]` or `[forcing]` may set."""
    found = {name: parameter for name, parameter in parameters_of(cls).items() if name not in NOT_IN_RUN_FILE}
    return {name: Parameter(_in_run_file(p.type), p.default) for name, p in found.items()}


def _in_run_file(hint: Any) -> Any:
    """A parameter's type in a run file, where what Python takes as any number or array is a number."""
    known = {ArrayLike: float, ArrayLike | None: float | None, Vector | None: tuple[float, ...] | None}
    if hint in known:
        return known[hint]
    entries = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        return types.GenericAlias(tuple, (_in_run_file(entries[0]), ...))
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, [_in_run_file(entry) for entry in entries])
    return hint


def read_run_file(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """A run file with its overrides, resolved; every error names the file.

    Raises:
        ConfigError: see `config.load` and `resolve`.
    """
    config = load(path, schema(), overrides)
    try:
        return resolve(config)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def resolve(config: Config) -> Config:
    """The run file with what it left open filled in, and every part of it checked against every other.

    Raises:
        ConfigError: parts that do not go together; a missing input file; what this version cannot do yet.
    """
    equation = EQUATIONS[config.equation.name]
    _refuse_unavailable(config)
    lengths = config.grid.lengths or tuple(Length("2 pi") for _ in config.grid.shape)
    dealias = config.grid.dealias or ("none" if issubclass(equation, SplitEquation) else "two-thirds")
    config = replace(config, grid=replace(config.grid, lengths=lengths, dealias=dealias))
    _check_names(config, equation)
    mesh = config.devices.mesh
    rehearse(config, math.prod(mesh) if mesh else 1)
    return config


def _refuse_unavailable(config: Config) -> None:
    devices = config.devices
    if devices.mesh is not None and devices.decomposition != "pencil":
        raise ConfigError(f"devices.mesh = {list(devices.mesh)} fixes pencils: decomposition = 'pencil' is needed")
    if devices.mesh is not None and (len(devices.mesh) != 2 or min(devices.mesh) < 1):
        raise ConfigError(f"devices.mesh = {list(devices.mesh)}: two positive sides are needed, such as [4, 2]")
    if config.grid.dealias == "phase-shift":
        raise ConfigError(
            "grid.dealias = 'phase-shift': not available in this version; two-thirds, three-halves or none is needed"
        )


def _check_names(config: Config, equation: type[PeriodicSystem]) -> None:
    stepper = STEPPERS[config.time.stepper]
    if not issubclass(equation, stepper.takes):
        fit = ", ".join(sorted(name for name, cls in STEPPERS.items() if issubclass(equation, cls.takes)))
        raise ConfigError(f"time.stepper = {config.time.stepper!r}: {equation.name} is stepped by {fit}")
    if config.forcing and not issubclass(equation, Equation):
        raise ConfigError(f"forcing: {equation.name} has no place for one")
    for name, start in config.initial.items():
        path = _initial_path(config, name)
        rank = equation.fields[name].rank
        if rank not in INITIALS[start.name].ranks:
            fit = ", ".join(sorted(known for known, other in INITIALS.items() if rank in other.ranks))
            raise ConfigError(f"{path}.name = {start.name!r}: {name}, a {rank} of {equation.name}, starts from {fit}")
        if start.name == "file":
            _check_file(config, equation, name)


def _initial_path(config: Config, field: str) -> str:
    return "initial" if len(config.initial) == 1 else f"initial.{field}"


def _check_file(config: Config, equation: type[PeriodicSystem], field: str) -> None:
    parameters, path = config.initial[field].parameters, _initial_path(config, field)
    try:
        shape, is_complex = describe_field(parameters["path"], parameters["datasets"])
    except ValueError as error:
        raise ConfigError(f"{path}.path: {error}") from None
    real = equation.is_real()
    points = Layout(config.grid.shape, config.grid.dealias or "none", real).points
    components = len(equation.fields[field].component_names(field, len(points)))
    needed = [components, *points]
    if shape not in (tuple(needed), *([points] if components == 1 else [])) or (is_complex and real):
        kind = "complex" if is_complex else "real"
        raise ConfigError(
            f"{path}.datasets: the {kind} field in {parameters['path']} has shape {list(shape)}; "
            f"{'real' if real else 'real or complex'} values of shape {needed} are needed"
        )


def preferred_device_count(config: Config, cores: int, processes: int = 1) -> int:
    """Devices per process, at most one per core, that can split the grid; 1 if none. Even shares are preferred."""
    fitting = [n for n in range(1, cores + 1) if _fits(config, n * processes)]
    even = [n for n in fitting if _splits_evenly(config, n * processes)]
    return max(even or fitting, default=1)


def check_device_count(config: Config, devices: int) -> None:
    """Raises ConfigError where the grid cannot be split over so many devices; the message names what can."""
    try:
        Method(config.devices.engine).check(_layout(config, devices), _abstract_mesh(config, devices))
    except ValueError as error:
        raise ConfigError(f"grid.shape: {error}") from None


def _fits(config: Config, devices: int) -> bool:
    try:
        _layout(config, devices)
    except ValueError:
        return False
    return True


def _splits_evenly(config: Config, devices: int) -> bool:
    layout = _layout(config, devices)
    return layout.padded_points == layout.points


def _layout(config: Config, devices: int) -> Layout:
    real = EQUATIONS[config.equation.name].is_real()
    shape = mesh_shape(config, devices) or (devices, 1)
    return Layout(config.grid.shape, config.grid.dealias or "two-thirds", real, *shape)


def mesh_shape(config: Config, devices: int) -> tuple[int, int] | None:
    """Sides of the device mesh; None where it has one axis.

    Of pencils those that split the grid evenly are preferred, then those nearest to a square, then more slabs.

    Raises:
        ValueError: `devices.mesh` is not that many devices, or no two sides can split the grid.
    """
    section = config.devices
    if section.decomposition == "slab":
        return (devices, 1) if section.engine == "jaxdecomp" else None  # which expects two axes
    if section.mesh is not None:
        mesh_axes(devices, section.mesh)
        return section.mesh[0], section.mesh[1]
    real, dealias = EQUATIONS[config.equation.name].is_real(), config.grid.dealias or "two-thirds"
    whole = Layout(config.grid.shape, dealias, real)
    sides = [(p, devices // p) for p in range(1, devices + 1) if devices % p == 0]
    sides = [(p, c) for p, c in sides if p <= whole.most_slabs and c <= whole.most_columns]
    if not sides:
        raise ValueError(
            f"{devices} devices as pencils of the grid {list(whole.shape)}: a product of at most {whole.most_slabs} "
            f"slabs and at most {whole.most_columns} pencils in each is needed"
        )
    uneven = lambda side: whole.points[0] % side[0] + whole.points[1] % side[1] > 0  # noqa: E731
    return min(sides, key=lambda side: (uneven(side), abs(side[0] - side[1]), -side[0]))


def abstract_assembly(config: Config, devices: int) -> Assembly:
    """The objects of a run on a mesh of no particular devices: enough to trace with, not to compute."""
    return Assembly(config, _abstract_mesh(config, devices))


def _abstract_mesh(config: Config, devices: int) -> AbstractMesh:
    axes = mesh_axes(devices, mesh_shape(config, devices))
    return AbstractMesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def rehearse(config: Config, devices: int) -> State:
    """Go through the making of a run on an abstract mesh; returns the state's shapes. Touches no device.

    Raises:
        ConfigError: whatever the grid, equation, initial field or stepper refuse.
    """
    try:
        run = abstract_assembly(config, devices)
        run.equation.check()
        if any(start.name == "file" for start in config.initial.values()):
            return run.state_shapes()
        return jax.eval_shape(run.start)
    except (ValueError, TypeError) as error:
        raise ConfigError(str(error)) from error


@dataclass(frozen=True)
class Assembly:
    """The objects that a resolved run file names, on a device mesh."""

    config: Config
    mesh: AnyMesh

    @cached_property
    def grid(self) -> Grid:
        """The box."""
        section = self.config.grid
        return Grid(
            shape=section.shape,
            lengths=[length.value for length in section.lengths or ()],
            dealias=section.dealias or "two-thirds",
            precision=section.precision,
            real=EQUATIONS[self.config.equation.name].is_real(),
            mesh=self.mesh,
            engine=self.config.devices.engine,
        )

    @cached_property
    def equation(self) -> PeriodicSystem:
        """What is solved."""
        section = self.config.equation
        forcing = {name: FORCINGS[f.name](**f.parameters) for name, f in self.config.forcing.items()}
        also = {"forcing": forcing} if forcing else {}
        return EQUATIONS[section.name](self.grid, **section.parameters, **also)

    @cached_property
    def stepper(self) -> Stepper:
        """How."""
        return STEPPERS[self.config.time.stepper]()

    def initial_fields(self) -> dict[str, Array]:
        """Values at the points to start from, by field name."""
        return {name: self._initial_field(name) for name in self.equation.fields}

    def _initial_field(self, name: str) -> Array:
        start = self.config.initial[name]
        make = INITIALS[start.name](**start.parameters).for_equation(self.equation)
        return make(self.grid, self.equation.fields[name], _key(self.config, self.equation, name))

    def start(self) -> State:
        """State at the start of the run."""
        return self._state(self.initial_fields())

    def state_shapes(self) -> State:
        """Shapes of that state, as `load_checkpoint` needs them; computes nothing."""
        dtype = self.grid.physical_dtype
        points = {name: jax.ShapeDtypeStruct(s, dtype) for name, s in self.equation.physical_shapes().items()}
        return jax.eval_shape(self._state, points)

    def _state(self, u: dict[str, Array]) -> State:
        return initial_state(self.equation, self.stepper, u, seed=self.config.random.seed)

    def schedule(self, kind: str) -> Schedule | None:
        """When an output is due; None where it is not written."""
        every: Every | None = getattr(self.config.output, kind)
        return None if every is None else Schedule(every.every_steps, every.every_time)
