"""Files for ParaView: a VTKHDF file for each snapshot, with links to its data, their list, and files of particles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from solver.grid import Grid
from solver.io.files import partial_path, publish, write_text
from solver.io.hdf5 import new_hdf5
from solver.io.rows import Table

POINTS = "points"
NAME = "snapshots.hdf.series"  # ParaView 5.11 takes .hdf.series, not .vtkhdf.series, and no .pvd of VTKHDF files
POSITION, NUMBER = "position", "number"
TOPOLOGIES = ("Vertices", "Lines", "Polygons", "Strips")


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


def write_particles_vtkhdf(path: Path, table: Table, grid: Grid) -> None:
    """Write particles at all times of a table as one file, in place of an existing one; first process only.

    Positions are put back into the periodic box, so that they lie in the fields of snapshots. All numbers are in single
    precision; vectors have three components. Each point is a cell of its own, so that filters and glyphs show it.

    Args:
        path: file to write, which ends in .hdf.
        table: rows with a column `position` `(t, particle, direction)`, and others `(t, particle, …)`.
        grid: has the sides of the box, and says which are periodic.

    Raises:
        DiskError: it could not be written; an existing file is unchanged.

    Source: the VTKHDF file format of VTK's documentation, version 2.0, PolyData in time: VTK 9.3, ParaView 5.12.
    """
    position = table.values[POSITION]
    steps, count, d = position.shape
    wrapped = np.zeros((steps, count, 3), np.float32)
    wrapped[..., :d] = _in_box(position, grid)
    arrays = {name: _as_points(values, d) for name, values in table.values.items() if name != POSITION}
    try:
        with new_hdf5(partial_path(path)) as file:
            described = file.create_group("VTKHDF")
            described.attrs.create("Type", b"PolyData", dtype="S8")
            described.attrs["Version"] = np.array([2, 0])
            described["NumberOfPoints"] = np.array([count])
            described["Points"] = wrapped.reshape(-1, 3)
            for name in TOPOLOGIES:
                _describe_cells(described.create_group(name), count if name == "Vertices" else 0)
            data = described.create_group("PointData")
            data[NUMBER] = np.tile(np.arange(count), steps)
            for name, values in arrays.items():
                data[name] = values
            _describe_steps(described.create_group("Steps"), table.t, count, list(data))
        publish(partial_path(path), path)
    except Exception:
        partial_path(path).unlink(missing_ok=True)
        raise


def _in_box(position: np.ndarray, grid: Grid) -> np.ndarray:
    lengths = np.asarray(grid.box.lengths)
    x = np.mod(position, lengths).astype(np.float32)
    x = np.where(x >= lengths.astype(np.float32), np.float32(0), x)  # rounded up to the end of the box
    return np.where(grid.periodic, x, position.astype(np.float32))


def _as_points(values: np.ndarray, d: int) -> np.ndarray:
    """Values `(point, component)` of all times; vectors and gradients with three directions, zero where there are
    fewer."""
    steps, count, *rest = values.shape
    if not rest:
        return values.reshape(-1).astype(np.float32)
    if any(n != d for n in rest):
        return values.reshape(steps * count, -1).astype(np.float32)
    padded = np.zeros((steps, count, *[3] * len(rest)), np.float32)
    padded[(slice(None), slice(None), *[slice(d)] * len(rest))] = values
    return padded.reshape(steps * count, -1)


def _describe_cells(group: h5py.Group, count: int) -> None:
    """The first `count` points as cells of one point each, which all times share."""
    group["NumberOfCells"] = np.array([count])
    group["NumberOfConnectivityIds"] = np.array([count])
    group["Offsets"] = np.arange(count + 1)
    group["Connectivity"] = np.arange(count)


def _describe_steps(steps: h5py.Group, t: np.ndarray, count: int, arrays: Sequence[str]) -> None:
    begin: np.ndarray = np.arange(len(t), dtype=np.int64) * count
    steps.attrs["NSteps"] = len(t)
    steps["Values"] = np.asarray(t, np.float64)
    steps["NumberOfParts"] = np.ones(len(t), np.int64)
    steps["PartOffsets"] = np.zeros(len(t), np.int64)
    steps["PointOffsets"] = begin
    for name in ("CellOffsets", "ConnectivityIdOffsets"):
        steps[name] = np.zeros((len(t), len(TOPOLOGIES)), np.int64)
    offsets = steps.create_group("PointDataOffsets")
    for name in arrays:
        offsets[name] = begin
