"""From names in a run file to objects; the only place that knows them all.

Also derives the run file's schema from the equations, steppers and initial fields that exist, and rehearses a run
on an abstract mesh: everything that could refuse a run file does so before a device is touched.
"""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
from jax.sharding import AbstractMesh, AxisType
from jaxtyping import Array

from solver import initial
from solver.config import REQUIRED, Config, ConfigError, Every, Length, Parameter, Schema
from solver.config.values import parameters_of
from solver.equations import (
    KuramotoSivashinsky,
    NavierStokes,
    PeriodicSystem,
    SchroedingerPoisson,
    SplitEquation,
)
from solver.fft import Method
from solver.grid import Grid, Layout
from solver.io import describe_field, read_field
from solver.loop import Schedule
from solver.mesh import AnyMesh, mesh_axes
from solver.steppers import ETDRK4, IFRK4, State, Stepper, Strang, initial_state

EQUATIONS: dict[str, type[PeriodicSystem]] = {
    cls.name: cls for cls in (NavierStokes, SchroedingerPoisson, KuramotoSivashinsky)
}
STEPPERS: dict[str, type[Stepper]] = {cls.name: cls for cls in (IFRK4, ETDRK4, Strang)}
ANY_KIND = ("velocity", "scalar", "wavefunction")


def _from_file(grid: Grid, path: str, datasets: Sequence[str]) -> Array:
    return read_field(path, datasets, grid)


@dataclass(frozen=True)
class InitialField:
    """A function that makes a field, and the kinds of equation it makes one for."""

    make: Callable[..., Array]
    kinds: tuple[str, ...]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Those that a run file may set; the others come from the rest of it."""
        hints = typing.get_type_hints(self.make)
        signature = inspect.signature(self.make).parameters
        return {
            name: Parameter(hints[name], REQUIRED if p.default is inspect.Parameter.empty else p.default)
            for name, p in signature.items()
            if name not in SUPPLIED
        }


SUPPLIED: dict[str, Callable[[Config, PeriodicSystem], Any]] = {
    "grid": lambda config, equation: equation.grid,
    "key": lambda config, equation: jax.random.key(config.random.seed),
    "components": lambda config, equation: len(equation.component_names),
    "solenoidal": lambda config, equation: equation.kind == "velocity",
    "coupling": lambda config, equation: getattr(equation, "coupling", 0.0),
}
INITIALS: dict[str, InitialField] = {
    "taylor-green": InitialField(initial.taylor_green, ("velocity",)),
    "beltrami": InitialField(initial.beltrami, ("velocity",)),
    "random-phase": InitialField(initial.random_phase, ANY_KIND),
    "plane-wave": InitialField(initial.plane_wave, ("wavefunction",)),
    "gaussian": InitialField(initial.gaussian, ("wavefunction",)),
    "solitons": InitialField(initial.solitons, ("wavefunction",)),
    "file": InitialField(_from_file, ANY_KIND),
}


def schema() -> Schema:
    """What a run file may say, for `config`."""
    equations = {name: {k: p for k, p in parameters_of(cls).items() if k != "grid"} for name, cls in EQUATIONS.items()}
    return Schema(equations, {name: field.parameters for name, field in INITIALS.items()}, sorted(STEPPERS))


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
    field = INITIALS[config.initial.name]
    if equation.kind not in field.kinds:
        fit = ", ".join(sorted(name for name, other in INITIALS.items() if equation.kind in other.kinds))
        raise ConfigError(f"initial.name = {config.initial.name!r}: {equation.name} starts from {fit}")
    if config.initial.name == "file":
        _check_file(config, equation)


def _check_file(config: Config, equation: type[PeriodicSystem]) -> None:
    parameters = config.initial.parameters
    try:
        shape, is_complex = describe_field(parameters["path"], parameters["datasets"])
    except ValueError as error:
        raise ConfigError(f"initial.path: {error}") from None
    points = Layout(config.grid.shape, config.grid.dealias or "none", equation.real).points
    if shape[len(shape) - len(points) :] != points or (is_complex and equation.real):
        kind = "complex" if is_complex else "real"
        raise ConfigError(
            f"initial.datasets: the {kind} field in {parameters['path']} has shape {list(shape)}; "
            f"{'real' if equation.real else 'real or complex'} values on {list(points)} points are needed"
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
    real = EQUATIONS[config.equation.name].real
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
    real, dealias = EQUATIONS[config.equation.name].real, config.grid.dealias or "two-thirds"
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
        if config.initial.name == "file":
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
            real=EQUATIONS[self.config.equation.name].real,
            mesh=self.mesh,
            engine=self.config.devices.engine,
        )

    @cached_property
    def equation(self) -> PeriodicSystem:
        """What is solved."""
        section = self.config.equation
        return EQUATIONS[section.name](self.grid, **section.parameters)

    @cached_property
    def stepper(self) -> Stepper:
        """How."""
        return STEPPERS[self.config.time.stepper]()

    def initial_field(self) -> Array:
        """Values at the points to start from."""
        field = INITIALS[self.config.initial.name]
        wanted = inspect.signature(field.make).parameters
        supplied = {name: give(self.config, self.equation) for name, give in SUPPLIED.items() if name in wanted}
        return field.make(**supplied, **self.config.initial.parameters)

    def start(self) -> State:
        """State at the start of the run."""
        return self._state(self.initial_field())

    def state_shapes(self) -> State:
        """Shapes of that state, as `load_checkpoint` needs them; computes nothing."""
        points = jax.ShapeDtypeStruct(self.equation.field_shape, self.grid.physical_dtype)
        return jax.eval_shape(self._state, points)

    def _state(self, u: Array) -> State:
        return initial_state(self.equation, self.stepper, u, seed=self.config.random.seed)

    def schedule(self, kind: str) -> Schedule | None:
        """When an output is due; None where it is not written."""
        every: Every | None = getattr(self.config.output, kind)
        return None if every is None else Schedule(every.every_steps, every.every_time)
