"""Snapshots: real fields at the grid points in one HDF5 file that xarray opens, with a companion for ParaView.

The processes write their slabs into the one file in turn. That is slower than one file each, but what they leave
is an ordinary file: a virtual data set whose parts were moved or lost would read as fill values without any error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import jax
import numpy as np

from solver.cluster import barrier, is_first
from solver.grid import Grid
from solver.io.files import partial_path, publish, sync
from solver.io.vtkhdf import write_vtkhdf

AXES = "xyz"
COMPONENT = "component"  # name of a data set's last axis, where it has one


@dataclass(frozen=True)
class Variable:
    """One data set of a snapshot.

    Args:
        values: real, `(x, y, z)`, or `(component, x, y, z)`, stored as `(x, y, z, component)`.
        units: of the values.
        labels: of the components.
    """

    values: jax.Array
    units: str = ""
    labels: tuple[str, ...] = ()


def snapshot_path(folder: Path, step: int) -> Path:
    """Where the snapshot of a step lies."""
    return folder / f"step-{step:08d}.h5"


def write_snapshot(
    path: Path, variables: Mapping[str, Variable], grid: Grid, step: int, t: float, attributes: Mapping[str, Any]
) -> None:
    """Write real fields; collective: every process of the job calls it. An existing file is replaced.

    Args:
        path: the file to write.
        variables: by name.
        grid: where they live.
        step, t: of the state.
        attributes: of the file, such as its title.

    Raises:
        ValueError: values that are not real, or not on this grid.
    """
    for name, variable in variables.items():
        _check(name, variable, grid)
    partial = partial_path(path)
    if is_first():
        path.parent.mkdir(parents=True, exist_ok=True)
        _create(partial, variables, grid, {"step": step, "time": t, **attributes})
    for process in range(jax.process_count()):
        barrier(f"snapshot {path.name}, turn of process {process}")
        if process == jax.process_index():
            _write_slabs(partial, variables)
    barrier(f"snapshot {path.name} written")
    if is_first():
        sync(partial)
        write_vtkhdf(path, list(variables), grid, t)
        publish(partial, path)


def _check(name: str, variable: Variable, grid: Grid) -> None:
    shape = variable.values.shape
    if shape[-grid.dimensions :] != grid.physical_shape or len(shape) - grid.dimensions != bool(variable.labels):
        needed = [*([len(variable.labels)] if variable.labels else []), *grid.physical_shape]
        raise ValueError(f"snapshot: {name} has shape {list(shape)}; {needed} is needed")
    if np.issubdtype(variable.values.dtype, np.complexfloating):
        raise ValueError(f"snapshot: {name} is complex; its real and imaginary parts are two variables")


def _create(path: Path, variables: Mapping[str, Variable], grid: Grid, attributes: Mapping[str, Any]) -> None:
    with h5py.File(path, "w") as file:
        file.attrs.update(attributes)
        file["time"] = attributes["time"]
        for name, points in zip(AXES, grid.coordinates(), strict=False):
            file[name] = points.ravel()
            file[name].make_scale(name)
            file[name].attrs["units"] = "length"
        for name, variable in variables.items():
            _create_variable(file, name, variable, grid)


def _create_variable(file: h5py.File, name: str, variable: Variable, grid: Grid) -> None:
    shape = (*grid.physical_shape, *([len(variable.labels)] if variable.labels else []))
    chunk = (1, *shape[1:]) if grid.dimensions > 1 else shape
    data = file.create_dataset(name, shape, variable.values.dtype, chunks=chunk, fletcher32=True)
    data.attrs["units"] = variable.units
    for axis in range(grid.dimensions):
        data.dims[axis].label = AXES[axis]
        data.dims[axis].attach_scale(file[AXES[axis]])
    if variable.labels:
        data.dims[grid.dimensions].label = COMPONENT
        data.dims[grid.dimensions].attach_scale(_labels(file, name, variable, grid))


def _labels(file: h5py.File, name: str, variable: Variable, grid: Grid) -> h5py.Dataset:
    """The scale that names components: one for all vectors, one for each variable whose components have own names."""
    scale = COMPONENT if variable.labels == tuple(AXES[: grid.dimensions]) else f"{name}_{COMPONENT}"
    if scale not in file:
        file.create_dataset(scale, data=list(variable.labels), dtype=h5py.string_dtype())
        file[scale].make_scale(scale)
    return file[scale]


def _write_slabs(path: Path, variables: Mapping[str, Variable]) -> None:
    with h5py.File(path, "r+") as file:
        for name, variable in variables.items():
            for shard in variable.values.addressable_shards:
                if shard.replica_id != 0:
                    continue
                if variable.labels:
                    file[name][*shard.index[1:], shard.index[0]] = np.moveaxis(np.asarray(shard.data), 0, -1)
                else:
                    file[name][shard.index] = np.asarray(shard.data)


def variables_in(file: h5py.File) -> list[str]:
    """Names of a snapshot's fields, without axes, labels and time."""
    names = [name for name in file if name not in (*AXES, "time")]
    return [name for name in names if name != COMPONENT and not name.endswith(f"_{COMPONENT}")]


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
