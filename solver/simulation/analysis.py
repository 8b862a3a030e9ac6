"""Outputs that a group of devices carries out while the others step.

At a pause the state is copied to the devices that analyse, piece by piece, and stepping continues. Outputs and
checkpoints are written from there, by a thread (`analysis_by_thread`) or by other processes (`analysis_by_processes`).
Stepping waits only while the outputs of two earlier states are unfinished. The devices that step carry out outputs that
declare `keeps_bits` before stepping continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import jax
from jax.sharding import Mesh

from solver.cluster import Watchdog, processes_of
from solver.loop import BlowUp
from solver.outputs.output import Output, Run
from solver.simulation.analysis_by_processes import ProcessAnalysis
from solver.simulation.analysis_by_thread import Ending, ThreadAnalysis
from solver.simulation.output_list import OutputList, write_each
from solver.simulation.pauses import Listener, Pause, WriteOutputs
from solver.simulation.simulation import Simulation
from solver.steppers.state import State
from solver.stop import StopRequest


class Analysis(Protocol):
    """Carries out outputs of the states it is given: `ThreadAnalysis` or `ProcessAnalysis`."""

    def take(self, state: State, due: Sequence[Output], *, checkpoint: bool) -> None:
        """Give a state to the devices that analyse."""

    def wait(self) -> None:
        """Wait until all outputs of the states taken so far are on the disk."""

    def raise_failure(self) -> None:
        """Raises the error of an output, if there is one."""

    def close(self, ending: Ending | None) -> None:
        """End the analysis, after all outputs of the states taken are on the disk; at once if the ending is None."""


@dataclass
class WriteOrSend:
    """Writes outputs that keep the bits of the devices that step, and sends the state to `analysis` for all others.

    Attributes:
        how: end of the run, as in `Ending.how`, according to the last pause.
    """

    run: Run
    outputs: OutputList
    watchdog: Watchdog
    analysis: Analysis
    how: str = field(default="failed", init=False)

    def at_pause(self, pause: Pause) -> None:
        self.analysis.raise_failure()
        with jax.profiler.TraceAnnotation("outputs"):
            self._write(pause)
        self.run.writer.end_pause()
        if pause.is_last:
            self.run.writer.wait()
            self.analysis.wait()
            self.how = "finished" if pause.done else "stopped"

    def _write(self, pause: Pause) -> None:
        state, start, end = pause.state, not pause.moved, pause.done
        due, checkpoint = [], False
        if not pause.resumed:  # a state of a checkpoint was written by the run before
            due = self.outputs.due(state, start=start, end=end)
            checkpoint = self.outputs.checkpoints.is_due(state, start=start, end=end)
        write_each([output for output in due if output.keeps_bits], self.run, state, self.watchdog)
        sent, checkpoint = [output for output in due if not output.keeps_bits], checkpoint or pause.stopping
        if sent or checkpoint:
            self.analysis.take(state, sent, checkpoint=checkpoint)


@contextmanager
def output_listener(
    simulation: Simulation,
    run: Run,
    resumed_at: int | None,
    request: StopRequest,
    watchdog: Watchdog,
    is_stepping: Callable[[], bool],
) -> Iterator[Listener]:
    """Who writes the outputs of a run at its pauses, once their files are prepared; all is written when it ends.

    Args:
        simulation, run, request, watchdog: parts of the run.
        resumed_at: step of the checkpoint that it continues from, if it does.
        is_stepping: True while it takes steps: after a failure there other processes may be gone, and nothing is
            waited for.
    """
    outputs, mesh = simulation.outputs, simulation.analyse
    if not isinstance(mesh, Mesh):
        outputs.open(run, resumed_at)
        yield WriteOutputs(run, outputs, watchdog)
        return
    analysis: Analysis
    if processes_of(mesh) != (jax.process_index(),):
        analysis = ProcessAnalysis(run, outputs, mesh, resumed_at, request)
    else:
        outputs.open(run, resumed_at)
        analysis = ThreadAnalysis(run, outputs, mesh)
    listener = WriteOrSend(run, outputs, watchdog, analysis)
    ending: Ending | None = None
    try:
        yield listener
        ending = Ending(listener.how)
    except BlowUp as error:
        ending = Ending("blown up", str(error))
        raise
    except Exception:
        ending = None if is_stepping() else Ending("failed")
        raise
    finally:
        analysis.close(ending)
