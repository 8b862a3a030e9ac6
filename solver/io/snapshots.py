"""Snapshots: real fields at the grid points, in one HDF5 file that xarray opens, with an XDMF file for ParaView.

The processes write their slabs into the one file in turn. That is slower than one file each, but what they leave
is an ordinary file: a virtual data set whose parts were moved or lost would read as fill values without any error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import jax
import numpy as np

from solver.cluster import barrier, is_first
from solver.grid import Grid
from solver.io.files import partial_path, publish, sync
from solver.io.xdmf import write_xdmf

AXES = "xyz"


def snapshot_path(folder: Path, step: int) -> Path:
    """Where the snapshot of a step lies."""
    return folder / f"step-{step:08d}.h5"


def write_snapshot(
    path: Path,
    fields: Mapping[str, jax.Array],
    grid: Grid,
    step: int,
    t: float,
    attributes: Mapping[str, Any],
    units: Mapping[str, str] | None = None,
) -> None:
    """Write real fields `grid.physical_shape` by name; collective. An existing snapshot of the step is left alone.

    Args:
        path: the file to write.
        fields: values at the points by name.
        grid: where they live.
        step, t: of the state.
        attributes: of the file, such as its title.
        units: of the fields, as far as they are known.
    """
    if path.exists():
        return
    partial = partial_path(path)
    if is_first():
        path.parent.mkdir(parents=True, exist_ok=True)
        _create(partial, fields, grid, {"step": step, "time": t, **attributes}, units or {})
    for process in range(jax.process_count()):
        barrier(f"snapshot {path.name}, turn of process {process}")
        if process == jax.process_index():
            _write_slabs(partial, fields)
    barrier(f"snapshot {path.name} written")
    if is_first():
        sync(partial)
        write_xdmf(path, list(fields), grid, t)
        publish(partial, path)


def _create(
    path: Path, fields: Mapping[str, jax.Array], grid: Grid, attributes: Mapping[str, Any], units: Mapping[str, str]
) -> None:
    with h5py.File(path, "w") as file:
        file.attrs.update(attributes)
        file["time"] = attributes["time"]
        for name, points in zip(AXES, grid.coordinates(), strict=False):
            file[name] = points.ravel()
            file[name].make_scale(name)
            file[name].attrs["units"] = "length"
        shape = grid.physical_shape
        for name, field in fields.items():
            chunk = (1, *shape[1:]) if len(shape) > 1 else shape
            data = file.create_dataset(name, shape, field.dtype, chunks=chunk, fletcher32=True)
            if name in units:
                data.attrs["units"] = units[name]
            for axis in range(grid.dimensions):
                data.dims[axis].attach_scale(file[AXES[axis]])


def _write_slabs(path: Path, fields: Mapping[str, jax.Array]) -> None:
    with h5py.File(path, "r+") as file:
        for name, field in fields.items():
            for shard in field.addressable_shards:
                if shard.replica_id == 0:
                    file[name][shard.index] = np.asarray(shard.data)


def verify_data(path: Path) -> list[str]:
    """What is wrong with a snapshot or spectra file, as lines: reads everything, so that checksums are compared."""
    try:
        with h5py.File(path, "r") as file:
            for data in file.values():
                for piece in _pieces(data):
                    data[piece]
    except (OSError, RuntimeError) as error:
        return [f"{path}: {error}"]
    return []


def _pieces(data: h5py.Dataset) -> list[Any]:
    if data.ndim == 0 or math.prod(data.shape) < 2**20:
        return [()]
    return list(range(data.shape[0]))
