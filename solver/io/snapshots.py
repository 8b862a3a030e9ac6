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
from solver.io.hdf5 import create, edit_hdf5, in_the_file_itself, new_hdf5, seal
from solver.io.host import host_copy
from solver.io.manifest import step_of
from solver.io.subgrid import AXES, Subgrid
from solver.io.vtkhdf import write_vtkhdf
from solver.io.vtkhdf_series import update_series

COMPONENT = "component"  # name of a data set's last axis, where it has one


COMPRESSIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "gzip": {"compression": "gzip", "compression_opts": 4, "shuffle": True},
    "lzf": {"compression": "lzf", "shuffle": True},
}


@dataclass(frozen=True)
class Variable:
    """One data set of a snapshot.

    Args:
        values: real, `(x, y, z)`, or `(component, x, y, z)`, stored as `(x, y, z, component)`.
        units: of the values.
        labels: of the components.
        subgrid: the part of the grid that is stored; everything if None.
    """

    values: jax.Array
    units: str = ""
    labels: tuple[str, ...] = ()
    subgrid: Subgrid | None = None


@dataclass(frozen=True)
class HeldVariable:
    """This process's part of a variable, on the host: where in the data set, and values, of each device's part."""

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
    """Where the snapshot of a step lies."""
    return folder / f"step-{step:08d}.h5"


def list_snapshots(folder: Path) -> list[Path]:
    """Paths of the snapshots in a folder, in the order of their steps."""
    return sorted(folder.glob("step-*.h5"), key=step_of)


def drop_snapshots(folder: Path, step: int) -> None:
    """Delete those beyond a step, and files for ParaView that lead nowhere; first process only."""
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
    """Write real fields; collective: every process of the job calls it. An existing file is replaced.

    Args:
        path: the file to write.
        variables: by name.
        grid: where they live.
        step, t: of the state.
        attributes: of the file, such as its title.
        compression: `none`, `gzip` (which every reader of HDF5 has) or `lzf` (which h5py has, and ParaView has not).

    Raises:
        ValueError: values that are not real, or not on this grid.
        DiskError: this process could not write; a file that was there is as it was.
        FailedElsewhere: another process could not.
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
) -> Callable[[Agreement], None]:
    """As `write_snapshot`, in two parts: copies the values to the host, and returns what writes them, in any thread."""
    held = {name: _held(name, variable, grid) for name, variable in variables.items()}
    told = {"step": step, "time": t, **attributes}
    return lambda agreement: _write(path, held, grid, told, COMPRESSIONS[compression], agreement)


def _held(name: str, variable: Variable, grid: Grid) -> HeldVariable:
    _check(name, variable, grid)
    subgrid = Subgrid.whole(grid.physical_shape) if variable.subgrid is None else variable.subgrid
    slabs = []
    for shard in variable.values.addressable_shards:
        index = shard.index[-grid.dimensions :]
        bounds = [s.indices(n)[:2] for s, n in zip(index, grid.physical_shape, strict=True)]
        overlap = subgrid.overlap(*zip(*bounds, strict=True))
        if shard.replica_id == 0 and overlap is not None:
            here, there = overlap
            part = shard.data if variable.subgrid is None else shard.data[(..., *here)]
            slabs.append((there, _without_dropped(host_copy(part), subgrid, bool(variable.labels))))
    return HeldVariable(variable.values.dtype, tuple(slabs), variable.units, variable.labels, subgrid)


def _without_dropped(values: np.ndarray, subgrid: Subgrid, components: bool) -> np.ndarray:
    """Components behind, the axes that the subgrid drops taken away."""
    values = np.moveaxis(values, 0, -1) if components else values
    return values.squeeze(tuple(axis for axis, dropped in enumerate(subgrid.dropped) if dropped))


def _write(
    path: Path,
    held: Mapping[str, HeldVariable],
    grid: Grid,
    attributes: Mapping[str, Any],
    filters: Mapping[str, Any],
    agreement: Agreement,
) -> None:
    partial = partial_path(path)
    companion = path.with_suffix(".hdf")
    for_paraview = grid.dimensions > 1 and all(v.shape[: grid.dimensions] == grid.physical_shape for v in held.values())
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
                if for_paraview:
                    write_vtkhdf(partial_path(companion), path.name, list(held), grid)
                seal(partial)
                publish(partial, path)
                if for_paraview:
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
        data.dims[at].attach_scale(_scale(file, scale, along))
        at += 1
    if variable.labels:
        data.dims[at].label = COMPONENT
        data.dims[at].attach_scale(_labels(file, name, variable, grid))


def _scale(file: h5py.File, name: str, points: np.ndarray) -> h5py.Dataset:
    """Positions along an axis, or a part of it."""
    if name not in file:
        create(file, name, points).make_scale(name)
        file[name].attrs["units"] = "length"
    return file[name]


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
                _write_by_planes(file[name], index, values)


def _write_by_planes(data: h5py.Dataset, index: tuple[slice, ...], values: np.ndarray) -> None:
    """A plane at a time: HDF5 holds Python's lock while it compresses, and the run is to go on between two."""
    if len(index) < 2:
        data[index] = values
        return
    for i, plane in enumerate(values, index[0].start):
        data[(i, *index[1:])] = plane


def variables_in(file: h5py.File) -> list[str]:
    """Names of a snapshot's fields, without axes, labels and time.

    Raises:
        ValueError: something in the file is no data set, or a link to another file.
    """
    return [name for name in file if name != "time" and not in_the_file_itself(file, name).is_scale]
