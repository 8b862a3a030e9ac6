"""Reasons to stop a run before its end: a signal, a file, the clock, or another run that took its directory."""

from __future__ import annotations

import os
from dataclasses import dataclass

import jax

from solver.cluster import LOGGER, end_of_job, ends_by_limit, is_first, seconds_left
from solver.io import RunDirectory, RunLock, TakenError, Writer
from solver.simulation.pauses import Pause
from solver.simulation.progress import Progress
from solver.steppers.state import State
from solver.stop import StopRequest

MARGIN_SECONDS = 10.0  # for the process to end
ASSUMED_SPEED = 1e8  # bytes per second to the disk, before the first checkpoint is timed


class StopConditions:
    """Checked at every pause, on every process.

    Args:
        request: stop request, set by a signal.
        directory: directory of the run; a file `stop` in it, or in the ensemble's directory, requests an early stop.
        lock: the first process's lock on the directory; None on the others.
        time_limit: seconds after the start of this process.
        companions: other runs that stop together with this one, and write their checkpoints in turn.
    """

    def __init__(
        self,
        request: StopRequest,
        directory: RunDirectory,
        lock: RunLock | None,
        time_limit: float | None = None,
        companions: int = 0,
    ) -> None:
        self.request, self.directory, self.lock, self.time_limit = request, directory, lock, time_limit
        self._runs = 1 + companions
        self._job_ends = end_of_job(os.environ) if is_first() else None
        self._chunk_seconds, self._checkpoint_seconds = 0.0, 0.0
        self._writer: Writer | None = None
        self._cause = ""

    def begin(self, state: State, writer: Writer) -> None:
        """Estimate the time to write a checkpoint of this state. Warns if the time limit leaves little more."""
        arrays = [leaf for leaf in jax.tree.leaves(state) if isinstance(leaf, jax.Array)]
        size = sum(shard.data.nbytes for leaf in arrays for shard in leaf.addressable_shards)
        self._checkpoint_seconds = size / ASSUMED_SPEED
        self._writer = writer
        left = seconds_left(self.time_limit, None)
        if is_first() and left is not None and left < 2 * self._seconds_needed():
            LOGGER.warning(
                "time.wall_limit = %g s: of the %.0f s that are left, %.0f s are kept to write a checkpoint and leave",
                self.time_limit, max(left, 0), self._seconds_needed(),
            )  # fmt: skip

    def at_pause(self, pause: Pause) -> None:
        """Remember how long the last chunk of steps took, if it did not compile."""
        self._chunk_seconds = 0.0 if pause.compiled else pause.seconds

    def should_stop(self, advanced: bool) -> bool:
        """True if this process has a reason to stop the run.

        Args:
            advanced: True if the run took a step since it was started. The clock does not stop a run without a step:
                started again and again, it would never end.

        Raises:
            TakenError: another run took the directory.
        """
        if self.lock is not None and self.lock.lost:
            assert self._writer is not None
            self._writer.abandoned = True
            raise TakenError(f"{self.directory.path}: another run has taken the directory while this one stood still")
        if self.request.received is not None:
            self._cause = self.request.received
        elif is_first() and (found := [file for file in self.directory.stop_files if file.exists()]):
            self._cause = f"the file {found[0]}"
        elif advanced:
            self._check_clock()
        return bool(self._cause)

    def _check_clock(self) -> None:
        left = seconds_left(self.time_limit, self._job_ends)
        if left is not None and left < self._seconds_needed():
            limited = ends_by_limit(self.time_limit, self._job_ends)
            limit = f"time.wall_limit = {self.time_limit:g} s" if limited else "the end of the job"
            self._cause = f"the clock, {max(left, 0):.0f} s before {limit}"

    def _seconds_needed(self) -> float:
        """Seconds for another chunk, a checkpoint, and the end of the process."""
        assert self._writer is not None
        checkpoint = self._writer.checkpoint or self._checkpoint_seconds
        return MARGIN_SECONDS + 2 * self._chunk_seconds + self._writer.slowest + 2 * self._runs * checkpoint

    def log_stop(self, step: int) -> None:
        """Log the reason of the stop, after the checkpoint was written."""
        cause = self._cause or "a signal to another process"
        message = f"stopped early by {cause} at step {step}; its checkpoint continues the run"
        if self.lock is not None:
            self.lock.update_status(state="stopped", message=message)
        LOGGER.warning("%s", message)

    def remove_stop_file(self) -> None:
        """Remove the run's own file that requests a stop, once the run stops, early or at its end."""
        if is_first():
            self.directory.stop_files[0].unlink(missing_ok=True)


@dataclass(frozen=True)
class EndOfRun:
    """Removes the file that requests a stop where the run ends, and logs why it ends early."""

    conditions: StopConditions

    def at_pause(self, pause: Pause) -> None:
        if pause.is_last:
            self.conditions.remove_stop_file()
        if pause.stopping:
            self.conditions.log_stop(int(pause.state.step))


@dataclass(frozen=True)
class PublishProgress:
    """Writes step, time and speed to the status file of the directory."""

    lock: RunLock | None
    progress: Progress

    def at_pause(self, pause: Pause) -> None:
        state = pause.state
        if self.lock is not None and not pause.stopping:
            pace = self.progress.pace(state)
            self.lock.update_status(step=int(state.step), t=float(state.t), end=self.progress.end, **pace)
