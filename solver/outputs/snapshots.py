"""snapshots/: fields at the grid points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import h5py
import jax
import numpy as np

from solver.equations.system import PeriodicSystem
from solver.io import (
    Job,
    RunDirectory,
    Variable,
    hold_snapshot,
    snapshot_path,
    step_of,
    variables_in,
    verify_data,
)
from solver.outputs.base import Output, Run
from solver.outputs.figures import pyplot, save
from solver.steppers.base import State

_snapshot = jax.jit(lambda equation, fields: equation.snapshot(fields))


@dataclass(frozen=True)
class Snapshots(Output):
    """The equation's `snapshot`: real fields at the points, one HDF5 file for each state, and a VTKHDF file of links.

    A vector is one data set `(x, y, z, component)` whose components are labelled; every data set has its units. The
    transforms of the equation's `to_physical`; no gather.
    """

    name: ClassVar[str] = "snapshots"

    def check(self, equation: PeriodicSystem) -> None:
        points = equation.grid.physical_shape
        fields = equation.field_shapes()
        for name, values in jax.eval_shape(lambda f: equation.snapshot(f), fields).items():
            if values.shape[-len(points) :] != points or values.ndim > len(points) + 1:
                raise ValueError(
                    f"{type(equation).__name__}: snapshot() gives {name} of shape {list(values.shape)}; "
                    f"{list(points)} is needed, with an axis of components in front or without"
                )

    def programs(self, equation: PeriodicSystem, state: State) -> dict[str, Any]:
        return {"snapshots": _snapshot.trace(equation, state.field)}

    def write(self, run: Run, state: State) -> None:
        run.writer.submit(lambda: self._copied(run, state))

    def _copied(self, run: Run, state: State) -> Job:
        equation, step = run.equation, int(state.step)
        units = equation.snapshot_units()
        variables = {
            name: Variable(values, units.get(name, ""), component_labels(equation, name, values))
            for name, values in _snapshot(equation, state.field).items()
        }
        attributes = {"title": run.title, "equation": equation.name}
        return hold_snapshot(
            snapshot_path(run.directory.snapshots, step), variables, equation.grid, step, float(state.t), attributes
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


def component_labels(equation: PeriodicSystem, name: str, values: jax.Array) -> tuple[str, ...]:
    """Labels of a variable's components; none for a scalar `(x, y, z)`."""
    if values.ndim == equation.grid.dimensions:
        return ()
    field = equation.fields.get(name)
    if field is not None and field.components is not None:
        return field.components
    count = len(values)
    return tuple("xyz"[:count]) if count == equation.grid.dimensions else tuple(map(str, range(count)))


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
