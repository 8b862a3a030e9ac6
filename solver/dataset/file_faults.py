"""Faults of one HDF5 file of a data set: its layout as The Well describes it, its times, and its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from solver.dataset.layout import GROUPS, KINDS

ROOT = {"dataset_name": str, "grid_type": str, "n_spatial_dims": np.integer, "n_trajectories": np.integer}
ROUND_OFF = 4 * np.finfo(np.float32).eps  # of times, which are stored in single precision


def file_faults(file: h5py.File) -> Iterator[str]:
    """Yield each fault of a file, one line each; where the layout is wrong, nothing more is read."""
    found = list(_of_root(file))
    yield from found
    if found:
        return
    yield from (*_of_dimensions(file), *_of_boundaries(file), *_of_scalars(file), *_of_times(file))
    for order in range(3):
        yield from _of_fields(file, order)


def _of_root(file: h5py.File) -> Iterator[str]:
    for name, kind in ROOT.items():
        value = file.attrs.get(name)
        if not isinstance(value, kind):
            yield f"attribute {name} is {_said(value)}; {kind.__name__} is needed"
    for name in GROUPS:
        if not isinstance(file.get(name), h5py.Group):
            yield f"has no group {name}"
    yield from _words(file, "simulation_parameters", "the file")
    for name in file.attrs["simulation_parameters"] if _is_list(file, "simulation_parameters") else ():
        if name not in file.attrs or name not in file.get("scalars", ()):
            yield f"parameter {name}: an attribute of the file and a data set in scalars are needed"


def _of_dimensions(file: h5py.File) -> Iterator[str]:
    group = file["dimensions"]
    yield from _words(group, "spatial_dims", "dimensions")
    axes = list(group.attrs.get("spatial_dims", ()))
    if len(axes) != file.attrs["n_spatial_dims"]:
        yield f"dimensions: spatial_dims has {len(axes)} names; n_spatial_dims is {file.attrs['n_spatial_dims']}"
    for name in ("time", *axes):
        if not isinstance(group.get(name), h5py.Dataset) or group[name].ndim != 1 or not group[name].size:
            yield f"dimensions: a data set {name} of one axis is needed"
            continue
        yield from _flags(group[name], {"sample_varying": False, "time_varying": name == "time"})
        yield from _single(group[name])


def _of_boundaries(file: h5py.File) -> Iterator[str]:
    group, axes = file["boundary_conditions"], file["dimensions"].attrs.get("spatial_dims", ())
    covered = set()
    for name, boundary in group.items():
        for attribute in ("associated_dims", "associated_fields"):
            yield from _words(boundary, attribute, f"boundary_conditions/{name}")
        if boundary.attrs.get("bc_type") not in KINDS:
            kind = _said(boundary.attrs.get("bc_type"))
            yield f"boundary_conditions/{name}: bc_type is {kind}; {' or '.join(KINDS)} is needed"
        yield from _flags(boundary, {"sample_varying": False, "time_varying": False})
        along = [axis for axis in boundary.attrs.get("associated_dims", ()) if axis in axes]
        covered |= set(along)
        shape = tuple(_points(file, axis) for axis in along)
        mask = boundary.get("mask")
        if not isinstance(mask, h5py.Dataset) or mask.shape != shape or mask.dtype != bool or not mask[[0, -1]].all():
            yield f"boundary_conditions/{name}: a mask of shape {list(shape)} is needed, true at both ends"
    for axis in axes:
        if axis not in covered:
            yield f"boundary_conditions: none is given for axis {axis}"


def _of_scalars(file: h5py.File) -> Iterator[str]:
    group = file["scalars"]
    yield from _words(group, "field_names", "scalars")
    for name in group.attrs["field_names"] if _is_list(group, "field_names") else ():
        if not isinstance(group.get(name), h5py.Dataset):
            yield f"scalars: a data set {name} is needed"
            continue
        data = group[name]
        yield from _flags(data, {"time_varying": False})
        shape = (int(file.attrs["n_trajectories"]),) if data.attrs.get("sample_varying") else ()
        if data.shape != shape:
            yield f"{_place(data)} has shape {list(data.shape)}; {list(shape)} is needed"
        elif not np.isfinite(data[()]).all():
            yield f"{_place(data)} has values that are not finite"


def _of_times(file: h5py.File) -> Iterator[str]:
    """Times that are not uniform."""
    data = file["dimensions"].get("time")
    if not isinstance(data, h5py.Dataset) or data.ndim != 1 or data.size < 2:
        yield "dimensions/time: two times or more are needed"
        return
    times = data[:].astype(np.float64)
    even = np.linspace(times[0], times[-1], len(times))
    away = ~(np.abs(times - even) <= ROUND_OFF * np.abs(times).max())
    if times[-1] <= times[0] or away.any():
        place = int(np.argmax(away))
        yield f"dimensions/time: time {place} is {times[place]:.7g}; uniform times are needed, {even[place]:.7g} there"


def _of_fields(file: h5py.File, order: int) -> Iterator[str]:
    group, d = file[f"t{order}_fields"], int(file.attrs["n_spatial_dims"])
    yield from _words(group, "field_names", f"t{order}_fields")
    named = list(group.attrs["field_names"]) if _is_list(group, "field_names") else []
    yield from (f"t{order}_fields: {name} is not in field_names" for name in group if name not in named)
    points = tuple(_points(file, axis) for axis in file["dimensions"].attrs.get("spatial_dims", ()))
    shape = (int(file.attrs["n_trajectories"]), _points(file, "time"), *points, *(d,) * order)
    for name in named:
        data = group.get(name)
        if not isinstance(data, h5py.Dataset):
            yield f"t{order}_fields: a data set {name} is needed"
            continue
        yield from _flags(data, {"sample_varying": True, "time_varying": True})
        varying = data.attrs.get("dim_varying")
        if not isinstance(varying, np.ndarray) or varying.dtype != bool or list(varying) != [True] * d:
            yield f"{_place(data)}: dim_varying is {_said(varying)}; {[True] * d} is needed"
        if data.shape != shape:
            yield f"{_place(data)} has shape {list(data.shape)}; {list(shape)} is needed"
        else:
            yield from _single(data)
            yield from _not_finite(data)


def _not_finite(data: h5py.Dataset) -> Iterator[str]:
    """The first trajectory and time with values that are not finite; reads one time after another."""
    for trajectory in range(data.shape[0]):
        for time in range(data.shape[1]):
            if not np.isfinite(data[trajectory, time]).all():
                yield f"{_place(data)}: trajectory {trajectory}, time {time}: values that are not finite"
                return


def _points(file: h5py.File, name: str) -> int:
    data = file["dimensions"].get(name)
    return int(data.shape[-1]) if isinstance(data, h5py.Dataset) and data.ndim else 0


def _single(data: h5py.Dataset) -> Iterator[str]:
    if data.dtype != np.float32:
        yield f"{_place(data)} holds {data.dtype}; float32 is needed"


def _flags(data: Any, needed: dict[str, bool]) -> Iterator[str]:
    """Attributes that are truth values."""
    for name in ("sample_varying", "time_varying"):
        value = data.attrs.get(name)
        if not isinstance(value, np.bool_) or needed.get(name, value) != value:
            yield f"{_place(data)}: {name} is {_said(value)}; {needed.get(name, 'true or false')} is needed"


def _words(node: Any, attribute: str, place: str) -> Iterator[str]:
    if not _is_list(node, attribute):
        yield f"{place}: attribute {attribute} is {_said(node.attrs.get(attribute))}; a list of words is needed"


def _is_list(node: Any, attribute: str) -> bool:
    value = node.attrs.get(attribute)
    return isinstance(value, np.ndarray) and all(isinstance(word, str) for word in value)


def _said(value: Any) -> str:
    return "missing" if value is None else f"{value!r}" if isinstance(value, str) else str(value)


def _place(data: Any) -> str:
    return str(data.name).removeprefix("/")
