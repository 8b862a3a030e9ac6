"""A small VTKHDF file beside a snapshot, which ParaView opens: it links to the snapshot's data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from solver.grid import Grid
from solver.io.files import partial_path, publish, sync


def write_vtkhdf(snapshot: Path, names: Sequence[str], grid: Grid, t: float) -> None:
    """Write `snapshot` with the ending .hdf beside it; two and three dimensions only.

    VTK counts the contiguous axis first, which is z here. `Direction` turns the axes back, so that ParaView's X is x.
    Data sets `(x, y, z, component)` arrive as vectors.

    Source: the VTKHDF file format, version 1.0, of VTK's documentation.
    """
    if grid.dimensions == 1:
        return
    final = snapshot.with_suffix(".hdf")
    partial = partial_path(final)
    points, spacing = grid.physical_shape[::-1], grid.spacing[::-1]
    flat = 3 - grid.dimensions
    with h5py.File(partial, "w") as file:
        image = file.create_group("VTKHDF")
        image.attrs.create("Type", b"ImageData", dtype="S9")
        image.attrs["Version"] = np.array([1, 0])
        image.attrs["WholeExtent"] = np.array([bound for n in (*points, *[1] * flat) for bound in (0, n - 1)])
        image.attrs["Origin"] = np.zeros(3)
        image.attrs["Spacing"] = np.array([*spacing, *[1.0] * flat])
        image.attrs["Direction"] = _direction(grid.dimensions)
        data = image.create_group("PointData")
        for name in names:
            data[name] = h5py.ExternalLink(snapshot.name, name)
        image.create_group("FieldData")["TimeValue"] = np.array([t])
    sync(partial)
    publish(partial, final)


def _direction(dimensions: int) -> np.ndarray:
    """Rows are x, y, z; columns the axes in storage, the contiguous one first."""
    turned = np.eye(3)
    turned[:dimensions, :dimensions] = np.eye(dimensions)[::-1]
    return turned.ravel()
