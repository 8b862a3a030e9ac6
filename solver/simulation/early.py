"""Whether a run is to stop before its end: a signal, a file, the clock, or another run that took its directory."""

from __future__ import annotations

import os
from pathlib import Path

import jax

from solver.cluster import LOGGER, end_of_job, ends_by_limit, is_first, seconds_left
from solver.io import DirectoryLock, TakenError, Writer
from solver.simulation.progress import Progress
from solver.steppers.base import State
from solver.stop import StopRequest

STOP_FILE = "stop"
MARGIN_SECONDS = 10.0  # to leave the job
FIRST_GUESS = 1e8  # bytes per second to the disk, while no checkpoint was measured


class EarlyStop:
    """Asked at every pause, on every process.

    Args:
        request: of a signal.
        directory: of the run; a file `stop` in it asks for an early stop.
        lock: that the first process holds on the directory.
        wall_limit: seconds after the start of this process.
    """

    def __init__(
        self, request: StopRequest, directory: Path, lock: DirectoryLock | None, wall_limit: float | None = None
    ) -> None:
        self.request, self.file, self.lock, self.wall_limit = request, directory / STOP_FILE, lock, wall_limit
        self._job_ends = end_of_job(os.environ) if is_first() else None
        self._chunk, self._guess = 0.0, 0.0
        self._writer: Writer | None = None
        self._cause = ""

    def begin(self, state: State, writer: Writer) -> None:
        """Take in the size of what a checkpoint holds, and who writes it."""
        arrays = [leaf for leaf in jax.tree.leaves(state) if isinstance(leaf, jax.Array)]
        self._guess = sum(shard.data.nbytes for leaf in arrays for shard in leaf.addressable_shards) / FIRST_GUESS
        self._writer = writer
        left = seconds_left(self.wall_limit, None)
        if is_first() and left is not None and left < 2 * self._needed():
            LOGGER.warning(
                "time.wall_limit = %g s: of the %.0f s that are left, %.0f s are kept to write a checkpoint and leave",
                self.wall_limit, max(left, 0), self._needed(),
            )  # fmt: skip

    def learn(self, seconds: float) -> None:
        """Take in what a chunk took."""
        self._chunk = seconds

    def wanted(self, advanced: bool) -> bool:
        """Whether this process wants to stop.

        Args:
            advanced: whether the run got on since it was started; the clock does not stop one that did not, as it
                would never end.

        Raises:
            TakenError: another run took the directory.
        """
        if self.lock is not None and self.lock.lost:
            assert self._writer is not None
            self._writer.abandoned = True
            raise TakenError(f"{self.file.parent}: another run has taken the directory while this one stood still")
        if self.request.received is not None:
            self._cause = self.request.received
        elif is_first() and self.file.exists():
            self._cause = f"the file {self.file}"
        elif advanced and (left := seconds_left(self.wall_limit, self._job_ends)) is not None and left < self._needed():
            limited = ends_by_limit(self.wall_limit, self._job_ends)
            what = f"time.wall_limit = {self.wall_limit:g} s" if limited else "the end of the job"
            self._cause = f"the clock, {max(left, 0):.0f} s before {what}"
        return bool(self._cause)

    def _needed(self) -> float:
        """Seconds for another chunk, a checkpoint, and to leave."""
        assert self._writer is not None
        return MARGIN_SECONDS + 2 * self._chunk + self._writer.slowest + 2 * (self._writer.checkpoint or self._guess)

    def report(self, step: int) -> None:
        """Say why, once the checkpoint is written."""
        cause = self._cause or "a signal to another process"
        if self.lock is not None:
            self.lock.say(state="stopped")
        LOGGER.warning("stopped early by %s at step %d; its checkpoint continues the run", cause, step)

    def obeyed(self) -> None:
        """The run stops, early or at its end: a file that asked for it goes."""
        if is_first():
            self.file.unlink(missing_ok=True)

    def say(self, state: State, progress: Progress) -> None:
        """Let those who look into the directory know how the run stands."""
        if self.lock is not None:
            self.lock.say(step=int(state.step), t=float(state.t), end=progress.end, **progress.pace(state))
