"""snapshots/: fields at the grid points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from solver.equations.system import PeriodicSystem
from solver.io import (
    Job,
    RunDirectory,
    hold_snapshot,
    list_snapshots,
    read_snapshot,
    snapshot_path,
    step_of,
    update_series,
    verify_data,
)
from solver.outputs.at_points import Compression, Precision, Selection, trace_values, variables
from solver.outputs.base import Output, Run
from solver.outputs.drawn_slices import chosen_snapshots, draw_against_time, draw_slices
from solver.pictures import View
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
