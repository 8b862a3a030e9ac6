"""slices/: planes, lines, points and boxes of the fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from solver.equations.system import PeriodicSystem
from solver.io import Job, RunDirectory, hold_snapshot, snapshot_path, step_of, verify_data
from solver.io.cuts import Cut
from solver.outputs.at_points import Compression, Precision, Selection, trace_values, variables
from solver.outputs.base import Output, Run
from solver.outputs.drawn_parts import draw_parts
from solver.pictures import View
from solver.steppers.base import State


@dataclass(frozen=True)
class Slices(Output):
    """Parts of the grid at the points, one HDF5 file for each state: data sets such as `velocity_z12`.

    The quantities are made at all points, as for a snapshot; each device gives what it has of a part. No communication
    besides the transforms.

    Args:
        at: the parts: `"z = 0.5"` is a plane, `"y = 0, z = 1"` a line, `"x = 0:1, y = 2:3"` a box. Positions [length]
            stand for the point nearest to them, `a:b` for the points in a ≤ x < b.
        fields: names of what is written, of the equation's `snapshot` and of what can be derived (`vorticity`, …); all
            of `snapshot` if empty.
        precision: of the files: `float32`, or the grid's.
        compression: `gzip` (every reader of HDF5 has it), `lzf` (h5py has it, ParaView has not) or `none`.
    """

    at: tuple[str, ...] = ("x = 0",)
    fields: tuple[str, ...] = ()
    precision: Precision = "float32"
    compression: Compression = "gzip"

    name: ClassVar[str] = "slices"

    @property
    def selection(self) -> Selection:
        """What is written of each state."""
        return Selection(self.fields, self.precision)

    def check(self, equation: PeriodicSystem) -> None:
        """
        Raises:
            ValueError: a part that does not lie in the box, or that is there twice.
        """
        self.selection.check(equation, "output.slices")
        labels = [cut.label(equation.grid.physical_shape) for cut in self.cuts(equation)]
        if not labels:
            raise ValueError("output.slices.at is empty: one part or more is needed, such as 'z = 0.5'")
        for label in labels:
            if not label or labels.count(label) > 1:
                which = ", ".join(map(repr, self.at))
                raise ValueError(f"output.slices.at = [{which}]: {label or 'the whole grid'} is there twice or no part")

    def cuts(self, equation: PeriodicSystem) -> list[Cut]:
        """The parts of the equation's grid."""
        try:
            return [Cut.of(text, equation.grid) for text in self.at]
        except ValueError as error:
            raise ValueError(f"output.slices.at: {error}") from None

    def programs(self, equation: PeriodicSystem, state: State) -> dict[str, Any]:
        return {"slices": trace_values(self.selection, equation, state.field)}

    def write(self, run: Run, state: State) -> None:
        run.writer.submit(lambda: self._copied(run, state))

    def _copied(self, run: Run, state: State) -> Job:
        equation, step = run.equation, int(state.step)
        return hold_snapshot(
            snapshot_path(folder(run.directory), step),
            variables(equation, self.selection, state.field, self.cuts(equation)),
            equation.grid,
            step,
            float(state.t),
            {"title": run.title, "equation": equation.name},
            self.compression,
        )

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        for path in slices(directory):
            if step_of(path) > step:
                path.unlink()

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Planes at a few times, or at that of the view; lines and points against time."""
        paths = slices(directory)
        return draw_parts(paths, folder, view) if paths else []

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        return {path: verify_data(path) for path in slices(directory)}


def folder(directory: RunDirectory) -> Path:
    """Where a run's slices lie."""
    return directory.path / "slices"


def slices(directory: RunDirectory) -> list[Path]:
    """Paths of a run's slices, in the order of their steps."""
    return sorted(folder(directory).glob("step-*.h5"), key=step_of)
