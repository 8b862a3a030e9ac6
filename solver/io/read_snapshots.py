"""Reads snapshots, slices and mean fields, whole or in parts. Links out of a file are not followed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from solver.io.hdf5 import dataset, read_hdf5, words
from solver.io.snapshots import AXES, variables_in

SIDE = re.compile(r"([xyz])(?:_(\d+)_(\d+))?")  # a scale of positions: all points of an axis, or those of a range


@dataclass(frozen=True)
class SnapshotVariable:
    """Description of a field of a snapshot.

    Args:
        shape: shape of the data set: the points, and the components of a vector as its last axis.
        dtype: type of the values.
        units: units of the values.
        labels: labels of the components; empty for a scalar.
        sides: names of the coordinates along the points.
        along: name of the axis of components; empty for a scalar.
        at: positions [length] on the axes that a slice drops.
        stored: name of the data set.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    units: str
    labels: tuple[str, ...]
    sides: tuple[str, ...] = ()
    along: str = ""
    at: Mapping[str, float] = field(default_factory=dict)
    stored: str = ""

    @property
    def part(self) -> str:
        """The ending of a slice's name, such as `z12` or `x3-9`; empty for the whole grid."""
        matches = [SIDE.fullmatch(side) for side in self.sides]
        kept = {match[1]: f"{match[2]}-{match[3]}" for match in matches if match and match[2]}
        known = [
            rf"{axis}\d+" if axis in self.at else f"{axis}{kept[axis]}" for axis in AXES if axis in {*self.at, *kept}
        ]
        ending = re.search(f"_({'_'.join(known)})$", self.stored) if known else None
        return ending[1] if ending else ""


@dataclass(frozen=True)
class Snapshot:
    """The description in a snapshot's file; `values` reads the fields.

    Args:
        path: the file.
        step, t: step number and time of the state.
        title: title of the run.
        axes: coordinates of the points [length], by name.
        variables: variables by name.
        bounded: names of the axes that end, by a wall or since they are a part of one.
        place: position of a part of the grid, in words; empty for the whole grid.
        window: numbers `since` and `samples` of the averaging window of mean fields; else empty.
        kind: name of its kind of files, in the plural.
        viscosity: ν [length²/time] where ν∇²u is all that damps the velocity; else None.
        equation: name of the equation; empty if the file does not say it.
    """

    path: Path
    step: int
    t: float
    title: str
    axes: Mapping[str, np.ndarray]
    variables: Mapping[str, SnapshotVariable]
    bounded: frozenset[str] = frozenset()
    place: str = ""
    window: Mapping[str, float] = field(default_factory=dict)
    kind: str = "snapshots"
    viscosity: float | None = None
    equation: str = ""

    def values(self, name: str, index: Any = ()) -> np.ndarray:
        """Values of a field, or of an index into its data set `(x, y, z, component)`; only these are read.

        Raises:
            ValueError: there is no such field, or it is not stored in the file itself.
        """
        variable = self.variables.get(name)
        stored = variable.stored if variable is not None and variable.stored else name
        with read_hdf5(self.path) as file:
            return np.asarray(dataset(file, stored)[index])

    def parts(self) -> list[str]:
        """Names of the parts of the grid that a file of slices holds, in the order of the file."""
        return list(dict.fromkeys(variable.part for variable in self.variables.values()))

    def of_part(self, part: str) -> Snapshot:
        """The fields of one part, under their own names and over the axes x, y, z that the part has.

        Raises:
            ValueError: the file has no such part.
        """
        mine = {name: v for name, v in self.variables.items() if v.part == part}
        if not mine:
            raise ValueError(f"{self.path}: has no part {part!r}; it has {', '.join(self.parts()) or 'none'}")
        first = next(iter(mine.values()))
        place = ", ".join(f"{axis} = {position:.3g}" for axis, position in first.at.items())
        fields = {name.removesuffix(f"_{part}"): v for name, v in mine.items()}
        bounded = frozenset(side[0] for side in first.sides if side in self.bounded)
        axes = {side[0]: self.axes[side] for side in first.sides}
        return replace(self, axes=axes, variables=fields, bounded=bounded, place=place)


def read_snapshot(path: Path) -> Snapshot:
    """Read the description of a snapshot.

    Raises:
        ValueError: the file is not a snapshot, is damaged, or has its data in other files.
    """
    with read_hdf5(path) as file:
        if not any(name in file for name in AXES):
            raise ValueError(f"{path}: not a snapshot; attributes step and time, and coordinates x, y, z are needed")
        return _read(path, file)


def read_slices(path: Path) -> Snapshot:
    """Read the description of a file of slices: variables such as `velocity_z12`, each with its axes and positions.

    Raises:
        ValueError: the file is not one of slices, is damaged, or has its data in other files.
    """
    with read_hdf5(path) as file:
        return replace(_read(path, file), kind="slices")


def _read(path: Path, file: h5py.File) -> Snapshot:
    if any(key not in file.attrs for key in ("step", "time")):
        raise ValueError(f"{path}: not a snapshot; attributes step and time, and coordinates x, y, z are needed")
    axes = {name: dataset(file, name)[:] for name in sorted(file) if SIDE.fullmatch(name)}
    bounded = frozenset(name for name in axes if not file[name].attrs.get("periodic", True))
    variables = {name: _variable(file, name) for name in variables_in(file)}
    window = {key: float(file.attrs[key]) for key in ("since", "samples") if key in file.attrs}
    title = str(file.attrs.get("title", ""))
    step, t = int(file.attrs["step"]), float(file.attrs["time"])
    kind = "statistics" if window else "snapshots"
    viscosity = float(file.attrs["viscosity"]) if "viscosity" in file.attrs else None
    about: dict[str, Any] = {"viscosity": viscosity, "equation": str(file.attrs.get("equation", ""))}
    return Snapshot(path, step, t, title, axes, variables, bounded, window=window, kind=kind, **about)


def _variable(file: h5py.File, name: str) -> SnapshotVariable:
    data = dataset(file, name)
    scales = [next(iter(dim.keys()), "") for dim in data.dims]
    sides = tuple(scale for scale in scales if SIDE.fullmatch(scale))
    along = scales[-1] if len(sides) < data.ndim else ""
    labels = tuple(words(file, along)) if along else ()
    at = {axis: float(data.attrs[axis]) for axis in AXES if axis in data.attrs}
    units = str(data.attrs.get("units", ""))
    return SnapshotVariable(data.shape, data.dtype, units, labels, sides, along, at, name)
