"""particles/NAME.h5: where the particles of a run are against time, and the flow there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.cluster import is_first
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import Changes
from solver.dynamics.compiled import compiled
from solver.io import Axis, Column, RecordsLayout, Row, Rows, RunDirectory, make_folder, write_particles_vtkhdf
from solver.operators import Fields
from solver.outputs.output import Output, Run
from solver.outputs.records import bytes_of_row, check_continues
from solver.particles.flow import ACCELERATION, GRADIENT, FlowSource
from solver.particles.particles import POSITION, TURNS, particles_of
from solver.pictures import Recorded, View, save
from solver.pictures.particles import tracks_figure
from solver.steppers.state import State

DIRECTIONS = "x, y, z"
FLUID = "fluid_"  # in front of a quantity of the flow that the particles have one of their own of


@dataclass(frozen=True)
class ParticleTracks(Output):
    """Positions of particles, the numbers that they hold, and the flow there: particles/NAME.h5 for each name.

    Positions are `(t, particle, direction)`, unwrapped: a particle that has left the box on one side is beyond it.
    Each row is gathered to the first process.

    Args:
        record: quantities of the flow at the particles: names of fields, `velocity`, `vorticity`, `acceleration` (Du/Dt
            of the fluid), `gradient`; a quantity that the particles have of their own is called `fluid_velocity`.
        paraview: True for particles/NAME.hdf, too: all rows in single precision, with positions put back into the box,
            as points in time for ParaView 5.12 and later. It is written anew at each checkpoint.
    """

    record: tuple[str, ...] = ()
    paraview: bool = False

    name: ClassVar[str] = "particles"

    def check(self, equation: AnyEquation) -> None:
        super().check(equation)
        if not particles_of(equation):
            raise ValueError("output particles: the run has no particles; a section [particles.NAME] is needed")
        for name in particles_of(equation):
            try:
                _shapes(self, equation, name)
            except ValueError as error:
                raise ValueError(f"output particles, of {name}: {error}") from None

    def layout(self, equation: AnyEquation, name: str, shapes: Mapping[str, Any] | None = None) -> RecordsLayout:
        """Axes and columns of the rows of the particles of a name; touches no device.

        Args:
            equation, name: equation and name of the particles.
            shapes: recorded arrays by column, or their shapes, where they are known; else they are traced.
        """
        particles, d = particles_of(equation)[name], equation.grid.dimensions
        axes = {
            "particle": Axis(np.arange(particles.number()), long_name="number of the particle"),
            "direction": Axis(np.arange(d), long_name=DIRECTIONS[: 3 * d - 2]),
        }
        columns = {POSITION: Column(("particle", "direction"), "length", "position, unwrapped")}
        for key, shape in (_shapes(self, equation, name) if shapes is None else shapes).items():
            if key != POSITION:
                columns[key] = Column(_axes(shape.shape, d, axes), "", f"{key.replace('_', ' ')} of each particle")
        return RecordsLayout(axes, columns)

    def bytes_of_state(self, equation: AnyEquation, state: State) -> int:
        return sum(bytes_of_row(self.layout(equation, name)) for name in particles_of(equation))

    def programs(self, equation: AnyEquation, state: State) -> dict[str, Any]:
        return {
            f"{self.name} {name}": _values.trace(self, equation, name, state.field, state.t, _forces(state))
            for name in particles_of(equation)
        }

    def write(self, run: Run, state: State) -> None:
        for name, particles in particles_of(run.equation).items():
            values = _values(self, run.equation, name, state.field, state.t, _forces(state))
            held = {key: np.asarray(value) for key, value in values.items()}
            if is_first():
                layout = self.layout(run.equation, name, held)
                count, lengths = particles.number(), run.equation.grid.box.lengths
                rows = {key: np.moveaxis(v, -1, 0)[:count] for key, v in held.items() if key != POSITION}
                rows[POSITION] = particles.unwrapped(held[POSITION], lengths)
                file = _file(run.directory, name)
                with run.writer.while_waiting():
                    make_folder(file.path.parent)
                    file.append(Row(int(state.step), float(state.t), rows), layout)

    def resume(self, run: Run) -> None:
        for name in particles_of(run.equation):
            check_continues(_file(run.directory, name), self.layout(run.equation, name), f"particles with {name}")

    def flush(self, run: Run) -> None:
        for file in _files(run.directory):
            file.flush()
            table = file.table() if self.paraview else None
            if table is not None:
                make_folder(run.directory.particles)
                write_particles_vtkhdf(_for_paraview(run.directory, file), table, run.equation.grid)

    @classmethod
    def paths(cls, directory: RunDirectory) -> tuple[Path, ...]:
        return (directory.particles,)

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        for file in _files(directory):
            file.drop_after(step)
            _for_paraview(directory, file).unlink(missing_ok=True)  # made anew at the next checkpoint

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        return {path: lines for file in _files(directory) for path, lines in file.verify().items()}

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Draw a figure of each file: tracks in a plane, and the mean square displacement."""
        drawn = []
        for file in _files(directory):
            recorded = Recorded.read(file)
            if recorded is not None:
                drawn += save(tracks_figure(recorded, view), folder, f"particles-{recorded.name}", view)
        return drawn


