"""checkpoints/: states, from which a run continues."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from solver.cluster import Agreement
from solver.io import Job, RunDirectory, hold, keep_newest, list_checkpoints, step_of, verify, write_checkpoint
from solver.outputs.base import Output, Run
from solver.steppers.base import State


@dataclass(frozen=True)
class Checkpoints(Output):
    """The whole state, complete or absent; the newest `keep` are kept.

    The state is copied to the host and written while stepping goes on. No device collectives.

    Args:
        keep: how many; an older one goes when the newest of all has been read back and found whole.
        keep_every: every so many-th checkpoint of the schedule is kept for good; none if not given.

    Raises:
        ValueError: `keep` or `keep_every` is not positive, or `keep_every` has no schedule to count by.
    """

    keep: int = 3
    keep_every: int | None = None

    name: ClassVar[str] = "checkpoints"
    at_start: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep <= 0:
            raise ValueError(f"keep = {self.keep}: a positive number is needed")
        if self.keep_every is None:
            return
        if self.keep_every <= 0:
            raise ValueError(f"keep_every = {self.keep_every}: a positive number is needed")
        if self.every_steps is None and self.every_time is None:
            raise ValueError(f"keep_every = {self.keep_every}: every_steps or every_time is needed to count by")

    def is_due(self, state: State, *, start: bool, end: bool) -> bool:
        return end or (int(state.step) > 0 and super().is_due(state, start=start, end=end))

    def write(self, run: Run, state: State) -> None:
        """Begin to write a checkpoint, unless this step has one. Collective."""
        folder = run.directory.checkpoints
        if int(state.step) not in {step_of(path) for path in list_checkpoints(folder)}:
            run.writer.submit(lambda: self._copied(folder, run, state))

    def _copied(self, folder: Path, run: Run, state: State) -> Job:
        held, run_file = hold(state, run.equation.grid), run.run_file

        def write(agreement: Agreement) -> None:
            write_checkpoint(folder, held, run_file, agreement)
            keep_newest(folder, self.keep, agreement, self._for_good)

        return write

    def _for_good(self, manifest: dict[str, Any]) -> bool:
        if self.keep_every is None:
            return False
        if self.every_steps and manifest["step"] % (self.every_steps * self.keep_every) == 0:
            return True
        if not self.every_time:
            return False
        count = manifest["t"] / (self.every_time * self.keep_every)
        return abs(count - round(count)) < 1e-9 * max(1.0, count)

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        return {path: verify(path) for path in list_checkpoints(directory.checkpoints)}
