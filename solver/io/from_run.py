"""The initial field `run`, read from another run's checkpoint or snapshot."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.config import GridSection
from solver.diagnostics import mean_square
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.spaces_between_walls import walls_of_run, with_conditions
from solver.dynamics.start_changes import shares_removed, warn_of_changes
from solver.dynamics.varying_walls import walls_at_time
from solver.fft import Transform, resample
from solver.grid import Fourier, Grid, Storage
from solver.initial.initial import Initial
from solver.io.checkpoint_reading import load_array, storage_in
from solver.io.checkpoint_store import newest_valid, verify_together
from solver.io.directory import RunDirectory
from solver.io.fields import read_field
from solver.io.hdf5 import dataset, read_hdf5
from solver.io.manifest import CheckpointError, list_checkpoints, read_manifest, step_of
from solver.io.snapshots import variables_in
from solver.spaces import FourierSpace, Space
from solver.spaces.field import RANKS, Field
from solver.spaces.polynomials import FieldBetweenWalls
from solver.walls import Walls
from solver.walls.conditions import LOWER, UPPER, AtValue, Moment, Rigid, Varying


class FromRun(Initial):
    """The state of another run, on this grid: spectral interpolation to more modes, truncation to fewer.

    Both runs must have the same box; the grid, its dealiasing, precision and devices may differ. In a run file
    `[initial]` with this name starts every field of an equation from its own in the other run.

    Args:
        path: the other run's directory, whose newest whole checkpoint is taken; or one of its snapshots, a .h5 file.
        step: step number of the checkpoint to take instead.
        field: name of the field in the other run; the field's own name if None.
        keep_time: True to start at the other run's time and step number, with the state of its forcings where these are
            of the same kind; False to start at t = 0. If True, every field must come from the same checkpoint.
        shift_to_walls: True to add to each field between walls the profile at rest that the change of its conditions
            has, so that it meets other values; False to keep the field, which then needs the values of the other run.

    Returns:
        When called: `(component, *grid.physical_shape)`; each device reads its own part.

    Raises:
        ValueError: when called: no such run, checkpoint or field, another box, or a grid that these devices cannot
            split.
    """

    path: str = eqx.field(static=True)
    step: int | None = eqx.field(static=True, default=None)
    field: str | None = eqx.field(static=True, default=None)
    keep_time: bool = eqx.field(static=True, default=False)
    shift_to_walls: bool = eqx.field(static=True, default=False)
    between: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)  # walls: an equation, and its field

    name: ClassVar[str] = "run"
    ranks: ClassVar[tuple[str, ...]] = RANKS
    traceable: ClassVar[bool] = False

    def __check_init__(self) -> None:
        object.__setattr__(self, "between", None)

    def check(self, equation: AnyEquation, field: str) -> None:
        source, space = self._source(), equation.space(field)
        source.refuse_other_box(equation.grid if equation.grid.walls else space.fourier)
        components, needed = source.components(self.field or field), source.needed_components(space)
        if components != needed:
            raise ValueError(f"path: {source.path}: {self.field or field} has {components} components; {needed} needed")
        source.refuse_complex(self.field or field, equation.fields[field])
        if equation.grid.walls and not self.shift_to_walls:
            theirs = source.walls_of(equation, field, self.field or field)
            ours: Walls = getattr(equation, "walls")[field]  # noqa: B009
            _refuse_other_values(source.path, field, theirs, ours)

    def notes(self, grid: Grid) -> list[str]:
        source = self._source()
        shape = "×".join(map(str, source.shape))
        return [f"{self.field}: from {source.path}, t = {source.t:.6g}, on {shape}"]

    def for_equation(self, equation: Any, field: str) -> FromRun:
        made = FromRun(self.path, self.step, self.field or field, self.keep_time, self.shift_to_walls)
        if equation.grid.walls:
            object.__setattr__(made, "between", (equation, field))
        return made

    def checkpoint(self, *, whole: bool = False) -> _Source:
        """The checkpoint that it starts from; checked if `whole`, which is collective.

        Raises:
            ValueError: no checkpoint is found, or the path is a snapshot, which has no state of the forcings.
        """
        source = self._source(whole=whole)
        if not isinstance(source, _Checkpoint):
            raise ValueError(f"path: {self.path}: with keep_time the directory of a run is needed")
        return source

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if self.field is None:
            raise ValueError("field: which field of the other run is meant must be given")
        source = self._source(whole=True)
        source.refuse_other_box(grid)
        source.refuse_complex(self.field, field)
        its_grid = source.grid_like(grid)
        if self.between is not None:
            return self._between_walls(source, its_grid)
        theirs = source.coefficients(self.field, its_grid)
        ours = resample(theirs, its_grid, grid)
        whole = mean_square(theirs, its_grid)
        lost = jnp.where(whole > 0, 1 - mean_square(ours, grid) / jnp.where(whole > 0, whole, 1), 0)
        warn_of_changes({self.field: {"beyond": lost}}, {self.field: FourierSpace(self.field, field, grid)})
        is_filtered = (its_grid.shape, its_grid.dealias) == (grid.shape, grid.dealias)
        return Transform(grid).inverse(_before_filter(ours, grid) if is_filtered else ours)

    def _between_walls(self, source: _Source, its_grid: Grid) -> Array:
        """Values at the points between walls: their modes, under their conditions, then on this grid."""
        equation, name = self.between
        ours = equation.space(name)
        walls = source.walls_of(equation, name, self.field or name)
        there, here = (with_conditions(ours, grid, walls) for grid in (its_grid, equation.grid))
        theirs = source.between_walls(self.field or name, there)
        made = there.resampled(theirs, here)
        whole, kept = there.whole_square(theirs), here.whole_square(made)
        lost = jnp.where(whole > 0, 1 - kept / jnp.where(whole > 0, whole, 1), 0)
        warn_of_changes({name: {"beyond": lost}}, {name: ours})
        c = here.series(made)
        return ours.at_points(ours.with_lifting(here.with_lifting(c, -1)) if self.shift_to_walls else c)

    def _source(self, *, whole: bool = False) -> _Source:
        path = Path(self.path)
        if path.suffix == ".h5":
            return _Snapshot.open(path)
        folder = RunDirectory(path).checkpoints
        chosen = list_checkpoints(folder)
        if self.step is not None:
            known = ", ".join(str(step_of(checkpoint)) for checkpoint in chosen) or "none"
            chosen = [checkpoint for checkpoint in chosen if step_of(checkpoint) == self.step]
            if not chosen:
                raise ValueError(f"step: {path} has no checkpoint of step {self.step}; it has {known}")
            if whole and (problems := verify_together(chosen[0])):
                raise ValueError(f"step: {path}: the checkpoint of step {self.step} is damaged: {'; '.join(problems)}")
        elif whole:
            newest, _ = newest_valid(folder)
            chosen = [] if newest is None else [newest]
        if not chosen:
            raise ValueError(f"path: {path} holds no checkpoint")
        return _Checkpoint.open(chosen[-1])


def _refuse_other_values(path: Path, field: str, theirs: Walls, ours: Walls) -> None:
    """Raises ValueError where a wall gives a field another value than in the other run."""
    for side, there, here in zip((LOWER, UPPER), theirs, ours, strict=True):
        if type(there) is not type(here) or not isinstance(here, AtValue | Rigid):
            continue
        numbers = _numbers(there), _numbers(here)
        if None not in numbers and numbers[0] != numbers[1]:
            raise ValueError(
                f"path: {path}: there walls.{field}.{side} is {there}, here {here}, which the field does not meet: "
                "shift_to_walls = true adds the profile at rest of the change"
            )


def _numbers(condition: AtValue | Rigid) -> list[float] | None:
    """Values that a wall gives; an empty list if all are 0, None if one varies: the start compares fields."""
    given: tuple[Any, ...] = condition.velocity if isinstance(condition, Rigid) else (condition.value,)
    if any(isinstance(number, Varying | Moment) for number in given):
        return None
    return [float(number) for number in given] if np.any(np.asarray(given)) else []


def _before_filter(u_hat: Array, grid: Grid) -> Array:
    """Divide coefficients by the filter of `smooth`, through which a start's values go, as all values do.

    Modes of which the filter leaves less than the root of the precision's rounding stay as they are.
    """
    factor = grid.mode_filter()
    if factor is None:
        return u_hat
    least = float(np.sqrt(jnp.finfo(grid.dtype).eps))
    return jnp.where(factor > least, u_hat / jnp.maximum(factor, least), u_hat)


@dataclass(frozen=True)
class _Source:
    """Fields of another run, with their place, time and grid."""

    path: Path
    t: float
    shape: tuple[int, ...]
    lengths: tuple[float, ...]
    dealias: str
    walls: str | None

    def rounding(self) -> float:
        """Tolerance of its lengths, relative to them."""
        return 1e-12

    def refuse_other_box(self, grid: Grid) -> None:
        """Raises ValueError if the box differs from a grid's box."""
        mine = tuple(map(float, grid.lengths))  # type: ignore[arg-type]
        if len(mine) != len(self.lengths) or not np.allclose(mine, self.lengths, rtol=self.rounding()):
            raise ValueError(f"path: {self.path}: its box is {list(self.lengths)}, this one {list(mine)}")
        if self.walls != grid.walls:
            box = {True: "periodic", False: "between walls"}
            raise ValueError(f"path: {self.path}: its box is {box[self.walls is None]}, this one {box[not grid.walls]}")

    def refuse_complex(self, name: str, field: Field) -> None:
        """Raises ValueError where a field of the other run is complex and is to start a real one."""
        self.components(name)
        if field.real and not self.is_real(name):
            raise ValueError(f"path: {self.path}: {name} is complex; a real field is needed")

    def grid_like(self, grid: Grid) -> Grid:
        """Its grid, on the devices and in the precision of another."""
        try:
            return Grid(self.shape, self.lengths, self.dealias, grid.precision, grid.real, grid.mesh, self.walls)
        except ValueError as error:
            raise ValueError(f"path: {self.path}: {error}") from None

    def components(self, name: str) -> int:
        """Number of components of a field; raises ValueError where there is no such field."""
        raise NotImplementedError

    def needed_components(self, space: Space) -> int:
        """Number of components that it must have to start a field of a space."""
        raise NotImplementedError

    def walls_of(self, equation: Any, field: str, name: str) -> Walls:
        """Conditions of a field of an equation that its own field of this name meets."""
        raise NotImplementedError

    def between_walls(self, name: str, space: FieldBetweenWalls) -> Array:
        """Coefficients of a field in a space of its own grid and conditions."""
        raise NotImplementedError

    def is_real(self, name: str) -> bool:
        """True if a field of this name, which the source must have, is real."""
        raise NotImplementedError

    def coefficients(self, name: str, grid: Grid) -> Array:
        """The coefficients of a field on its own grid, which `grid_like` gives."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Checkpoint(_Source):
    arrays: dict[str, Any]
    table: dict[str, Any]  # of its run file

    @classmethod
    def open(cls, path: Path) -> _Checkpoint:
        try:
            manifest = read_manifest(path)
        except CheckpointError as error:
            raise ValueError(f"path: {error}") from None
        table = tomllib.loads(manifest["run_file"])
        section = GridSection.read(table["grid"], "grid")
        arrays = {name: entry for name, entry in manifest["arrays"].items() if name.startswith("field/")}
        lengths = section.length_values
        dealias = str(section.dealias)
        return cls(path, float(manifest["t"]), section.shape, lengths, dealias, section.walls, arrays, table)

    def components(self, name: str) -> int:
        return int(self._entry(name)["shape"][0])

    def needed_components(self, space: Space) -> int:
        return space.stored_components

    def walls_of(self, equation: Any, field: str, name: str) -> Walls:
        return walls_of_run(self.table, equation, field, name, self.t)

    def between_walls(self, name: str, space: FieldBetweenWalls) -> Array:
        stored = load_array(self.path, self._entry(name), self._storage(name), space.grid)
        return stored.astype(space.grid.complex_dtype)

    def is_real(self, name: str) -> bool:
        entry, storage = self._entry(name), self._storage(name)
        return storage.kind == Fourier() if storage.holds == "modes" else "complex" not in entry["dtype"]

    def coefficients(self, name: str, grid: Grid) -> Array:
        storage = self._storage(name)
        values = load_array(self.path, self._entry(name), storage, grid)
        if storage.holds == "modes":
            if storage.kind == Fourier(grid.real):
                return values
            values = Transform(grid.as_complex if grid.real else grid.as_real).inverse(values)
        return Transform(grid).forward(values)

    def _storage(self, name: str) -> Storage:
        try:
            return storage_in(self._entry(name))
        except ValueError as error:
            raise ValueError(f"path: {self.path}: {name}: {error}") from None

    def _entry(self, name: str) -> dict[str, Any]:
        entry = self.arrays.get(f"field/{name}")
        if entry is None:
            known = ", ".join(key.removeprefix("field/") for key in self.arrays)
            raise ValueError(f"path: {self.path} has no field {name}; it has {known}")
        return dict(entry)


@dataclass(frozen=True)
class _Snapshot(_Source):
    """Values at points: every mode of theirs is taken."""

    datasets: dict[str, tuple[int, ...]]
    eps: float  # of the numbers that hold its places

    @classmethod
    def open(cls, path: Path) -> _Snapshot:
        try:
            with read_hdf5(path) as file:
                sides = [dataset(file, axis)[:] for axis in "xyz" if axis in file]
                bounded = [axis for axis in "xyz" if axis in file and not file[axis].attrs.get("periodic", True)]
                walls = "xyz"[len(sides) - 1]
                if bounded not in ([], [walls]):
                    raise ValueError(f"it ends along {bounded[0]}; all points of a box are needed")
                shape = tuple(len(side) for side in sides)
                lengths = tuple(float(side[1]) * len(side) for side in sides)
                lengths = (*lengths[:-1], float(sides[-1][0] + sides[-1][-1])) if bounded else lengths
                shapes = {name: dataset(file, name).shape for name in variables_in(file)}
                on_grid = {name: whole for name, whole in shapes.items() if whole[: len(shape)] == shape}
                eps = max(float(np.finfo(side.dtype).eps) for side in sides)
                rule, between = ("two-thirds", walls) if bounded else ("none", None)
                return cls(path, float(file.attrs["time"]), shape, lengths, rule, between, on_grid, eps)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise ValueError(f"path: {path} is no snapshot: {error}") from None

    def rounding(self) -> float:
        return max(1e-12, 2 * self.eps)

    def components(self, name: str) -> int:
        if {f"{name}_real", f"{name}_imag"} <= self.datasets.keys():
            return 1
        if name not in self.datasets:
            raise ValueError(f"path: {self.path} has no field {name}; it has {', '.join(self.datasets)}")
        return math.prod(self.datasets[name][len(self.shape) :])

    def needed_components(self, space: Space) -> int:
        return len(space.component_names)

    def walls_of(self, equation: Any, field: str, name: str) -> Walls:
        return walls_at_time(equation.at_time(self.t), field)  # whose values are checked where the run starts

    def between_walls(self, name: str, space: FieldBetweenWalls) -> Array:
        self.components(name)
        values = read_field(self.path, name, space.grid)
        made = space.forward(values)
        spaces = {space.name: space}
        warn_of_changes(shares_removed({space.name: values}, {space.name: made}, spaces), spaces)
        return made

    def is_real(self, name: str) -> bool:
        return name in self.datasets

    def coefficients(self, name: str, grid: Grid) -> Array:
        self.components(name)
        if name in self.datasets:
            values = read_field(self.path, name, grid)
        else:
            parts = [read_field(self.path, f"{name}_{part}", grid) for part in ("real", "imag")]
            values = parts[0] + 1j * parts[1]
        return Transform(grid).forward(values)
