"""Reading fields in: every process reads only its own slabs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import h5py
import jax
import numpy as np

from solver.grid import Grid, from_global


def describe_field(path: Path | str, datasets: Sequence[str]) -> tuple[tuple[int, ...], bool]:
    """Shape `(component, x, y, z)` of the field that the data sets make up, and whether it is complex.

    One data set may hold `(x, y, z)` or `(component, x, y, z)`; several hold one component each. Touches no device.

    Raises:
        ValueError: a missing file or data set, or components of different shapes.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    try:
        with h5py.File(path, "r") as file:
            for name in datasets:
                if name not in file:
                    raise ValueError(f"{path}: has no data set {name!r}; it has {', '.join(_datasets(file))}")
            shapes = [file[name].shape for name in datasets]
            is_complex = any(np.issubdtype(file[name].dtype, np.complexfloating) for name in datasets)
    except OSError as error:
        raise ValueError(f"{path}: not an HDF5 file: {error}") from None
    if len(set(shapes)) != 1:
        raise ValueError(f"{path}: components have different shapes {[list(s) for s in shapes]}")
    return (shapes[0] if len(datasets) == 1 else (len(datasets), *shapes[0])), is_complex


def read_field(path: Path | str, datasets: str | Sequence[str], grid: Grid) -> jax.Array:
    """Field `(component, *grid.physical_shape)` from an HDF5 file, read block by block.

    Args:
        path: the file, on a disk that every process sees.
        datasets: one data set with or without a leading component axis, or one for each component.
        grid: where the field is to live; values are converted to its precision.

    Raises:
        ValueError: as `describe_field`; or a shape that is not the grid's, or complex values on a real grid.
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
    with h5py.File(path, "r") as file:

        def read(index: tuple[slice, ...]) -> np.ndarray:
            chosen = range(components)[index[0]]
            if len(names) > 1:
                parts = [file[names[c]][index[1:]] for c in chosen]
            elif len(shape) > grid.dimensions:
                parts = [file[names[0]][(c, *index[1:])] for c in chosen]
            else:
                parts = [file[names[0]][index[1:]]]
            return np.stack(parts).astype(grid.physical_dtype)

        return from_global(read, grid, components)


def _datasets(file: h5py.File) -> list[str]:
    found: list[str] = []
    file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
    return found