def _recorded(
    output: ParticleTracks, equation: AnyEquation, name: str, fields: Fields, t: ArrayLike, forces: Any
) -> Mapping[str, Array]:
    """The numbers of the particles `(…, particle)` of a name, by column; positions as rows of the state."""
    particles, d = particles_of(equation)[name], equation.grid.dimensions
    own = particles.array(equation.grid).split(fields[name])
    source = FlowSource(equation, fields, _changes(output, equation, fields, t, forces), particles.field)
    values = source.values(own[POSITION], set(output.record), particles.order, particles.precision == "float32")
    held = {key: value for key, value in own.items() if key not in (POSITION, TURNS)}
    flow = {(FLUID + key if key in held else key): values[key] for key in output.record}
    flow = {key: value.swapaxes(0, 1) if key.endswith(GRADIENT) else value for key, value in flow.items()}
    return {POSITION: fields[name][: 2 * d], **held, **flow}


def _shapes(output: ParticleTracks, equation: AnyEquation, name: str) -> Mapping[str, Any]:
    """Shapes of the recorded arrays by column. Touches no device."""
    return jax.eval_shape(lambda fields: _recorded(output, equation, name, fields, 0.0, None), equation.field_shapes())


def _changes(
    output: ParticleTracks, equation: AnyEquation, fields: Fields, t: ArrayLike, forces: Any
) -> Changes | None:
    """Changes of the fields, for the acceleration of the fluid; None where it is not recorded."""
    if ACCELERATION not in output.record:
        return None
    if forces is None:  # of shapes alone
        own = equation.fields_alone(fields)
        return Changes(own, own, {})
    forcing, key, step = forces
    return equation.at_step(forcing, key, step).changes(fields, t)


def _forces(state: State) -> Any:
    return state.forcing, state.key, state.step


def _on_each_device(
    output: ParticleTracks, equation: AnyEquation, name: str, fields: Fields, t: ArrayLike, forces: Any
) -> Mapping[str, Array]:
    whole = NamedSharding(equation.grid.mesh, PartitionSpec())
    values = _recorded(output, equation, name, fields, t, forces)
    return {key: jax.lax.with_sharding_constraint(value, whole) for key, value in values.items()}


_values = compiled(_on_each_device, static_argnums=(0, 2))


def _axes(shape: tuple[int, ...], d: int, axes: dict[str, Axis]) -> tuple[str, ...]:
    """Names of the axes of `(…, particle)` as a file has them, `(particle, …)`."""
    names = ["particle"]
    for n in shape[:-1]:
        name = ("direction" if "direction" not in names else "derivative") if n == d else f"component_{n}"
        axes.setdefault(name, Axis(np.arange(n), long_name=DIRECTIONS[: 3 * d - 2] if n == d else "component"))
        names.append(name)
    return tuple(names)


def _file(directory: RunDirectory, name: str) -> Rows:
    return directory.store.rows(name, directory.particles.name)


def _for_paraview(directory: RunDirectory, file: Rows) -> Path:
    return directory.particles / f"{file.path.stem}.hdf"


def _files(directory: RunDirectory) -> Iterator[Rows]:
    return (_file(directory, name) for name in directory.store.names(directory.particles.name))
