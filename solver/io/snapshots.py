"""Snapshots: real fields at the grid points in one HDF5 file that xarray opens, with a companion for ParaView.

The processes write their slabs into the file one after another. That is slower than one file each, but the result is an
ordinary file: a virtual data set whose parts were moved or lost would read as fill values without any error.
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
from solver.io.checkpoint_writing import host_copy
from solver.io.files import make_folder, partial_path, publish
from solver.io.hdf5 import create, edit_hdf5, new_hdf5, seal, stored_dataset
from solver.io.manifest import step_of
from solver.io.subgrid import AXES, Subgrid
from solver.io.vtkhdf import update_series, write_points, write_vtkhdf

COMPONENT = "component"  # name of the axis of components, the last one of a data set
BODIES = "bodies"  # name of the quantity that is 1 in a body and 0 in the fluid


COMPRESSIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "gzip": {"compression": "gzip", "compression_opts": 4, "shuffle": True},
    "lzf": {"compression": "lzf", "shuffle": True},
}


@dataclass(frozen=True)
class Variable:
    """Data set of a snapshot.

    Args:
        values: real, `(x, y, z)`, or `(component, x, y, z)`, stored as `(x, y, z, component)`.
        units: units of the values.
        labels: labels of the components.
        subgrid: the part of the grid that is stored; everything if None.
    """

    values: jax.Array
    units: str = ""
    labels: tuple[str, ...] = ()
    subgrid: Subgrid | None = None


@dataclass(frozen=True)
class HeldVariable:
    """This process's part of a variable, on the host: index in the data set and values of each device's part."""

    dtype: Any
    slabs: tuple[tuple[tuple[slice, ...], np.ndarray], ...]
    units: str
    labels: tuple[str, ...]
    subgrid: Subgrid

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the data set."""
        return (*self.subgrid.shape, *([len(self.labels)] if self.labels else []))


def snapshot_path(folder: Path, step: int) -> Path:
    """Path of the snapshot of a step."""
    return folder / f"step-{step:08d}.h5"


def list_snapshots(folder: Path) -> list[Path]:
    """Paths of the snapshots in a folder, in the order of their steps."""
    return sorted(folder.glob("step-*.h5"), key=step_of)


def drop_snapshots(folder: Path, step: int) -> None:
    """Delete the snapshots after a step, and ParaView files without a snapshot; first process only."""
    for path in list_snapshots(folder):
        if step_of(path) > step:
            path.unlink()
    for companion in folder.glob("step-*.hdf"):
        if not companion.with_suffix(".h5").exists():
            companion.unlink()
    if folder.is_dir():
        update_series(folder)


def write_snapshot(
    path: Path,
    variables: Mapping[str, Variable],
    grid: Grid,
    step: int,
    t: float,
    attributes: Mapping[str, Any],
    compression: str = "none",
) -> None:
    """Write real fields. Collective: every process of the job calls it. An existing file is replaced.

    Args:
        path: the file to write.
        variables: variables by name.
        grid: the grid of the fields.
        step, t: step number and time of the state.
        attributes: attributes of the file, such as its title.
        compression: `none`, `gzip` (which every reader of HDF5 has) or `lzf` (which h5py has, and ParaView has not).

    Raises:
        ValueError: the values are not real, or not on this grid.
        DiskError: this process could not write; an existing file is unchanged.
        FailedElsewhere: another process could not write.
    """
    hold_snapshot(path, variables, grid, step, t, attributes, compression)(Agreement("files"))


def hold_snapshot(
    path: Path,
    variables: Mapping[str, Variable],
    grid: Grid,
    step: int,
    t: float,
    attributes: Mapping[str, Any],
    compression: str = "none",
    *,
    for_paraview: bool = True,
) -> Callable[[Agreement], None]:
    """Copy the values of a snapshot to the host, and return a function that writes them, in any thread."""
    held = {name: _held(name, variable, grid) for name, variable in variables.items()}
    all_attributes = {"step": step, "time": t, **attributes}
    filters = COMPRESSIONS[compression]
    return lambda agreement: _write(path, held, grid, all_attributes, filters, agreement, for_paraview)


def _held(name: str, variable: Variable, grid: Grid) -> HeldVariable:
    _check(name, variable, grid)
    subgrid = Subgrid.whole(grid.physical_shape) if variable.subgrid is None else variable.subgrid
    slabs = []
    for shard in variable.values.addressable_shards:
        index = shard.index[-grid.dimensions :]
        bounds = [s.indices(n)[:2] for s, n in zip(index, grid.physical_shape, strict=True)]
        overlap = subgrid.overlap(*zip(*bounds, strict=True))
        if shard.replica_id == 0 and overlap is not None:
            in_block, in_dataset = overlap
            part = shard.data if variable.subgrid is None else shard.data[(..., *in_block)]
            slabs.append((in_dataset, _without_dropped(host_copy(part), subgrid, bool(variable.labels))))
    return HeldVariable(variable.values.dtype, tuple(slabs), variable.units, variable.labels, subgrid)


def _without_dropped(values: np.ndarray, subgrid: Subgrid, components: bool) -> np.ndarray:
    """Move components to the last axis, and remove the axes that the subgrid drops."""
    values = np.moveaxis(values, 0, -1) if components else values
    return values.squeeze(tuple(axis for axis, dropped in enumerate(subgrid.dropped) if dropped))


