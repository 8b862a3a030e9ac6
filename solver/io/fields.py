"""Reads fields from HDF5 files and NumPy's; every process reads only its own slabs."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import jax
import numpy as np

from solver.grid import Grid, from_global
from solver.io.hdf5 import dataset, read_hdf5
from solver.io.snapshots import COMPONENT


def describe_field(path: Path | str, datasets: Sequence[str]) -> tuple[tuple[int, ...], bool]:
    """Shape `(component, x, y, z)` of the field in the data sets, and True if it is complex.

    A .npy file has no names: `datasets` is empty. It may be, too, where a file holds one array.

    One data set may hold `(x, y, z)`, `(component, x, y, z)`, or, as in a snapshot, `(x, y, z, component)` with a
    last axis of this name; several hold one component each. Touches no device.

    Raises:
        ValueError: a missing file or data set, one behind a link or in another file, or components of
            different shapes.
    """
    path = Path(path)
    with _stored(path, datasets) as stored:
        shapes = [_shape(data) for data in stored]
        is_complex = any(np.issubdtype(data.dtype, np.complexfloating) for data in stored)
    if len(set(shapes)) != 1:
        raise ValueError(f"{path}: components have different shapes {[list(s) for s in shapes]}")
    return (shapes[0] if len(shapes) == 1 else (len(shapes), *shapes[0])), is_complex


def read_field(path: Path | str, datasets: str | Sequence[str], grid: Grid) -> jax.Array:
    """Field `(component, *grid.physical_shape)` from a file, read block by block.

    Args:
        path: HDF5, .npy or .npz file on a disk that every process sees. Every process reads the whole arrays of a .npz
            file.
        datasets: names, empty for a .npy file: one data set with or without an axis of components, or one for each
            component.
        grid: the grid of the field; values are converted to its precision.

    Raises:
        ValueError: as `describe_field`; or a shape that is not the grid's, complex values on a real grid, or values
            that are not finite.
    """
    names = [datasets] if isinstance(datasets, str) else list(datasets)
    shape, is_complex = describe_field(path, names)
    if shape[-grid.dimensions :] != grid.physical_shape or len(shape) - grid.dimensions not in (0, 1):
        raise ValueError(
            f"{path}: the field's shape is {list(shape)}; this grid has {list(grid.physical_shape)} points, and "
            "components come first"
        )
    if is_complex and grid.real:
        raise ValueError(f"{path}: the field is complex; this grid holds real ones")
    components = shape[0] if len(shape) > grid.dimensions else 1
    with _stored(Path(path), names) as stored:

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


@contextmanager
def _stored(path: Path, names: Sequence[str]) -> Iterator[list[Any]]:
    """The arrays of these names in a file; the only one it holds if no name is given.

    Raises:
        ValueError: a missing or damaged file, a name that is not there, or no name where there are several.
    """
    if path.suffix in (".npy", ".npz"):
        yield _numpy_arrays(path, names)
        return
    with read_hdf5(path) as file:
        yield [dataset(file, name) for name in names or _only(path, [n for n in file if _is_array(file, n)])]


def _numpy_arrays(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    try:
        held = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not a file of NumPy's with numbers, or damaged: {error}") from None
    if isinstance(held, np.ndarray):
        if names:
            raise ValueError(f"{path} holds one array, which has no name: no name of a data set is needed")
        return [_numbers(path, held)]
    with held:
        missing = [name for name in names if name not in held.files]
        if missing:
            raise ValueError(f"{path}: no array {missing[0]!r}; there are {', '.join(held.files) or 'none'}")
        try:
            return [_numbers(path, held[name]) for name in names or _only(path, held.files)]
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: damaged: {error}") from None


def _numbers(path: Path, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in "biufc":
        raise ValueError(f"{path} holds values of type {values.dtype}; numbers are needed")
    return values


def _only(path: Path, names: Sequence[str]) -> Sequence[str]:
    if len(names) != 1:
        raise ValueError(f"{path} holds {', '.join(names) or 'no array'}: say which (datasets)")
    return names


def _is_array(file: h5py.File, name: str) -> bool:
    return isinstance(file.get(name, getlink=False), h5py.Dataset)


def _components_last(data: Any) -> bool:
    return isinstance(data, h5py.Dataset) and data.ndim > 1 and data.dims[data.ndim - 1].label == COMPONENT


def _shape(data: Any) -> tuple[int, ...]:
    """Shape with the axis of components first."""
    return (data.shape[-1], *data.shape[:-1]) if _components_last(data) else data.shape
