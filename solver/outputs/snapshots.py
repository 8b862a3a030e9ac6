"""snapshots/: fields at the grid points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from solver.io import RunDirectory, read_snapshot
from solver.outputs.at_points import Selection
from solver.outputs.state_files import StateFiles
from solver.pictures import View
from solver.pictures.drawn_slices import chosen_snapshots, draw_against_time, draw_snapshots


@dataclass(frozen=True)
class Snapshots(StateFiles):
    """Real fields at the points, one HDF5 file for each state, and a VTKHDF file of links.

    A vector is one data set `(x, y, z, component)` whose components are labelled; every data set has its units. Costs
    the transforms of the quantities; no gather. With `coarsen` the values come from the modes of the coarser grid,
    free of aliasing; between walls these are two thirds of its points. Nothing is compressed by default: turbulence in
    full precision hardly shrinks, and the processes write one after another.

    Args:
        coarsen: factor by which each axis has fewer points than the grid.

    Raises:
        ValueError: `coarsen` is not positive.
    """

    coarsen: int = 1

    name: ClassVar[str] = "snapshots"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.coarsen < 1:
            raise ValueError(f"coarsen = {self.coarsen}: one or more is needed")

    @property
    def selection(self) -> Selection:
        """The quantities that are written of each state."""
        return Selection(self.fields, self.precision, self.coarsen)

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Draw a figure of slices for each snapshot; in one dimension one figure with time upwards."""
        snapshots = [read_snapshot(path) for path in chosen_snapshots(cls.files(directory), view)]
        if not snapshots:
            return []
        if len(snapshots[0].axes) == 1 and len(snapshots) > 1:
            return draw_against_time(snapshots, folder, view)
        return draw_snapshots(snapshots, folder, view)