def _write(
    path: Path,
    held: Mapping[str, HeldVariable],
    grid: Grid,
    attributes: Mapping[str, Any],
    filters: Mapping[str, Any],
    agreement: Agreement,
    for_paraview: bool,
) -> None:
    partial = partial_path(path)
    companion = path.with_suffix(".hdf")
    whole = all(v.shape[: grid.dimensions] == grid.physical_shape for v in held.values())
    for_paraview = for_paraview and grid.dimensions > 1 and whole
    try:
        with agreement.together():
            if is_first():
                make_folder(path.parent)
                with new_hdf5(partial) as file:
                    _create(file, held, grid, attributes, filters)
        with agreement.together(), agreement.in_turn():
            _write_slabs(partial, held)
        with agreement.together():
            if is_first():
                if for_paraview and grid.walls:
                    write_points(path.parent, grid)
                if for_paraview:
                    write_vtkhdf(partial_path(companion), path.name, list(held), grid)
                seal(partial)
                publish(partial, path)
                if for_paraview:
                    publish(partial_path(companion), companion)
                    update_series(path.parent)
    except Exception:
        for unfinished in (partial, partial_path(companion)) if is_first() else ():
            unfinished.unlink(missing_ok=True)
        raise


def _check(name: str, variable: Variable, grid: Grid) -> None:
    shape = variable.values.shape
    if shape[-grid.dimensions :] != grid.physical_shape or len(shape) - grid.dimensions != bool(variable.labels):
        needed = [*([len(variable.labels)] if variable.labels else []), *grid.physical_shape]
        raise ValueError(f"snapshot: {name} has shape {list(shape)}; {needed} is needed")
    if np.issubdtype(variable.values.dtype, np.complexfloating):
        raise ValueError(f"snapshot: {name} is complex; its real and imaginary parts are two variables")


def _create(
    file: h5py.File,
    variables: Mapping[str, HeldVariable],
    grid: Grid,
    attributes: Mapping[str, Any],
    filters: Mapping[str, Any],
) -> None:
    file.attrs.update(attributes)
    create(file, "time", attributes["time"])
    for name, variable in variables.items():
        _create_variable(file, name, variable, grid, filters)


def _create_variable(
    file: h5py.File, name: str, variable: HeldVariable, grid: Grid, filters: Mapping[str, Any]
) -> None:
    subgrid, shape = variable.subgrid, variable.shape
    data: Any
    if shape:
        chunk = (1, *shape[1:]) if len(subgrid.shape) > 1 else shape
        data = file.create_dataset(name, shape, variable.dtype, chunks=chunk, fletcher32=True, **filters)
    else:
        data = create(file, name, np.zeros((), variable.dtype))
    data.attrs["units"] = variable.units
    at = 0
    for axis, points in enumerate(grid.coordinates()):
        along = points.ravel()[subgrid.start[axis] : subgrid.stop[axis]]
        if subgrid.dropped[axis]:
            data.attrs[AXES[axis]] = along[0]
            continue
        whole = len(along) == points.size
        scale = AXES[axis] if whole else f"{AXES[axis]}_{subgrid.start[axis]}_{subgrid.stop[axis] - 1}"
        data.dims[at].label = scale
        data.dims[at].attach_scale(_scale(file, scale, along, periodic=whole and grid.periodic[axis]))
        at += 1
    if variable.labels:
        data.dims[at].label = COMPONENT
        data.dims[at].attach_scale(_labels(file, name, variable, grid))


def _scale(file: h5py.File, name: str, points: np.ndarray, *, periodic: bool) -> h5py.Dataset:
    """Positions along an axis, or a part of it."""
    if name not in file:
        create(file, name, points).make_scale(name)
        file[name].attrs["units"] = "length"
        file[name].attrs["periodic"] = periodic
    return file[name]


def _labels(file: h5py.File, name: str, variable: HeldVariable, grid: Grid) -> h5py.Dataset:
    """The scale of component names: one for all vectors, and one for each variable with other component names."""
    scale = COMPONENT if variable.labels == tuple(AXES[: grid.dimensions]) else f"{name}_{COMPONENT}"
    if scale not in file:
        file.create_dataset(scale, data=list(variable.labels), dtype=h5py.string_dtype())
        file[scale].make_scale(scale)
    return file[scale]


def _write_slabs(path: Path, variables: Mapping[str, HeldVariable]) -> None:
    with edit_hdf5(path) as file:
        for name, variable in variables.items():
            for index, values in variable.slabs:
                _write_by_planes(file[name], index, values)


def _write_by_planes(data: h5py.Dataset, index: tuple[slice, ...], values: np.ndarray) -> None:
    """Write plane by plane: HDF5 holds Python's lock while it compresses, and between planes the run can continue."""
    if len(index) < 2:
        data[index] = values
        return
    for i, plane in enumerate(values, index[0].start):
        data[(i, *index[1:])] = plane


def variables_in(file: h5py.File) -> list[str]:
    """Names of a snapshot's fields, without axes, labels and time.

    Raises:
        ValueError: an entry of the file is not a data set, or is a link to another file.
    """
    return [name for name in file if name != "time" and not stored_dataset(file, name).is_scale]
