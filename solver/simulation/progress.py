"""How a run is coming along: a live bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import time

from solver.cluster import LOGGER, mpi
from solver.io import duration
from solver.steppers import State

LINE_SECONDS = 5.0
BAR_SECONDS = 0.2
CHUNK_SECONDS = 1.0


class Pace:
    """Chooses how many steps a chunk takes, so that the run looks up about once a second.

    Fed with the longest time that any process took, so that all of them choose alike.
    """

    def __init__(self) -> None:
        self.steps = 1  # the first chunk compiles
        self._seen = 0

    def __call__(self) -> int:
        return self.steps

    def learn(self, steps: int, seconds: float) -> None:
        """Take in what a chunk took; the first is not counted."""
        if steps == 0:
            return
        self._seen += 1
        if self._seen > 1:
            wanted = CHUNK_SECONDS * steps / max(seconds, 1e-6)
            self.steps = max(1, min(int(wanted), 4 * self.steps + 1))


class Progress:
    """Prints step, t, dt, steps per second and time left; on the first process.

    Args:
        end: time at which the run ends.
        start: state it starts from.
        active: False prints nothing.
    """

    def __init__(self, end: float, start: State, active: bool) -> None:
        self.end, self.active = end, active
        # mpiexec gives its processes a terminal although its own output may go to a file
        self.live = active and sys.stdout.isatty() and mpi.started(os.environ) is None
        self._begin = self._mark = (time.monotonic(), int(start.step), float(start.t))
        self._printed = time.monotonic()
        self._started = False

    def show(self, state: State) -> None:
        """Print, if it is time to."""
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
        """Steps per second, and seconds left at that pace; nothing before the first chunk that compiled nothing."""
        now = time.monotonic()
        seconds, steps = now - self._mark[0], int(state.step) - self._mark[1]
        advance = float(state.t) - self._mark[2]
        if not self._started or not steps or not seconds > 0 or not advance > 0:
            return {}
        return {"steps_per_second": steps / seconds, "seconds_left": seconds * (self.end - float(state.t)) / advance}

    def close(self) -> None:
        """Leave the bar's line."""
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
