"""The layout of an HDF5 file of The Well, as its docs/data_format.md and its checker describe it.

Times of writing are not stored, so that the same members make the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import h5py
import numpy as np

from solver.dataset.states import StoredField

KINDS = ("PERIODIC", "WALL")  # of boundaries
GROUPS = ("boundary_conditions", "dimensions", "scalars", "t0_fields", "t1_fields", "t2_fields")


def create_layout(
    file: h5py.File,
    dataset_name: str,
    times: Sequence[float],
    grid: Mapping[str, tuple[np.ndarray, bool]],
    fields: Mapping[str, StoredField],
    scalars: Sequence[Mapping[str, float]],
    constants: Mapping[str, float],
) -> None:
    """Create everything but the values of the fields.

    Args:
        file: an empty file.
        dataset_name: name of the data set.
        times: times of the states, the same for all trajectories.
        grid: for each axis the positions of the points, and True if it ends at walls.
        fields: by name.
        scalars: numbers of each trajectory by name.
        constants: numbers that all trajectories share.
    """
    axes = {name: points for name, (points, _) in grid.items()}
    file.attrs["dataset_name"] = dataset_name
    file.attrs["grid_type"] = "cartesian"
    file.attrs["n_spatial_dims"] = len(axes)
    file.attrs["n_trajectories"] = len(scalars)
    file.attrs["simulation_parameters"] = _words(constants)
    file.attrs.update(constants)
    for name in GROUPS:
        file.create_group(name)
    _add_dimensions(file["dimensions"], times, axes)
    _add_boundaries(file["boundary_conditions"], grid)
    _add_scalars(file["scalars"], scalars, constants)
    for order in range(3):
        own = {name: field for name, field in fields.items() if field.order == order}
        _add_fields(file[f"t{order}_fields"], own, len(scalars), len(times), len(axes))


def _words(words: Any) -> np.ndarray:
    """A list of words as an attribute, which may be empty."""
    return np.array(list(words), dtype=h5py.string_dtype())


def _add_dimensions(group: h5py.Group, times: Sequence[float], axes: Mapping[str, np.ndarray]) -> None:
    group.attrs["spatial_dims"] = _words(axes)
    for name, values in {"time": times, **axes}.items():
        data = group.create_dataset(name, data=np.asarray(values, np.float32), track_times=False)
        data.attrs["sample_varying"] = False
        data.attrs["time_varying"] = name == "time"


def _add_boundaries(group: h5py.Group, grid: Mapping[str, tuple[np.ndarray, bool]]) -> None:
    """Every axis is periodic or ends at walls, at its first and its last point."""
    for name, (points, is_bounded) in grid.items():
        boundary = group.create_group(f"{name}_wall" if is_bounded else f"{name}_periodic")
        boundary.attrs["associated_dims"] = _words([name])
        boundary.attrs["associated_fields"] = _words([])
        boundary.attrs["bc_type"] = KINDS[is_bounded]
        boundary.attrs["sample_varying"] = False
        boundary.attrs["time_varying"] = False
        mask: np.ndarray = np.zeros(len(points), bool)
        mask[[0, -1]] = True
        boundary.create_dataset("mask", data=mask, track_times=False)


def _add_scalars(group: h5py.Group, scalars: Sequence[Mapping[str, float]], constants: Mapping[str, float]) -> None:
    group.attrs["field_names"] = _words([*scalars[0], *constants])
    columns: dict[str, Any] = {name: [row[name] for row in scalars] for name in scalars[0]}
    for name, values in {**columns, **constants}.items():
        data = group.create_dataset(name, data=np.asarray(values, np.float32), track_times=False)
        data.attrs["sample_varying"] = name in columns
        data.attrs["time_varying"] = False


def _add_fields(group: h5py.Group, fields: Mapping[str, StoredField], trajectories: int, times: int, d: int) -> None:
    """Fields `(trajectory, time, x, y[, z][, D][, D])`, whose values are written later."""
    group.attrs["field_names"] = _words(fields)
    for name, field in fields.items():
        shape = (trajectories, times, *field.shape)
        data = group.create_dataset(name, shape, np.float32, fill_time="never", track_times=False)
        data.attrs["dim_varying"] = np.ones(d, bool)
        data.attrs["sample_varying"] = True
        data.attrs["time_varying"] = True
        data.attrs["units"] = field.units
        if field.order == 2:
            data.attrs["symmetric"] = field.symmetric
            data.attrs["antisymmetric"] = False
