"""Base classes of outputs that write one HDF5 file for each state, such as quantities at the points."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from solver.dynamics.any_equation import AnyEquation
from solver.io import Job, RunDirectory, drop_snapshots, hold_snapshot, list_snapshots, snapshot_path, verify_data
from solver.io.subgrid import Subgrid
from solver.outputs.at_points import Compression, Precision, Selection, attributes_of, trace_values, variables
from solver.outputs.output import Output, Run
from solver.steppers.state import State


@dataclass(frozen=True)
class StateFolder(Output):
    """An output with one HDF5 file for each state, DIR/NAME/step-<step>.h5."""

    @classmethod
    def folder(cls, directory: RunDirectory) -> Path:
        """Folder of a run's files of this kind."""
        return directory.path / cls.name

    @classmethod
    def files(cls, directory: RunDirectory) -> list[Path]:
        """Paths of the files, in the order of their steps."""
        return list_snapshots(cls.folder(directory))

    def write(self, run: Run, state: State) -> None:
        run.writer.submit(lambda: self._copied(run, state))

    @abstractmethod
    def _copied(self, run: Run, state: State) -> Job:
        """Copy the written values of a state to the host; returns the job that writes them."""

    @classmethod
    def paths(cls, directory: RunDirectory) -> tuple[Path, ...]:
        return (cls.folder(directory),)

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        drop_snapshots(cls.folder(directory), step)

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        return {path: verify_data(path) for path in cls.files(directory)}


@dataclass(frozen=True)
class StateFiles(StateFolder):
    """Quantities at the points in DIR/NAME/step-<step>.h5.

    A subclass gives `name` and `selection`, and `subgrids` if it writes parts of the grid.

    Args:
        fields: names of the written quantities, from the equation's `snapshot`, from derived ones (`vorticity`, …), and
            `bodies`, 1 in a body and 0 in the fluid; if empty, all of `snapshot`, and `bodies` where there are some.
        precision: precision of the files: `float32`, or the grid's.
        compression: `gzip` (every reader of HDF5 has it), `lzf` (h5py has it, ParaView has not) or `none`.
    """

    fields: tuple[str, ...] = ()
    precision: Precision = "grid"
    compression: Compression = "none"

    keeps_bits: ClassVar[bool] = True
    at_points: ClassVar[bool] = True

    @property
    @abstractmethod
    def selection(self) -> Selection:
        """The quantities that are written of each state."""

    def subgrids(self, equation: AnyEquation) -> Sequence[Subgrid | None]:
        """The parts of the grid that are written; None means the whole grid."""
        return (None,)

    def check(self, equation: AnyEquation) -> None:
        self.selection.check(equation, f"output.{self.name}")

    def programs(self, equation: AnyEquation, state: State) -> dict[str, Any]:
        return {self.name: trace_values(self.selection, equation, state.field, state.t)}

    def bytes_of_state(self, equation: AnyEquation, state: State) -> int:
        whole = (self.selection.grid(equation).physical_shape,)
        parts = [whole[0] if part is None else part.shape for part in self.subgrids(equation)]
        return self.selection.bytes_of_point(equation) * sum(map(math.prod, parts))

    def _copied(self, run: Run, state: State) -> Job:
        equation, step = run.equation, int(state.step)
        return hold_snapshot(
            snapshot_path(self.folder(run.directory), step),
            variables(equation, self.selection, state.field, state.t, self.subgrids(equation)),
            self.selection.grid(equation),
            step,
            float(state.t),
            attributes_of(equation, run.title),
            self.compression,
        )
