"""snapshots/: fields at the grid points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import h5py
import numpy as np

from solver.equations.system import PeriodicSystem
from solver.io import Job, RunDirectory, hold_snapshot, snapshot_path, step_of, variables_in, verify_data
from solver.outputs.at_points import Compression, Precision, Selection, trace_values, variables
from solver.outputs.base import Output, Run
from solver.outputs.figures import pyplot, save
from solver.steppers.base import State


@dataclass(frozen=True)
class Snapshots(Output):
    """Real fields at the points, one HDF5 file for each state, and a VTKHDF file of links.

    A vector is one data set `(x, y, z, component)` whose components are labelled; every data set has its units. The
    transforms of the quantities; no gather. On fewer points the values are those of the modes that the coarser grid
    has, free of aliasing.

    Args:
        fields: names of what is written, of the equation's `snapshot` and of what can be derived (`vorticity`, …); all
            of `snapshot` if empty.
        coarsen: by how much fewer points there are along each axis than the grid has.
        precision: `float32` halves the files of a double-precision run.
        compression: `gzip` (every reader of HDF5 has it), `lzf` (h5py has it, ParaView has not) or `none`. Turbulence
            in full precision hardly shrinks, and the processes write in turn, so none is the default here.

    Raises:
        ValueError: `coarsen` is not positive.
    """

    fields: tuple[str, ...] = ()
    coarsen: int = 1
    precision: Precision = "grid"
    compression: Compression = "none"

    name: ClassVar[str] = "snapshots"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.coarsen < 1:
            raise ValueError(f"coarsen = {self.coarsen}: one or more is needed")

    @property
    def selection(self) -> Selection:
        """What is written of each state."""
        return Selection(self.fields, self.precision, self.coarsen)

    def check(self, equation: PeriodicSystem) -> None:
        self.selection.check(equation, "output.snapshots")

    def programs(self, equation: PeriodicSystem, state: State) -> dict[str, Any]:
        return {"snapshots": trace_values(self.selection, equation, state.field)}

    def write(self, run: Run, state: State) -> None:
        run.writer.submit(lambda: self._copied(run, state))

    def _copied(self, run: Run, state: State) -> Job:
        equation, step = run.equation, int(state.step)
        return hold_snapshot(
            snapshot_path(run.directory.snapshots, step),
            variables(equation, self.selection, state.field),
            self.selection.grid(equation),
            step,
            float(state.t),
            {"title": run.title, "equation": equation.name},
            self.compression,
        )

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        for path in snapshots(directory):
            if step_of(path) > step:
                path.unlink()
        for companion in directory.snapshots.glob("step-*.hdf"):
            if not companion.with_suffix(".h5").exists():
                companion.unlink()

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        return {path: verify_data(path) for path in snapshots(directory)}

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path) -> list[Path]:
        """One figure for each snapshot: a slice of every component."""
        return [path for snapshot in snapshots(directory) for path in _slice(snapshot, folder / f"{snapshot.stem}.png")]


def snapshots(directory: RunDirectory) -> list[Path]:
    """Paths of a run's snapshots, in the order of their steps."""
    return sorted(directory.snapshots.glob("step-*.h5"), key=step_of)


def _slice(path: Path, target: Path) -> list[Path]:
    with h5py.File(path, "r") as file:
        axes_there = [name for name in "xyz" if name in file]
        sides = [file[name][:] for name in axes_there]
        t = float(file.attrs["time"])
        plane = len(sides[2]) // 4 if len(sides) == 3 else None
        panels = {name: _components(file[name], len(sides), plane) for name in variables_in(file)}
    where = "" if plane is None else f", z = {sides[2][plane]:.3g}"
    count = sum(len(components) for components in panels.values())
    figure, axes = pyplot().subplots(1, count, figsize=(4.2 * count, 3.6), squeeze=False, layout="constrained")
    remaining = iter(axes.flat)
    for name, components in panels.items():
        largest = max((np.abs(values).max() for _, values in components), default=0) or 1.0
        signed = any(values.min() < 0 for _, values in components)
        for label, values in components:
            axis = next(remaining)
            if values.ndim == 1:
                axis.plot(sides[0], values, lw=1.2)
                axis.set(xlabel="x")
            else:
                _image(figure, axis, values, sides, largest, signed)
            axis.set(title=f"{name.replace('_', ' ')}{label}, t = {t:.3g}{where}")
    return save(figure, target)


def _components(data: h5py.Dataset, dimensions: int, plane: int | None) -> list[tuple[str, np.ndarray]]:
    """Label and values of each component; in three dimensions in a plane a quarter of the way up, since symmetric
    flows often vanish in the middle."""
    values = data[:] if plane is None else data[:, :, plane]
    if data.ndim == dimensions:
        return [("", values)]
    labels = [label.decode() for label in data.dims[dimensions][0][:]]
    return [(f" {label}", values[..., i]) for i, label in enumerate(labels)]


def _image(figure: Any, axis: Any, plane: np.ndarray, sides: list[np.ndarray], largest: float, signed: bool) -> None:
    """Signed fields around white, densities from black; the components of a vector share their colours."""
    colours = {"vmin": -largest, "cmap": "RdBu_r"} if signed else {"vmin": 0, "cmap": "magma"}
    half = [0.5 * side[1] for side in sides]
    box = [-half[0], sides[0][-1] + half[0], -half[1], sides[1][-1] + half[1]]
    image = axis.imshow(plane.T, origin="lower", extent=box, vmax=largest, **colours)
    figure.colorbar(image, ax=axis, shrink=0.8)
    axis.set(xlabel="x", ylabel="y")
