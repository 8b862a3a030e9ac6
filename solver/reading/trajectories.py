"""`to_xarray`: a trajectory as an xarray dataset with coordinates, component names and units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from solver.dynamics.any_equation import AnyEquation
from solver.grid import Grid, gather
from solver.io import COMPONENT
from solver.reading.datasets import TIME
from solver.reading.optional import needed

AXES = ("x", "y", "z")


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
