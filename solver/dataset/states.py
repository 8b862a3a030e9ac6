"""Fields that a member has written for a data set: one file for each time, read one field at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from solver.config import ConfigError
from solver.io import RunDirectory, dataset, read_hdf5, verify_data
from solver.io.hdf5 import seal_of
from solver.io.snapshots import variables_in
from solver.outputs.well import Well

AXES = "xyz"


@dataclass(frozen=True)
class StoredField:
    """A field of a member.

    Args:
        order: number of its indices: 0 for a scalar, 1 for a vector, 2 for a tensor.
        shape: `(x, y[, z])`, with `D` behind for a vector and `D, D` for a tensor.
        units: units of the values.
        symmetric: True if it is a symmetric tensor.
    """

    order: int
    shape: tuple[int, ...]
    units: str = ""
    symmetric: bool = False


@dataclass(frozen=True)
class States:
    """A member's fields at all times.

    Args:
        folder: folder of the member.
        files: one for each time.
        times: times of the files.
        fields: the fields of each file, by name.
        axes: positions of the points along x, y, z [length].
        bounded: names of the axes that end at walls.
    """

    folder: Path
    files: tuple[Path, ...]
    times: tuple[float, ...]
    fields: dict[str, StoredField]
    axes: dict[str, np.ndarray]
    bounded: frozenset[str] = frozenset()

    def digest(self) -> str:
        """A checksum of all files, made of the checksums that they end with."""
        return hashlib.sha256("".join(map(seal_of, self.files)).encode()).hexdigest()

    def values(self, place: int) -> Iterator[tuple[str, np.ndarray]]:
        """The fields at one time, one after the other; every byte of the file is checked before.

        Raises:
            ConfigError: the file is damaged.
        """
        for problem in verify_data(self.files[place]):
            raise ConfigError(f"{problem}; the member is needed once more: remove {self.folder}")
        with read_hdf5(self.files[place]) as file:
            for name, field in self.fields.items():
                yield name, dataset(file, name)[...].reshape(field.shape)


def read_states(folder: Path) -> States:
    """Find the files that the member in a folder has written.

    Raises:
        ConfigError: there are no states.
    """
    files = tuple(Well.files(RunDirectory(folder)))
    if not files:
        raise ConfigError(f"{folder} has no states of output.well: the member was carried out without it")
    with read_hdf5(files[0]) as file:
        symmetric = json.loads(file.attrs["symmetric"])
        axes = {axis: np.asarray(dataset(file, axis)[:]) for axis in AXES if axis in file}
        bounded = frozenset(axis for axis in axes if not dataset(file, axis).attrs.get("periodic", True))
        fields = {}
        for name in variables_in(file):
            data, d = dataset(file, name), len(axes)
            order = 0 if data.ndim == d else 1 if data.shape[d] == d else 2
            shape = data.shape[:d] + (d,) * order
            fields[name] = StoredField(order, shape, str(data.attrs["units"]), name in symmetric)
    return States(folder, files, tuple(map(_time, files)), fields, axes, bounded)


def _time(path: Path) -> float:
    with read_hdf5(path) as file:
        return float(file.attrs["time"])


def check_alike(members: list[States], every_time: float, end: float) -> None:
    """Raises ConfigError unless all members have the same fields at the same points and all the times to the end."""
    count = round(end / every_time)
    for states in members:
        counted = np.abs(np.asarray(states.times) - every_time * np.arange(len(states.times))) <= 1e-9 * every_time
        if len(states.times) != count + 1 or not counted.all():
            raise ConfigError(
                f"{states.folder}: {len(states.times)} times from t = {states.times[0]:g} to {states.times[-1]:g}; the "
                f"{count + 1} multiples of output.well.every_time = {every_time:g} from 0 to time.end = {end:g} are "
                "needed"
            )
        if states.fields != members[0].fields:
            raise ConfigError(
                f"{states.folder} has the fields {', '.join(states.fields)} and {members[0].folder} "
                f"{', '.join(members[0].fields)}; the same shapes in all members are needed"
            )
