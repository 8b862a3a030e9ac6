"""A trace of a few steps of a run, one file for each process, to be viewed in Perfetto."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import jax

from solver.cluster import LOGGER, Watchdog
from solver.config import ConfigError
from solver.loop.schedule import TOLERANCE
from solver.simulation.pauses import Pause

FOLDER = "profile"
TRACE, PLANES = ".json.gz", ".xplane.pb"  # for ui.perfetto.dev, and for xprof


class Profile:
    """Traces steps of a run once everything is compiled: from the second step that this process takes.

    Each traced step is a chunk of its own, named `step` with its number; writing between steps is named `outputs`.
    Chunks do not change a result, and a trace that cannot be written does not stop a run.

    Args:
        directory: directory of the run; traces go to its folder `profile`.
        steps: number of steps to trace; 0 for no trace.
    """

    def __init__(self, directory: Path, steps: int = 0) -> None:
        self.folder, self.steps = directory / FOLDER, steps
        self._first = self._reached = 0
        self._active = False
        self._over = steps == 0

    def refuse_too_many(self, end: float, step: float | None, t: float) -> None:
        """Raises ConfigError if fewer than `self.steps` steps remain after the first one, which compiles.

        Args:
            end: time at which the run ends.
            step: its fixed step; None if the run chooses its steps, so that their number is not known.
            t: time of its newest state.
        """
        if step is None:
            return
        left = math.ceil(max(0.0, end - t) / step - TOLERANCE)
        if self.steps > left - 1:
            raise ConfigError(
                f"--profile {self.steps}: {left} step{'s' if left != 1 else ''} to time.end = {end:g}, the "
                f"first of which compiles; {f'at most {left - 1} are' if left > 1 else 'none is'} left to be traced"
            )

    def limit(self, steps: int) -> int:
        """Number of steps of the next chunk."""
        return steps if self._over else 1

    def pause(self, step: int, moved: bool) -> None:
        """Begin or end the trace, at a pause after this step; `moved` says whether this process has taken one."""
        self._reached = step
        if self._active and self._reached >= self._first + self.steps:
            self.close()
        elif moved and not self._active and not self._over:
            self._begin()

    @contextmanager
    def step(self) -> Iterator[None]:
        """Names the steps that are carried out in this context in the trace, if there is one."""
        named = jax.profiler.StepTraceAnnotation("step", step_num=self._reached + 1)
        with named if self._active else nullcontext():
            yield

    def close(self) -> None:
        """End the trace, if there is one, and log where it is."""
        if not self._active:
            return
        self._active, self._over = False, True
        steps = self._reached - self._first
        path = self.folder / f"step-{self._first:08d}-process-{jax.process_index():05d}"
        try:
            jax.profiler.stop_trace()
            self._collect(path)
        except Exception as error:  # a failing disk or profiler must not end the run
            LOGGER.warning("the trace could not be written: %s", " ".join(str(error).split()))
            return
        if steps < self.steps:
            LOGGER.warning("--profile %d: the run ended after %d of these steps", self.steps, steps)
        each = "" if jax.process_count() == 1 else f" (and of the other {jax.process_count() - 1} processes beside it)"
        LOGGER.info(
            "trace of %d steps after step %d: %s%s%s; to see it: https://ui.perfetto.dev, \"Open trace file\"",
            steps, self._first, path, TRACE, each,
        )  # fmt: skip

    def _begin(self) -> None:
        self._first = self._reached
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0  # calls of Python functions would fill the trace
        try:
            self._raw.mkdir(parents=True, exist_ok=True)
            jax.profiler.start_trace(self._raw, create_perfetto_trace=True, profiler_options=options)
        except Exception as error:
            self._over = True
            LOGGER.warning("no trace: %s", " ".join(str(error).split()))
            return
        self._active = True

    @property
    def _raw(self) -> Path:
        """The folder into which JAX writes, in folders named by time and host."""
        return self.folder / f".process-{jax.process_index():05d}.partial"

    def _collect(self, path: Path) -> None:
        for pattern, ending in (("perfetto_trace.json.gz", TRACE), ("*.xplane.pb", PLANES)):
            for file in sorted(self._raw.rglob(pattern)):
                file.replace(path.with_name(path.name + ending))
        shutil.rmtree(self._raw, ignore_errors=True)


@dataclass(frozen=True)
class TraceSteps:
    """Begins and ends the trace at the pauses of a run."""

    profile: Profile
    watchdog: Watchdog

    def at_pause(self, pause: Pause) -> None:
        with self.watchdog.busy("writing the trace"):
            self.profile.pause(int(pause.state.step), moved=pause.moved and not pause.stopping)
