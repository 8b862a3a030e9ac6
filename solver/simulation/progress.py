"""Progress of a run: a live bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import time

from solver.cluster import LOGGER, mpi
from solver.io import duration
from solver.simulation.pauses import Pause
from solver.steppers import State

LINE_SECONDS = 5.0
BAR_SECONDS = 0.2
CHUNK_SECONDS = 1.0


class Pace:
    """Chooses the number of steps in a chunk, so that the run pauses about once a second.

    It is given the longest time that any process took, so that all processes choose the same number.
    """

    def __init__(self) -> None:
        self.steps = 1  # the first chunk compiles
        self._chunks = 0

    def __call__(self) -> int:
        return self.steps

    def at_pause(self, pause: Pause) -> None:
        """Record the steps and the seconds of the chunk before."""
        self.record(pause.steps, pause.seconds)

    def record(self, steps: int, seconds: float) -> None:
        """Adjust to the time of a chunk. The first chunk, which compiles, is not counted."""
        if steps == 0:
            return
        self._chunks += 1
        if self._chunks > 1:
            fitting = CHUNK_SECONDS * steps / max(seconds, 1e-6)
            self.steps = max(1, min(int(fitting), 4 * self.steps + 1))


class Progress:
    """Prints step, t, dt, steps per second and time left; on the first process.

    Args:
        end: time at which the run ends.
        start: the state that it starts from.
        active: False prints nothing.
    """

    def __init__(self, end: float, start: State, active: bool) -> None:
        self.end, self.active = end, active
        # mpiexec gives its processes a terminal even if its own output goes to a file
        self.live = active and sys.stdout.isatty() and mpi.started(os.environ) is None
        self._begin = self._mark = (time.monotonic(), int(start.step), float(start.t))
        self._printed = time.monotonic()
        self._started = False

    def at_pause(self, pause: Pause) -> None:
        """Print, if it is time to and the run does not stop here."""
        if not pause.stopping:
            self.show(pause.state)

    def show(self, state: State) -> None:
        """Print the progress, at most every `BAR_SECONDS` or `LINE_SECONDS`."""
        now = time.monotonic()
        if not self._started and int(state.step) > self._begin[1]:
            # speed is measured from the end of the first chunk, which compiled
            self._started, self._mark = True, (now, int(state.step), float(state.t))
        if not self.active or now - self._printed < (BAR_SECONDS if self.live else LINE_SECONDS):
            return
        self._printed = now
        text = self._text(state)
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            bar = self._bar(state, width=min(24, max(4, width - len(text) - len("[] 100 % "))))
            sys.stdout.write("\r" + f"{bar} {text}"[:width].ljust(width))
            sys.stdout.flush()
        else:
            LOGGER.info(text)

    def pace(self, state: State) -> dict[str, float]:
        """Steps per second, and seconds left at that speed; empty until the first chunk after the compiling one."""
        now = time.monotonic()
        seconds, steps = now - self._mark[0], int(state.step) - self._mark[1]
        advance = float(state.t) - self._mark[2]
        if not self._started or not steps or not seconds > 0 or not advance > 0:
            return {}
        return {"steps_per_second": steps / seconds, "seconds_left": seconds * (self.end - float(state.t)) / advance}

    def close(self) -> None:
        """End the line of the bar."""
        if self.live:
            sys.stdout.write("\n")

    def _text(self, state: State) -> str:
        pace = self.pace(state)
        speed = f"{pace['steps_per_second']:.3g} steps/s" if pace else "compiling"
        left = f", {duration(pace['seconds_left'])} left" if pace else ""
        return f"step {int(state.step)}  t = {float(state.t):.6g}  dt = {float(state.dt):.3g}  {speed}{left}"

    def _bar(self, state: State, width: int) -> str:
        whole = self.end - self._begin[2]
        done = (float(state.t) - self._begin[2]) / whole if whole > 0 else 1.0
        filled = int(width * min(1.0, done))
        return f"[{'█' * filled}{'·' * (width - filled)}] {100 * done:3.0f} %"
