"""A file of particles for ParaView: points at all times, with what they hold, in one VTKHDF file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from solver.grid import Grid
from solver.io.files import partial_path, publish
from solver.io.hdf5 import new_hdf5
from solver.io.rows import Table

POSITION, NUMBER = "position", "number"
TOPOLOGIES = ("Vertices", "Lines", "Polygons", "Strips")


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
