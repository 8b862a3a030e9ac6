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
from pathlib import Path
from typing import Any

import jax
from jax.sharding import AbstractMesh, AxisType
from jax.typing import ArrayLike
from jaxtyping import Array

from solver import initial
from solver.config import REQUIRED, Config, ConfigError, Every, Length, Parameter, Schema, load
from solver.config.values import parameters_of
from solver.equations import (
    MHD,
    Boussinesq,
    Equation,
    GrayScott,
    KuramotoSivashinsky,
    NavierStokes,
    PeriodicSystem,
    SchroedingerPoisson,
    SplitEquation,
    Vector,
)
from solver.fft import Method
from solver.forcing import ConstantPower, Forcing, OrnsteinUhlenbeck
from solver.grid import Grid, Layout
from solver.io import describe_field, read_field
from solver.loop import Schedule
from solver.mesh import AnyMesh, mesh_axes
from solver.steppers import (
    CNAB2,
    ETDRK2,
    ETDRK3,
    ETDRK4,
    IFRK2,
    IFRK3,
    IFRK4,
    LSRK3,
    SBDF2,
    State,
    Stepper,
    Strang,
    initial_state,
)

EQUATIONS: dict[str, type[PeriodicSystem]] = {
    cls.name: cls for cls in (NavierStokes, SchroedingerPoisson, KuramotoSivashinsky, Boussinesq, MHD, GrayScott)
}
STEPPERS: dict[str, type[Stepper]] = {
    cls.name: cls for cls in (IFRK2, IFRK3, IFRK4, LSRK3, ETDRK2, ETDRK3, ETDRK4, CNAB2, SBDF2, Strang)
}
IN_RUN_FILE: dict[Any, Any] = {ArrayLike: float, Vector | None: tuple[float, ...] | None}
FORCINGS: dict[str, type[Forcing]] = {cls.name: cls for cls in (ConstantPower, OrnsteinUhlenbeck)}
ANY_RANK = ("vector", "scalar", "wavefunction")


def _from_file(grid: Grid, path: str, datasets: Sequence[str]) -> Array:
    return read_field(path, datasets, grid)


@dataclass(frozen=True)
class InitialField:
    """A function that makes a field, and the ranks of the fields it makes."""

    make: Callable[..., Array]
    ranks: tuple[str, ...]

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


SUPPLIED: dict[str, Callable[[Config, PeriodicSystem, str], Any]] = {
    "grid": lambda config, equation, field: equation.grid,
    "key": lambda config, equation, field: _key(config, equation, field),
    "components": lambda config, equation, field: len(equation.component_names(field)),
    "solenoidal": lambda config, equation, field: equation.fields[field].solenoidal,
    "coupling": lambda config, equation, field: getattr(equation, "coupling", 0.0),
}
INITIALS: dict[str, InitialField] = {
    "taylor-green": InitialField(initial.taylor_green, ("vector",)),
    "beltrami": InitialField(initial.beltrami, ("vector",)),
    "orszag-tang": InitialField(initial.orszag_tang, ("vector",)),
    "random-phase": InitialField(initial.random_phase, ANY_RANK),
    "uniform": InitialField(initial.uniform, ANY_RANK),
    "bump": InitialField(initial.bump, ("scalar",)),
    "plane-wave": InitialField(initial.plane_wave, ("wavefunction",)),
    "gaussian": InitialField(initial.gaussian, ("wavefunction",)),
    "solitons": InitialField(initial.solitons, ("wavefunction",)),
    "file": InitialField(_from_file, ANY_RANK),
}


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
        initials={name: field.parameters for name, field in INITIALS.items()},
        forcings={name: _class_parameters(cls) for name, cls in FORCINGS.items()},
        steppers=sorted(STEPPERS),
    )


def _class_parameters(cls: type) -> dict[str, Parameter]:
    """What `[equation]` or `[forcing]` may set; what Python takes as any number or array is a number in a run file."""
    found = {
        name: parameter for name, parameter in parameters_of(cls).items() if name not in ("grid", "forcing", "method")
    }
    return {name: Parameter(IN_RUN_FILE.get(p.type, p.type), p.default) for name, p in found.items()}


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
        )

    @cached_property
    def equation(self) -> PeriodicSystem:
        """What is solved."""
        section = self.config.equation
        forcing = {name: FORCINGS[f.name](**f.parameters) for name, f in self.config.forcing.items()}
        also: dict[str, Any] = {"forcing": forcing} if forcing else {}
        if self.config.devices.engine != Method().engine:
            also["method"] = Method(self.config.devices.engine)
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
        make = INITIALS[start.name].make
        wanted = inspect.signature(make).parameters
        supplied = {k: give(self.config, self.equation, name) for k, give in SUPPLIED.items() if k in wanted}
        return make(**supplied, **start.parameters)

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
