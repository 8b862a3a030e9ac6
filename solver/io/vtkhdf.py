"""Files for ParaView: a small VTKHDF file for each snapshot, with links to its data sets, and a list of these."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from solver.grid import Grid
from solver.io.files import partial_path, publish, write_text
from solver.io.hdf5 import new_hdf5

POINTS = "points"
NAME = "snapshots.hdf.series"  # ParaView 5.11 takes .hdf.series, not .vtkhdf.series, and no .pvd of VTKHDF files


def write_vtkhdf(path: Path, snapshot: str, names: Sequence[str], grid: Grid) -> None:
    """Write a file of links to the data sets `names` of `snapshot`, in the same folder; for two and three dimensions.

    VTK counts the contiguous axis first, which is z here. `Direction` reorders the axes, so that ParaView's X is x.
    Data sets `(x, y, z, component)` appear as vectors. The time is not in the file: ParaView 5.11 takes any array in
    its group FieldData for an array on the grid, and fails. It reads the times from the list of `update_series`.

    Between walls, where points are uneven, the file is a curved grid, whose places `write_points` has written.

    Source: the VTKHDF file format of VTK's documentation, version 1.0; 2.8 for curved grids, which VTK 9.7 reads.
    """
    with new_hdf5(path) as file:
        described = file.create_group("VTKHDF")
        (_describe_curved if grid.walls else _describe_image)(described, grid)
        data = described.create_group("PointData")
        for name in names:
            data[name] = h5py.ExternalLink(snapshot, name)


def _describe_image(image: h5py.Group, grid: Grid) -> None:
    points, spacing = grid.physical_shape[::-1], grid.spacing[::-1]
    flat = 3 - grid.dimensions
    image.attrs.create("Type", b"ImageData", dtype="S9")
    image.attrs["Version"] = np.array([1, 0])
    image.attrs["WholeExtent"] = np.array([bound for n in (*points, *[1] * flat) for bound in (0, n - 1)])
    first = [float(places.ravel()[0]) for places in grid.coordinates()[::-1]]
    image.attrs["Origin"] = np.array([*first, *[0.0] * flat])
    image.attrs["Spacing"] = np.array([*spacing, *[1.0] * flat])
    image.attrs["Direction"] = _direction(grid.dimensions)


def _describe_curved(curved: h5py.Group, grid: Grid) -> None:
    curved.attrs.create("Type", b"StructuredGrid", dtype="S14")
    curved.attrs["Version"] = np.array([2, 8])
    curved.attrs["Dimensions"] = np.array([*grid.physical_shape[::-1], *[1] * (3 - grid.dimensions)])
    curved["Points"] = h5py.ExternalLink(points_path(Path(), grid).name, POINTS)


def points_path(folder: Path, grid: Grid) -> Path:
    """Path of the file with the places of the points between walls, one for all snapshots in a folder."""
    return folder / f"{POINTS}-{'-'.join(map(str, grid.physical_shape))}.h5"


def write_points(folder: Path, grid: Grid) -> None:
    """Write the places of all points, in single precision, unless their file is there; first process only."""
    path = points_path(folder, grid)
    if path.exists():
        return
    x, *others = (places.ravel() for places in grid.coordinates())
    plane = np.stack(np.meshgrid(*others, indexing="ij"), axis=-1)
    with new_hdf5(partial_path(path)) as file:
        data = file.create_dataset(POINTS, (*[1] * (3 - grid.dimensions), *grid.physical_shape, 3), "f4")
        for i, at in enumerate(x):
            block = np.zeros((*plane.shape[:-1], 3))
            block[..., 0], block[..., 1 : grid.dimensions] = at, plane
            data[(..., i, *[slice(None)] * grid.dimensions)] = block
    publish(partial_path(path), path)


def _direction(dimensions: int) -> np.ndarray:
    """Rows are x, y, z; columns are the axes in storage, the contiguous one first."""
    turned = np.eye(3)
    turned[:dimensions, :dimensions] = np.eye(dimensions)[::-1]
    return turned.ravel()


def series_path(folder: Path) -> Path:
    """Path of the list of VTKHDF files with their times, which ParaView opens as one animation."""
    return folder / NAME


def update_series(folder: Path) -> None:
    """Bring the list up to date with the files in the folder; first process only.

    Raises:
        DiskError: the list could not be written; it is unchanged.
    """
    path = series_path(folder)
    companions = sorted(folder.glob("step-*.hdf"), key=lambda file: int(file.stem[5:]))
    if not companions:
        for left in (path, *folder.glob(f"{POINTS}-*.h5")):
            left.unlink(missing_ok=True)
        return
    known = _listed(path)
    times = {file.name: known[file.name] if file.name in known else _time(file) for file in companions}
    files = [{"name": name, "time": t} for name, t in times.items()]
    write_text(path, json.dumps({"file-series-version": "1.0", "files": files}, indent=1) + "\n")


def _listed(path: Path) -> dict[str, float]:
    """Names and times of a list; empty if it is missing or damaged."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["files"]
        return {entry["name"]: float(entry["time"]) for entry in entries}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _time(companion: Path) -> float:
    """Time of the snapshot of a VTKHDF file."""
    with h5py.File(companion.with_suffix(".h5"), "r") as file:
        return float(file.attrs["time"])
