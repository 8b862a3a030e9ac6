"""Reads fields from files; every process reads only its own slabs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import h5py
import jax
import numpy as np

from solver.grid import Grid, from_global
from solver.io.hdf5 import dataset, read_hdf5
from solver.io.snapshots import COMPONENT


def describe_field(path: Path | str, datasets: Sequence[str]) -> tuple[tuple[int, ...], bool]:
    """Shape `(component, x, y, z)` of the field in the data sets, and whether it is complex.

    One data set may hold `(x, y, z)`, `(component, x, y, z)`, or, as in a snapshot, `(x, y, z, component)` with a
    last axis of this name; several hold one component each. Touches no device.

    Raises:
        ValueError: a missing file or data set, one that lies behind a link or in another file, or components of
            different shapes.
    """
    path = Path(path)
    with read_hdf5(path) as file:
        stored = [dataset(file, name) for name in datasets]
        shapes = [_shape(data) for data in stored]
        is_complex = any(np.issubdtype(data.dtype, np.complexfloating) for data in stored)
    if len(set(shapes)) != 1:
        raise ValueError(f"{path}: components have different shapes {[list(s) for s in shapes]}")
    return (shapes[0] if len(datasets) == 1 else (len(datasets), *shapes[0])), is_complex


def read_field(path: Path | str, datasets: str | Sequence[str], grid: Grid) -> jax.Array:
    """Field `(component, *grid.physical_shape)` from an HDF5 file, read block by block.

    Args:
        path: the file, on a disk that every process sees.
        datasets: one data set with or without an axis of components, or one for each component.
        grid: the grid of the field; values are converted to its precision.

    Raises:
        ValueError: as `describe_field`; or a shape that is not the grid's, complex values on a real grid, or values
            that are not finite.
    """
    names = [datasets] if isinstance(datasets, str) else list(datasets)
    shape, is_complex = describe_field(path, names)
    if shape[-grid.dimensions :] != grid.physical_shape or len(shape) - grid.dimensions not in (0, 1):
        raise ValueError(
            f"{path}: the field's shape is {list(shape)}; this grid has {list(grid.physical_shape)} points"
        )
    if is_complex and grid.real:
        raise ValueError(f"{path}: the field is complex; this grid holds real ones")
    components = shape[0] if len(shape) > grid.dimensions else 1
    with read_hdf5(Path(path)) as file:
        stored = [dataset(file, name) for name in names]

        def read(index: tuple[slice, ...]) -> np.ndarray:
            chosen = range(components)[index[0]]
            if len(stored) > 1:
                parts = [stored[c][index[1:]] for c in chosen]
            elif _components_last(stored[0]):
                parts = [stored[0][(*index[1:], c)] for c in chosen]
            elif len(shape) > grid.dimensions:
                parts = [stored[0][(c, *index[1:])] for c in chosen]
            else:
                parts = [stored[0][index[1:]]]
            values = np.stack(parts).astype(grid.physical_dtype)
            if not np.isfinite(values).all():
                raise ValueError(f"{path}: the field has values that are not finite")
            return values

        return from_global(read, grid, components)


def _components_last(data: h5py.Dataset) -> bool:
    return data.ndim > 1 and data.dims[data.ndim - 1].label == COMPONENT


def _shape(data: h5py.Dataset) -> tuple[int, ...]:
    """Shape with the axis of components first."""
    return (data.shape[-1], *data.shape[:-1]) if _components_last(data) else data.shape
