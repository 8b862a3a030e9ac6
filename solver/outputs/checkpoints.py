"""checkpoints/: states, from which a run continues."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import jax

from solver.cluster import Agreement
from solver.dynamics.any_equation import AnyEquation
from solver.io import Job, RunDirectory, hold, keep_newest, list_checkpoints, other_formats, verify, write_checkpoint
from solver.io.shared_file import communicator, why_not
from solver.outputs.health import ailments
from solver.outputs.output import Output, Run
from solver.steppers.state import State


@dataclass(frozen=True)
class Checkpoints(Output):
    """The whole state, complete or absent; the newest `keep` are kept, and the newest healthy one.

    A checkpoint is healthy if the energy budgets close, the spectra fall off towards k_max, and the CFL number of a
    fixed step is at most one (`outputs.health`). After a blow-up a branch starts from the newest healthy one.

    The state is copied to the host and written while the run continues. Communication: the all-reduces of these sums.

    Args:
        keep: number of checkpoints to keep; an older one is deleted after the newest has been read back and found
            whole.
        keep_every: checkpoints at multiples of it are never deleted; a multiple of `every_steps` [steps] or of
            `every_time` [time]. If it is not given, any checkpoint may be deleted.
        layout: `per-process`, a file for each process; or `shared`, one file of all through parallel HDF5, which is
            written while stepping waits.

    Raises:
        ValueError: `keep` or `keep_every` is not positive, or `keep_every` is no multiple of the schedule.
    """

    keep: int = 3
    keep_every: float | None = None
    layout: Literal["per-process", "shared"] = "per-process"

    name: ClassVar[str] = "checkpoints"
    at_start: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep <= 0:
            raise ValueError(f"keep = {self.keep}: a positive number is needed")
        if self.keep_every is not None:
            self._check_kept_is_permanent(self.keep_every)

    def _check_kept_is_permanent(self, interval: float) -> None:
        if not (interval > 0 and math.isfinite(interval)):
            raise ValueError(f"keep_every = {interval}: a positive number is needed")
        name = "every_steps" if self.every_steps is not None else "every_time"
        unit = getattr(self, name)
        if unit is None:
            raise ValueError(f"keep_every = {interval:g}: every_steps or every_time is needed beside it")
        if not _is_multiple(interval, unit):
            raise ValueError(f"keep_every = {interval:g}: a multiple of {name} = {unit:g} is needed")

    def check(self, equation: AnyEquation) -> None:
        missing = why_not() if self.layout == "shared" else None
        if missing is not None:
            raise ValueError(f"output.checkpoints.layout = 'shared': {missing}")

    def prepare(self, run: Run) -> None:
        if self.layout == "shared":
            communicator()

    def is_due(self, state: State, *, start: bool, end: bool) -> bool:
        return end or (int(state.step) > 0 and super().is_due(state, start=start, end=end))

    def bytes_of_state(self, equation: AnyEquation, state: State) -> int:
        return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))

    def states_kept(self, end: float, steps: int | None) -> int | None:
        """The newest ones, the newest healthy one, one that is being written, and those that are never deleted."""
        permanent: int | None = 0
        if self.keep_every is not None and self.every_steps is None:
            permanent = math.floor(end / self.keep_every + 1e-9)
        elif self.keep_every is not None:
            permanent = None if steps is None else math.floor(steps / self.keep_every + 1e-9)
        written = super().states_kept(end, steps)
        if permanent is None:
            return written
        most = self.keep + 2 + permanent
        return most if written is None else min(written, most)

    def write(self, run: Run, state: State) -> None:
        """Start writing a checkpoint, unless this step has one. Collective."""
        folder, step = run.directory.checkpoints, int(state.step)
        if step in run.kept:
            return
        run.kept.add(step)
        if self.layout == "shared":  # only the main thread may call MPI
            run.writer.wait()
            with run.writer.while_waiting():
                self._copied(folder, run, state)(Agreement("checkpoints"))
        else:
            run.writer.submit(lambda: self._copied(folder, run, state))

    def _copied(self, folder: Path, run: Run, state: State) -> Job:
        began = time.monotonic()
        found = ailments(run.equation, state, run.control)
        held, run_file = hold(state, run.equation.grid, run.equation.exchange_rounding, found), run.run_file
        is_permanent = None if self.keep_every is None else self._is_permanent

        def write(agreement: Agreement) -> None:
            write_checkpoint(folder, held, run_file, agreement, shared=self.layout == "shared")
            keep_newest(folder, self.keep, agreement, is_permanent)
            run.writer.checkpoint = max(run.writer.checkpoint, time.monotonic() - began)

        return write

    def _is_permanent(self, manifest: dict[str, Any]) -> bool:
        assert self.keep_every is not None
        return _is_multiple(manifest["step" if self.every_steps is not None else "t"], self.keep_every)

    @classmethod
    def paths(cls, directory: RunDirectory) -> tuple[Path, ...]:
        return (directory.checkpoints,)

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        unread = other_formats(directory.checkpoints)
        return {path: verify(path) for path in list_checkpoints(directory.checkpoints) if path not in unread}


def _is_multiple(value: float, unit: float) -> bool:
    count = value / unit
    return round(count) > 0 and abs(count - round(count)) < 1e-9 * count
