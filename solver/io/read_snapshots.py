"""Reading snapshots: what a file holds, and parts of its fields. No link out of a file is followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from solver.io.checkpoint_store import step_of
from solver.io.hdf5 import dataset, read_hdf5, words
from solver.io.snapshots import AXES, variables_in


@dataclass(frozen=True)
class SnapshotVariable:
    """One field of a snapshot.

    Args:
        shape: of the data set: the points, and the components of a vector as its last axis.
        dtype: of the values.
        units: of them.
        labels: of the components; none for a scalar.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    units: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Snapshot:
    """What a snapshot's file says of itself; the fields are read by `values`.

    Args:
        path: the file.
        step, t: of the state.
        title: of the run.
        axes: coordinates of the points [length], by name.
        variables: by name.
    """

    path: Path
    step: int
    t: float
    title: str
    axes: Mapping[str, np.ndarray]
    variables: Mapping[str, SnapshotVariable]

    def values(self, name: str, index: Any = ()) -> np.ndarray:
        """Values of a field, or those of an index of its data set `(x, y, z, component)`; the rest is not read.

        Raises:
            ValueError: no such field, or it does not lie in the file itself.
        """
        with read_hdf5(self.path) as file:
            return np.asarray(dataset(file, name)[index])


def list_snapshots(folder: Path) -> list[Path]:
    """Paths of the snapshots in a folder, in the order of their steps."""
    return sorted(folder.glob("step-*.h5"), key=step_of)


def read_snapshot(path: Path) -> Snapshot:
    """What a snapshot's file holds.

    Raises:
        ValueError: not a snapshot, damaged, or its data lie in other files.
    """
    with read_hdf5(path) as file:
        missing = [key for key in ("step", "time") if key not in file.attrs]
        axes = {name: dataset(file, name)[:] for name in AXES if name in file}
        if missing or not axes:
            raise ValueError(f"{path}: not a snapshot; attributes step and time, and coordinates x, y, z are needed")
        title = str(file.attrs.get("title", ""))
        variables = {name: _variable(file, name, len(axes)) for name in variables_in(file)}
        return Snapshot(path, int(file.attrs["step"]), float(file.attrs["time"]), title, axes, variables)


def _variable(file: h5py.File, name: str, dimensions: int) -> SnapshotVariable:
    data = dataset(file, name)
    labels = () if data.ndim == dimensions else tuple(words(file, data.dims[dimensions].keys()[0]))
    return SnapshotVariable(data.shape, data.dtype, str(data.attrs.get("units", "")), labels)
