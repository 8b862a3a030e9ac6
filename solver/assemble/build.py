"""The objects that a resolved run file names, on devices or on an abstract mesh."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh
from jaxtyping import Array

from solver.assemble.branch import kept_start, with_time
from solver.assemble.devices import abstract_analysis_mesh, abstract_mesh, method_of
from solver.cluster import Group, processes_of
from solver.config import FROM_THE_RUN, Config, ConfigError, Named, seconds
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.passive_scalars import PassiveScalar
from solver.grid import Grid
from solver.initial.initial import Initial
from solver.io import RunDirectory
from solver.loop import MeetTolerance, StepControl, step_control
from solver.mesh import AnyMesh
from solver.operators import random_key
from solver.simulation import Limits, OutputList, Simulation
from solver.steppers.start import initial_state, state_shapes
from solver.steppers.state import State
from solver.steppers.stepper import Stepper
from solver.written import WrittenError


@dataclass(frozen=True)
class Assembly:
    """The objects that a resolved run file names, on a device mesh.

    Args:
        config: the run file.
        mesh: mesh of the devices that step.
        analyse: mesh of other devices, which carry out outputs; None without such devices.
    """

    config: Config
    mesh: AnyMesh
    analyse: AnyMesh | None = None

    @property
    def devices(self) -> list[jax.Device]:
        """All devices of the run: those that step first."""
        return [device for mesh in (self.mesh, self.analyse) if isinstance(mesh, Mesh) for device in mesh.devices.flat]

    @property
    def group(self) -> Group | None:
        """The processes that do the same as this one, `step` or `analyse`; None where all do, or there is only one."""
        if self.analyse is None or jax.process_count() == 1:
            return None
        groups = {"step": self.mesh, "analyse": self.analyse}
        made = [Group(name, processes_of(mesh)) for name, mesh in groups.items() if isinstance(mesh, Mesh)]
        return next(group for group in made if jax.process_index() in group.processes)

    def on_devices_that_analyse(self) -> Assembly:
        """The same objects on the mesh of the devices that carry out outputs."""
        assert self.analyse is not None
        return Assembly(self.config, self.analyse)

    @cached_property
    def grid(self) -> Grid:
        """The grid of `[grid]`, on the mesh."""
        section = self.config.grid
        return Grid(
            shape=section.shape,
            lengths=section.length_values,
            dealias=self.config.dealias,
            precision=section.precision,
            mesh=self.mesh,
            real=self.config.equation.cls.is_real(),
            walls=section.walls,
        )

    @cached_property
    def equation(self) -> AnyEquation:
        """The equation of `[equation]`, with its passive scalars, its forcings and its closure."""
        also: dict[str, Any] = {"method": method_of(self.config)}
        if self.config.forcing:
            also["forcing"] = {name: named.make() for name, named in self.config.forcing.items()}
        if self.config.scalars:
            also["scalars"] = self.scalars
        if self.config.closure is not None:
            also["closure"] = self.config.closure.make()
        if self.config.walls:
            also["walls"] = {name: section.to_table() for name, section in self.config.walls.items()}
        obstacles = {**self.config.bodies, **self.config.sponges}
        if obstacles:
            also["bodies"] = {name: named.make() for name, named in obstacles.items()}
        if self.config.particles:
            also["particles"] = {name: named.make() for name, named in self.config.particles.items()}
        equation: AnyEquation = self.config.equation.make(self.grid, **also)
        return equation

    @property
    def scalars(self) -> dict[str, PassiveScalar]:
        """The passive scalars of `[scalars]`."""
        made = {}
        for name, section in self.config.scalars.items():
            try:
                made[name] = PassiveScalar(**section.model_dump())
            except ValueError as error:
                raise ConfigError(f"scalars.{name}.{error}") from None
        return made

    @cached_property
    def stepper(self) -> Stepper:
        """The time stepper of `time.stepper`."""
        stepper: Stepper = self.config.stepper.make()
        return stepper

    @cached_property
    def initials(self) -> dict[str, Initial]:
        """The initial field of each of the equation's fields."""
        equation = self.equation.at_time(self.start_time)
        return {name: self.config.initial[name].make().for_equation(equation, name) for name in equation.fields}

    @property
    def start_time(self) -> float:
        """Time of the initial fields, where conditions at walls depend on it: 0, or when the run before stopped."""
        if self.equation.at_time(math.nan) is self.equation:
            return 0.0
        kept = kept_start(self.config)
        return 0.0 if kept is None else kept.checkpoint().t

    @cached_property
    def outputs(self) -> OutputList:
        """The outputs of `[output]`, checkpoints last."""
        return OutputList.of([named.make() for named in self.config.outputs.values()], self.config.known_outputs)

    @property
    def control(self) -> StepControl:
        """The step control of `[time]`."""
        return control_of(self.config)

    @property
    def limits(self) -> Limits:
        """The limits of `[time]` that end the run early."""
        time = self.config.time
        time_limit = None if time.wall_limit is None else seconds(time.wall_limit)
        return Limits(time_limit, time.stall_limit, time.energy_limit)

    @property
    def simulation(self) -> Simulation:
        """The run as one value."""
        config = self.config
        return Simulation(
            equation=self.equation,
            stepper=self.stepper,
            control=self.control,
            end=config.time.end,
            start=self.start,
            outputs=self.outputs,
            limits=self.limits,
            directory=RunDirectory(Path(config.directory)),
            title=config.title,
            run_file=config.to_toml(),
            analyse=self.analyse,
        )

    def initial_fields(self) -> dict[str, Array]:
        """Values at the points to start from, by field name."""
        declared = self.equation.fields
        return {
            name: start(self.grid, declared[name], self._key(position))
            for position, (name, start) in enumerate(self.initials.items())
        }

    def trace_initial_fields(self) -> None:
        """Trace each initial field that can be traced by itself, which refuses those that do not fit the grid."""
        declared = self.equation.fields
        for name, start in self.initials.items():
            if start.traceable:
                jax.eval_shape(lambda start=start, name=name: start(self.grid, declared[name], self._key(0)))

    def _key(self, position: int) -> Array:
        """The random key of the field at a position. Each field has its own, so that no two have the same noise."""
        key = random_key(self.config.random.seed)
        return jax.random.fold_in(key, position) if position else key

    def start(self) -> State:
        """State at the start of the run."""
        fields, seed = self.initial_fields(), self.config.random.seed
        state = initial_state(self.equation, self.stepper, fields, t=self.start_time, seed=seed)
        kept = kept_start(self.config)
        return state if kept is None else with_time(state, self.equation, self.config, kept)

    def state_shapes(self) -> State:
        """Shapes of the state at the start, with the sums of outputs; computes nothing."""
        shapes = state_shapes(self.equation, self.stepper, with_key=True)
        sums = jax.eval_shape(lambda: self.outputs.accumulators(self.equation))
        return shapes.with_statistics(sums, self.outputs.declared(self.equation, sums))


