"""Pauses of a run, and their listeners, which have one method each and are called in an order that is data.

A listener is called in every process, at every pause, in the order in which `simulate` names them. Where a listener
waits for the other processes, it must do the same in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import jax

from solver.cluster import Watchdog
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import compiled
from solver.io import Writer
from solver.loop import BlowUp, energy_of_all
from solver.outputs.output import Run
from solver.simulation.output_list import OutputList
from solver.steppers.state import State

_energy = compiled(energy_of_all)


@dataclass(frozen=True)
class Pause:
    """The moment between two chunks of steps; the same in every process but for the state's own pieces.

    Args:
        state: the present state.
        seconds: seconds since the pause before, the most that any process took.
        steps: number of steps since the pause before; 0 at the first one.
        moved: True if this process has taken a step.
        compiled: True if the chunk before was the first one, which compiles.
        resumed: True if the state is from the checkpoint that the run continues from.
        done: True if the state is the last one of the run.
        stopping: True if the run stops here, before its end.
        failed: True if something could not be written, in any process.
    """

    state: State
    seconds: float
    steps: int
    moved: bool
    compiled: bool
    resumed: bool
    done: bool
    stopping: bool
    failed: bool

    @property
    def is_last(self) -> bool:
        """True if the run ends here, early or not."""
        return self.done or self.stopping


class Listener(Protocol):
    """Called at each pause of a run."""

    def at_pause(self, pause: Pause) -> None:
        """Called in every process. An exception ends the run."""


@dataclass(frozen=True)
class ReportToWatchdog:
    """Tells the watchdog that the run has moved."""

    watchdog: Watchdog

    def at_pause(self, pause: Pause) -> None:
        self.watchdog.moved(pause.seconds, first=pause.compiled)


@dataclass(frozen=True)
class EndOnFailedWriting:
    """Ends the run where something could not be written, here or elsewhere."""

    writer: Writer

    def at_pause(self, pause: Pause) -> None:
        if pause.failed:
            self.writer.wait()  # which raises what failed


@dataclass(frozen=True)
class EnergyLimit:
    """Ends the run where half the mean square of all fields is beyond a limit; None is no limit."""

    equation: AnyEquation
    limit: float | None

    def at_pause(self, pause: Pause) -> None:
        if self.limit is None:
            return
        state, energy = pause.state, float(_energy(self.equation.at_time(pause.state.t), pause.state.field))
        if not energy <= self.limit:
            raise BlowUp(
                f"step {int(state.step)}, t = {float(state.t):.6g}: the energy is {energy:.6g}, beyond "
                f"time.energy_limit = {self.limit:g}; the last checkpoint is from before"
            )


@dataclass(frozen=True)
class WriteOutputs:
    """Writes the outputs that are due, and a checkpoint where the run stops early."""

    run: Run
    outputs: OutputList
    watchdog: Watchdog

    def at_pause(self, pause: Pause) -> None:
        run, state = self.run, pause.state
        if not pause.resumed:  # a state of a checkpoint was written by the run before
            with jax.profiler.TraceAnnotation("outputs"):
                self.outputs.write(run, state, self.watchdog, start=not pause.moved, end=pause.done)
        if pause.stopping:
            self.outputs.checkpoint(run, state)
        run.writer.end_pause()
        if pause.is_last:
            run.writer.wait()


@dataclass(frozen=True)
class OwnListener:
    """A listener of the user's, which may take its time."""

    listener: Any
    watchdog: Watchdog

    def at_pause(self, pause: Pause) -> None:
        with self.watchdog.busy(f"in {type(self.listener).__name__}.at_pause"):
            self.listener.at_pause(pause)
