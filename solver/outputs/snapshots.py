"""snapshots/: fields at the grid points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax

from solver.equations.system import PeriodicSystem
from solver.io import (
    Job,
    RunDirectory,
    Variable,
    hold_snapshot,
    list_snapshots,
    read_snapshot,
    snapshot_path,
    step_of,
    update_series,
    verify_data,
)
from solver.outputs.base import Output, Run
from solver.outputs.slices import chosen_snapshots, draw_against_time, draw_slices
from solver.pictures import View
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
            name: Variable(values, units.get(name, ""), _labels(equation, name, values))
            for name, values in _snapshot(equation, state.field).items()
        }
        attributes = {"title": run.title, "equation": equation.name}
        return hold_snapshot(
            snapshot_path(run.directory.snapshots, step), variables, equation.grid, step, float(state.t), attributes
        )

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        for path in list_snapshots(directory.snapshots):
            if step_of(path) > step:
                path.unlink()
        for companion in directory.snapshots.glob("step-*.hdf"):
            if not companion.with_suffix(".h5").exists():
                companion.unlink()
        if directory.snapshots.is_dir():
            update_series(directory.snapshots)

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        return {path: verify_data(path) for path in list_snapshots(directory.snapshots)}

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """A figure of slices for each snapshot; in one dimension one figure, time upwards."""
        found = [read_snapshot(path) for path in chosen_snapshots(list_snapshots(directory.snapshots), view)]
        if not found:
            return []
        if len(found[0].axes) == 1 and len(found) > 1:
            return draw_against_time(found, folder, view)
        return [path for snapshot in found for path in draw_slices(snapshot, folder, view)]


def _labels(equation: PeriodicSystem, name: str, values: jax.Array) -> tuple[str, ...]:
    """Labels of a variable's components; none for a scalar `(x, y, z)`."""
    if values.ndim == equation.grid.dimensions:
        return ()
    field = equation.fields.get(name)
    if field is not None and field.components is not None:
        return field.components
    count = len(values)
    return tuple("xyz"[:count]) if count == equation.grid.dimensions else tuple(map(str, range(count)))