def control_of(config: Config) -> StepControl:
    """The step control of `[time]`."""
    time = config.time
    if time.of_fluctuations:
        return MeetTolerance(time.tolerance, time.max_step, of_fluctuations=True)
    return step_control(step=time.step, cfl=time.cfl, tolerance=time.tolerance, max_step=time.max_step)


def abstract_assembly(config: Config, devices: int) -> Assembly:
    """The run's objects on an abstract mesh: shapes only, no devices."""
    return Assembly(config, abstract_mesh(config, devices), abstract_analysis_mesh(config))


def dry_run(config: Config, devices: int, *, from_start: bool = True) -> State:
    """Go through the making of a run on an abstract mesh; returns the state's shapes. Touches no device.

    Args:
        config: a run file.
        devices: number of devices.
        from_start: False for a run that continues from a checkpoint and needs no initial field any more.

    Raises:
        ConfigError: whatever the grid, equation, initial field, stepper or outputs refuse; of a class from a user's
            file, whatever it raises, with file and class named.
    """
    own = [named for named in config.named if named.source is not None]
    try:
        return _trace(abstract_assembly(config, devices), config, from_start)
    except ConfigError:
        raise
    except WrittenError as error:  # of a text, whose place it shows
        raise ConfigError(f"equation: {error}") from error
    except (ValueError, TypeError) as error:
        raise ConfigError(_with_sources(str(error), config)) from error
    except Exception as error:
        if not own:
            raise
        raise ConfigError(_with_sources(f"{type(error).__name__}: {error}", config)) from error


def _trace(assembly: Assembly, config: Config, from_start: bool) -> State:
    for key, named in _acting(config):
        with _key_in_full(key, named):
            named.make()
    with _key_in_full("equation", config.equation):
        equation = assembly.equation
    equation.check()
    for name, start in config.initial.items():
        with _key_in_full(config.key_of("initial", name), start):
            start.make()
    for name, begun in assembly.initials.items() if from_start else ():
        with _key_in_full(config.key_of("initial", name), config.initial[name]):
            begun.check(equation, name)
    if from_start:
        kept_start(config)
    assembly.simulation.check()
    shapes = assembly.state_shapes()
    if from_start and all(start.traceable for start in assembly.initials.values()):
        return jax.eval_shape(assembly.start).replace(statistics=shapes.statistics, storage=shapes.storage)
    if from_start:
        assembly.trace_initial_fields()
    return shapes


def _acting(config: Config) -> Iterator[tuple[str, Named]]:
    """The forcings, the closure, bodies, sponges and particles, each with the key of its table."""
    yield from ((config.key_of("forcing", name), forced) for name, forced in config.forcing.items())
    if config.closure is not None:
        yield "closure", config.closure
    for section, obstacles in (("body", config.bodies), ("sponge", config.sponges)):
        yield from ((section if name == section else f"{section}.{name}", one) for name, one in obstacles.items())
    yield from ((f"particles.{name}", one) for name, one in config.particles.items())


@contextmanager
def _key_in_full(table: str, named: Named) -> Iterator[None]:
    """Add the table to an error message that starts with the name of a parameter: `equation.viscosity -1.0: …`."""
    try:
        yield
    except ValueError as error:
        first = str(error).partition(" ")[0].rstrip(":,")
        own = {"name", *(field.name for field in fields(named.cls))} - {*FROM_THE_RUN}
        if isinstance(error, ConfigError) or first not in own:
            raise
        raise ConfigError(
            f"{'' if named.source is None else f'{named.described}: '}{table}.{error}{named.looked_for}"
        ) from None


def _with_sources(text: str, config: Config) -> str:
    """An error message, with the user's classes that may have caused it in front."""
    own = dict.fromkeys(named.described for named in config.named if named.source is not None)
    return f"{', '.join(own)}: {' '.join(text.split())}" if own else text
