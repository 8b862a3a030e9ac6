"""Snapshots: real fields at the grid points in one HDF5 file that xarray opens, with a companion for ParaView.

The processes write their slabs into the one file in turn. That is slower than one file each, but what they leave
is an ordinary file: a virtual data set whose parts were moved or lost would read as fill values without any error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import jax
import numpy as np

from solver.cluster import Agreement, is_first
from solver.grid import Grid
from solver.io.files import make_folder, partial_path, publish
from solver.io.hdf5 import create, edit_hdf5, new_hdf5, seal
from solver.io.host import host_copy
from solver.io.vtkhdf import write_vtkhdf
from solver.io.vtkhdf_series import update_series

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


@dataclass(frozen=True)
class HeldVariable:
    """This process's part of a variable, on the host: index and values of each device's slab."""

    dtype: Any
    slabs: tuple[tuple[tuple[slice, ...], np.ndarray], ...]
    units: str
    labels: tuple[str, ...]


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
        DiskError: this process could not write; a file that was there is as it was.
        FailedElsewhere: another process could not.
    """
    hold_snapshot(path, variables, grid, step, t, attributes)(Agreement("files"))


def hold_snapshot(
    path: Path, variables: Mapping[str, Variable], grid: Grid, step: int, t: float, attributes: Mapping[str, Any]
) -> Callable[[Agreement], None]:
    """As `write_snapshot`, in two parts: copies the values to the host, and returns what writes them, in any thread."""
    held = {}
    for name, variable in variables.items():
        _check(name, variable, grid)
        own = [shard for shard in variable.values.addressable_shards if shard.replica_id == 0]
        slabs = tuple((shard.index, host_copy(shard.data)) for shard in own)
        held[name] = HeldVariable(variable.values.dtype, slabs, variable.units, variable.labels)
    told = {"step": step, "time": t, **attributes}
    return lambda agreement: _write(path, held, grid, told, agreement)


def _write(
    path: Path, held: Mapping[str, HeldVariable], grid: Grid, attributes: Mapping[str, Any], agreement: Agreement
) -> None:
    partial = partial_path(path)
    companion = path.with_suffix(".hdf")
    try:
        with agreement.together():
            if is_first():
                make_folder(path.parent)
                with new_hdf5(partial) as file:
                    _create(file, held, grid, attributes)
        with agreement.together(), agreement.in_turn():
            _write_slabs(partial, held)
        with agreement.together():
            if is_first():
                if grid.dimensions > 1:
                    write_vtkhdf(partial_path(companion), path.name, list(held), grid)
                seal(partial)
                publish(partial, path)
                if grid.dimensions > 1:
                    publish(partial_path(companion), companion)
                    update_series(path.parent)
    except Exception:
        for half in (partial, partial_path(companion)) if is_first() else ():
            half.unlink(missing_ok=True)
        raise


def _check(name: str, variable: Variable, grid: Grid) -> None:
    shape = variable.values.shape
    if shape[-grid.dimensions :] != grid.physical_shape or len(shape) - grid.dimensions != bool(variable.labels):
        needed = [*([len(variable.labels)] if variable.labels else []), *grid.physical_shape]
        raise ValueError(f"snapshot: {name} has shape {list(shape)}; {needed} is needed")
    if np.issubdtype(variable.values.dtype, np.complexfloating):
        raise ValueError(f"snapshot: {name} is complex; its real and imaginary parts are two variables")


def _create(file: h5py.File, variables: Mapping[str, HeldVariable], grid: Grid, attributes: Mapping[str, Any]) -> None:
    file.attrs.update(attributes)
    create(file, "time", attributes["time"])
    for name, points in zip(AXES, grid.coordinates(), strict=False):
        create(file, name, points.ravel()).make_scale(name)
        file[name].attrs["units"] = "length"
    for name, variable in variables.items():
        _create_variable(file, name, variable, grid)


def _create_variable(file: h5py.File, name: str, variable: HeldVariable, grid: Grid) -> None:
    shape = (*grid.physical_shape, *([len(variable.labels)] if variable.labels else []))
    chunk = (1, *shape[1:]) if grid.dimensions > 1 else shape
    data = file.create_dataset(name, shape, variable.dtype, chunks=chunk, fletcher32=True)
    data.attrs["units"] = variable.units
    for axis in range(grid.dimensions):
        data.dims[axis].label = AXES[axis]
        data.dims[axis].attach_scale(file[AXES[axis]])
    if variable.labels:
        data.dims[grid.dimensions].label = COMPONENT
        data.dims[grid.dimensions].attach_scale(_labels(file, name, variable, grid))


def _labels(file: h5py.File, name: str, variable: HeldVariable, grid: Grid) -> h5py.Dataset:
    """The scale that names components: one for all vectors, one for each variable whose components have own names."""
    scale = COMPONENT if variable.labels == tuple(AXES[: grid.dimensions]) else f"{name}_{COMPONENT}"
    if scale not in file:
        file.create_dataset(scale, data=list(variable.labels), dtype=h5py.string_dtype())
        file[scale].make_scale(scale)
    return file[scale]


def _write_slabs(path: Path, variables: Mapping[str, HeldVariable]) -> None:
    with edit_hdf5(path) as file:
        for name, variable in variables.items():
            for index, values in variable.slabs:
                if variable.labels:
                    file[name][*index[1:], index[0]] = np.moveaxis(values, 0, -1)
                else:
                    file[name][index] = values


def variables_in(file: h5py.File) -> list[str]:
    """Names of a snapshot's fields, without axes, labels and time."""
    names = [name for name in file if name not in (*AXES, "time")]
    return [name for name in names if name != COMPONENT and not name.endswith(f"_{COMPONENT}")]
