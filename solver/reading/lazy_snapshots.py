"""All snapshots of a run as one xarray dataset along time; values are read from the files when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solver.io import Snapshot, read_snapshot
from solver.reading.datasets import STEP, TIME
from solver.reading.optional import is_installed, needed

WINDOW = {
    "since": {"units": "time", "long_name": "begin of the window, which ends at t"},
    "samples": {"units": "1", "long_name": "number of states in the window"},
}


def snapshots_dataset(paths: Sequence[Path], read: Callable[[Path], Snapshot] = read_snapshot) -> Any:
    """Dataset of fields `(t, x, y, z)` and vectors `(t, x, y, z, component)`; slices have fewer axes.

    Without files the dataset is empty.

    Raises:
        ValueError: a file is not a snapshot, or its fields differ from those of the first file.
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
    for other in snapshots[1:]:
        _check_alike(first, other)
    for name in first.window:
        coordinates[name] = ("t", np.array([snapshot.window[name] for snapshot in snapshots]), WINDOW[name])
    for name, points in first.axes.items():
        coordinates[name] = (name, points, {"units": "length", "long_name": f"{name[0]} of the grid point"})
    variables = {}
    for name, variable in first.variables.items():
        axes = ("t", *variable.sides)
        if variable.labels:
            coordinates[variable.along] = (variable.along, list(variable.labels), {"long_name": "component"})
            axes = (*axes, variable.along)
        about = {"units": variable.units, "long_name": name.replace("_", " "), **variable.at}
        lazy = xarray.Variable(axes, _lazily(snapshots, name), about)
        variables[name] = lazy.chunk({"t": 1}) if is_installed("dask") else lazy
    return xarray.Dataset(variables, coordinates, {"title": first.title})


def _check_alike(first: Snapshot, other: Snapshot) -> None:
    """Raises ValueError if the fields of two snapshots cannot form one array."""
    shapes = [{name: v.shape for name, v in snapshot.variables.items()} for snapshot in (first, other)]
    if shapes[0] != shapes[1] or first.window.keys() != other.window.keys():
        words = [", ".join(f"{name} {list(shape)}" for name, shape in each.items()) for each in shapes]
        raise ValueError(f"{other.path}: holds {words[1]}; {words[0]} are needed, as in {first.path.name}")


def _lazily(snapshots: Sequence[Snapshot], name: str) -> Any:
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
                return snapshots[which].values(name, inside)
            parts = [snapshot.values(name, inside) for snapshot in snapshots[which]]
            return np.stack(parts) if parts else np.empty((0, *self.shape[1:]), self.dtype)

    first = snapshots[0].variables[name]
    return indexing.LazilyIndexedArray(OverFiles((len(snapshots), *first.shape), first.dtype))
