"""Series, recorded arrays, snapshots and trajectories as xarray datasets, with units and long names.

Values of snapshots are read from the files when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from solver.dynamics.any_equation import AnyEquation
from solver.grid import Grid, gather
from solver.io import COMPONENT, Rows, Snapshot, SnapshotVariable, read_snapshot
from solver.reading.optional import is_installed, needed

TIME = {"units": "time", "long_name": "time of the state"}
STEP = {"units": "1", "long_name": "number of steps taken"}
WINDOW = {
    "since": {"units": "time", "long_name": "begin of the window, which ends at t"},
    "samples": {"units": "1", "long_name": "number of states in the window"},
}
AXES = ("x", "y", "z")


def series_dataset(rows: Rows) -> Any:
    """Scalars against time: one variable `(t)` per column; `step` is a second coordinate along t."""
    xarray, table = needed("xarray", "open_run", "analysis"), rows.table()
    if table is None:
        return xarray.Dataset(coords=_coordinates(np.empty(0), np.empty(0, int)))
    variables = {
        name: ("t", values, {"units": table.units[name], "long_name": name.replace("_", " ")})
        for name, values in table.values.items()
    }
    return xarray.Dataset(variables, _coordinates(table.t, table.step))


def records_dataset(file: Rows) -> Any:
    """Arrays against time, including the rows in the journal: variables `(t, axes…)`; directions are x, y, z.

    Raises:
        ValueError: this is not a file of records, or its data are links to other files.
    """
    xarray, table = needed("xarray", "open_run", "analysis"), file.table()
    if table is None:
        return xarray.Dataset(coords=_coordinates(np.empty(0), np.empty(0, int)))
    coordinates = _coordinates(table.t, table.step)
    for name, axis in table.layout.axes.items():
        coordinates[name] = (name, axis.values, _attributes(axis.units, axis.long_name))
    variables = {}
    for name, column in table.layout.columns.items():
        law = {} if column.power_law is None else {"power_law": column.power_law}
        about = _attributes(column.units, column.long_name) | law
        variables[name] = (("t", *column.axes), table.values[name], about)
    if "direction" in coordinates:  # of particles
        coordinates["direction"] = ("direction", list("xyz")[: len(coordinates["direction"][1])])
    return xarray.Dataset(variables, coordinates)


def _coordinates(t: np.ndarray, step: np.ndarray) -> dict[str, Any]:
    return {"t": ("t", t, TIME), "step": ("t", step, STEP)}


def _attributes(units: str, long_name: str) -> dict[str, Any]:
    return {key: text for key, text in (("units", units), ("long_name", long_name)) if text}


def snapshots_dataset(paths: Sequence[Path], read: Callable[[Path], Snapshot] = read_snapshot) -> Any:
    """Dataset of fields `(t, x, y, z)` and vectors `(t, x, y, z, component)`; slices have fewer axes.

    Without files the dataset is empty. A field that a file does not have is NaN at its time.

    Raises:
        ValueError: a file is not a snapshot, or a field has another shape or other places than in an earlier file.
    """
    xarray = needed("xarray", "open_run", "analysis")
    snapshots = [read(path) for path in paths]
    coordinates: dict[str, Any] = {
        "t": ("t", np.array([snapshot.t for snapshot in snapshots], dtype=float), TIME),
        "step": ("t", np.array([snapshot.step for snapshot in snapshots], dtype=int), STEP),
    }
    if not snapshots:
        return xarray.Dataset(coords=coordinates)
    first = snapshots[0]
    known: dict[str, SnapshotVariable] = {}
    axes_known: dict[str, np.ndarray] = {}
    for snapshot in snapshots:  # a run that was resumed may have written other fields since
        _check_alike(snapshot, known, axes_known, first)
        known |= {name: variable for name, variable in snapshot.variables.items() if name not in known}
        axes_known |= snapshot.axes
    for name in first.window:
        coordinates[name] = ("t", np.array([snapshot.window[name] for snapshot in snapshots]), WINDOW[name])
    for name, points in axes_known.items():
        coordinates[name] = (name, points, {"units": "length", "long_name": f"{name[0]} of the grid point"})
    variables = {}
    for name, variable in known.items():
        axes = ("t", *variable.sides)
        if variable.labels:
            coordinates[variable.along] = (variable.along, list(variable.labels), {"long_name": "component"})
            axes = (*axes, variable.along)
        about = {"units": variable.units, "long_name": name.replace("_", " "), **variable.at}
        lazy = xarray.Variable(axes, _lazily(snapshots, name, variable), about)
        variables[name] = lazy.chunk({"t": 1}) if is_installed("dask") else lazy
    return xarray.Dataset(variables, coordinates, {"title": first.title})


def _check_alike(
    snapshot: Snapshot, known: Mapping[str, SnapshotVariable], axes: Mapping[str, np.ndarray], first: Snapshot
) -> None:
    """Raises ValueError if a snapshot's fields cannot form arrays with the fields of earlier ones."""
    if first.window.keys() != snapshot.window.keys():
        raise ValueError(f"{snapshot.path}: a window of averages is needed in all files or in none")
    for name, variable in snapshot.variables.items():
        before = known.get(name, variable)
        if (before.shape, before.at, before.labels) != (variable.shape, variable.at, variable.labels):
            shapes = f"{list(variable.shape)}; {list(before.shape)}"
            raise ValueError(f"{snapshot.path}: {name} has shape {shapes}, at the same places, is needed, as before")
    for name, points in snapshot.axes.items():
        if not np.array_equal(axes.get(name, points), points):
            raise ValueError(f"{snapshot.path}: the axis {name} has other points than in an earlier file")


