"""slices/: planes, lines, points and boxes of the fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from solver.dynamics.any_equation import AnyEquation
from solver.io import RunDirectory
from solver.io.subgrid import Subgrid
from solver.outputs.at_points import Compression, Precision, Selection
from solver.outputs.state_files import StateFiles
from solver.pictures import View
from solver.pictures.drawn_parts import draw_parts


@dataclass(frozen=True)
class Slices(StateFiles):
    """Parts of the grid at the points, one HDF5 file for each state: data sets such as `velocity_z12`.

    The quantities are computed at all points, as for a snapshot, and each device writes the points of a part that it
    holds. No communication besides the transforms.

    Args:
        at: the parts: `"z = 0.5"` is a plane, `"y = 0, z = 1"` a line, `"x = 0:1, y = 2:3"` a box. Positions [length]
            mean the point nearest to them, `a:b` the points in a ≤ x < b; a position may be a multiple of pi,
            `"z = 0.5 pi"`.
    """

    at: tuple[str, ...] = ("x = 0",)
    precision: Precision = "float32"
    compression: Compression = "gzip"

    name: ClassVar[str] = "slices"

    @property
    def selection(self) -> Selection:
        """The quantities that are written of each state."""
        return Selection(self.fields, self.precision)

    def check(self, equation: AnyEquation) -> None:
        """
        Raises:
            ValueError: a part is not in the box, or is given twice.
        """
        super().check(equation)
        labels = [subgrid.label(equation.grid.physical_shape) for subgrid in self.subgrids(equation)]
        if not labels:
            raise ValueError("output.slices.at is empty: one part or more is needed, such as 'z = 0.5'")
        for label in labels:
            if not label or labels.count(label) > 1:
                which = ", ".join(map(repr, self.at))
                raise ValueError(f"output.slices.at = [{which}]: {label or 'the whole grid'} is there twice or no part")

    def subgrids(self, equation: AnyEquation) -> list[Subgrid]:
        """The parts of the equation's grid."""
        try:
            return [Subgrid.of(text, equation.grid) for text in self.at]
        except ValueError as error:
            raise ValueError(f"output.slices.at: {error}") from None

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Draw planes at a few times, or at the view's time, and lines and points against time."""
        paths = cls.files(directory)
        return draw_parts(paths, folder, view) if paths else []
