"""checkpoints/: states, from which a run continues."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from solver.io import RunDirectory, keep_newest, list_checkpoints, save_checkpoint, step_of, verify
from solver.outputs.base import Output, Run
from solver.steppers.base import State


@dataclass(frozen=True)
class Checkpoints(Output):
    """The whole state, complete or absent; the newest `keep` are kept.

    Args:
        keep: how many; an older one goes when the newest of all has been read back and found whole.

    Raises:
        ValueError: `keep` is not positive.
    """

    keep: int = 3

    name: ClassVar[str] = "checkpoints"
    at_start: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep <= 0:
            raise ValueError(f"keep = {self.keep}: a positive number is needed")

    def is_due(self, state: State, *, start: bool, end: bool) -> bool:
        return end or (int(state.step) > 0 and super().is_due(state, start=start, end=end))

    def write(self, run: Run, state: State) -> None:
        self.save(run, state)

    def save(self, run: Run, state: State) -> Path:
        """Write a checkpoint, unless this step has one; returns its folder. Collective."""
        folder = run.directory.checkpoints
        existing = {step_of(path): path for path in list_checkpoints(folder)}
        if int(state.step) in existing:
            return existing[int(state.step)]
        path = save_checkpoint(folder, state, run.equation.grid, run.run_file)
        keep_newest(folder, self.keep)
        return path

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        return {path: verify(path) for path in list_checkpoints(directory.checkpoints)}