def _lazily(snapshots: Sequence[Snapshot], name: str, variable: SnapshotVariable) -> Any:
    """An xarray array that reads only the indexed part of the files, when its values are needed."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    @dataclass
    class OverFiles(BackendArray):
        """A field of all snapshots; its first axis is the number of the file."""

        shape: tuple[int, ...]
        dtype: np.dtype

        def __getitem__(self, key: Any) -> Any:
            return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

        def _read(self, key: tuple[Any, ...]) -> np.ndarray:
            which, inside = key[0], key[1:]  # xarray has turned steps backwards into forward ones, as HDF5 needs
            if not isinstance(which, slice):
                return self._values(snapshots[which], inside)
            parts = [self._values(snapshot, inside) for snapshot in snapshots[which]]
            return np.stack(parts) if parts else np.empty((0, *self.shape[1:]), self.dtype)

        def _values(self, snapshot: Snapshot, inside: tuple[Any, ...]) -> np.ndarray:
            if name in snapshot.variables:
                return snapshot.values(name, inside)
            shape = np.broadcast_to(0.0, self.shape[1:])[inside].shape
            return np.full(shape, np.nan, self.dtype)

    return indexing.LazilyIndexedArray(OverFiles((len(snapshots), *variable.shape), np.dtype(variable.dtype)))


def to_xarray(equation: AnyEquation, times: Any, values: Mapping[str, Any]) -> Any:
    """The result of `rollout` as an xarray dataset, laid out as in `open_run(…).snapshots` but for the components.

    Args:
        equation: supplies the grid, and the names of components and units of its fields.
        times: times of the rows, `(time,)`.
        values: arrays by name, `(time, …)`. Axes as long as the grid's at the end are `x, y, z`, and one axis before
            them is the components, which a field of the equation has by name. Arrays without the grid's axes are kept
            with axes that are numbered: `NAME_0`, `NAME_1`, ….

    Returns:
        A dataset in memory with variables `(t, component, x, y, z)`; `(t, x, y, z)` where there is one component. Where
        the components of a vector are not the directions in space, their axis is `NAME_component`. Communication: each
        host needs a full copy of the values.

    Raises:
        ValueError: an array with another number of rows than there are times.
        ModuleNotFoundError: xarray is not installed.
    """
    xarray = needed("xarray", "to_xarray", "analysis")
    grid, t = equation.grid, np.asarray(times)
    if t.ndim != 1:
        raise ValueError(f"times of shape {list(t.shape)}: one number for each row is needed")
    coordinates: dict[str, Any] = {"t": ("t", t, TIME)}
    for name, points in zip(AXES, grid.coordinates(), strict=False):
        coordinates[name] = (name, points.ravel(), {"units": "length", "long_name": f"{name} of the grid point"})
    variables = {}
    for name, rows in values.items():
        if rows.shape[:1] != t.shape:
            raise ValueError(f"{name} of shape {list(rows.shape)} with {len(t)} times: one row for each is needed")
        field = equation.fields.get(name)
        array = gather(rows) if isinstance(rows, jax.Array) else np.asarray(rows)
        about = {"units": field.units, "long_name": name.replace("_", " ")} if field is not None else {}
        array, axes, labels = _described(equation, name, array)
        if labels:
            coordinates[axes[1]] = (axes[1], list(labels), {"long_name": "component"})
        variables[name] = (axes, array, about)
    return xarray.Dataset(variables, coordinates, {"title": equation.name})


def _described(equation: AnyEquation, name: str, array: np.ndarray) -> tuple[np.ndarray, tuple[str, ...], Any]:
    """The array without an axis of one component, the names of its axes, and the names of its components."""
    grid = equation.grid
    d = grid.dimensions
    between = array.ndim - 1 - d
    if between not in (0, 1) or array.shape[array.ndim - d :] != grid.physical_shape:
        return array, ("t", *(f"{name}_{axis}" for axis in range(array.ndim - 1))), ()
    sides = AXES[:d]
    if not between:
        return array, ("t", *sides), ()
    if array.shape[1] == 1:
        return array[:, 0], ("t", *sides), ()
    labels = _labels(equation, name, array.shape[1], grid)
    along = COMPONENT if labels == sides else f"{name}_{COMPONENT}"
    return array, ("t", along, *sides), labels


def _labels(equation: AnyEquation, name: str, count: int, grid: Grid) -> tuple[str, ...]:
    """Names of components: of a vector the directions, of other fields without the name of the field in front."""
    field = equation.fields.get(name)
    known = AXES[:count] if field is None else field.component_names(name, grid.dimensions)
    fits = len(known) == count and (field is not None or count == grid.dimensions)
    return tuple(label.removeprefix(f"{name}_") for label in known) if fits else tuple(map(str, range(count)))
