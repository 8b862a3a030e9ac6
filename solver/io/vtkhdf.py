"""A small VTKHDF file next to a snapshot, which ParaView opens: it links to the snapshot's data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from solver.grid import Grid
from solver.io.hdf5 import new_hdf5


def write_vtkhdf(path: Path, snapshot: str, names: Sequence[str], grid: Grid) -> None:
    """Write a file of links to the data sets `names` of `snapshot`, in the same folder; for two and three dimensions.

    VTK counts the contiguous axis first, which is z here. `Direction` reorders the axes, so that ParaView's X is x.
    Data sets `(x, y, z, component)` appear as vectors. The time is not in the file: ParaView 5.11 takes any array in
    its group FieldData for an array on the grid, and fails. It reads the times from the list of `vtkhdf_series`.

    Source: the VTKHDF file format, version 1.0, of VTK's documentation.
    """
    points, spacing = grid.physical_shape[::-1], grid.spacing[::-1]
    flat = 3 - grid.dimensions
    with new_hdf5(path) as file:
        image = file.create_group("VTKHDF")
        image.attrs.create("Type", b"ImageData", dtype="S9")
        image.attrs["Version"] = np.array([1, 0])
        image.attrs["WholeExtent"] = np.array([bound for n in (*points, *[1] * flat) for bound in (0, n - 1)])
        first = [float(places.ravel()[0]) for places in grid.coordinates()[::-1]]
        image.attrs["Origin"] = np.array([*first, *[0.0] * flat])
        image.attrs["Spacing"] = np.array([*spacing, *[1.0] * flat])
        image.attrs["Direction"] = _direction(grid.dimensions)
        data = image.create_group("PointData")
        for name in names:
            data[name] = h5py.ExternalLink(snapshot, name)


def _direction(dimensions: int) -> np.ndarray:
    """Rows are x, y, z; columns are the axes in storage, the contiguous one first."""
    turned = np.eye(3)
    turned[:dimensions, :dimensions] = np.eye(dimensions)[::-1]
    return turned.ravel()
