"""Outputs that a group of devices carries out while the others step.

At a pause the state is handed over to the devices that analyse, piece by piece, and stepping goes on; a thread writes
the outputs and checkpoints from there. Stepping waits only where two states handed over before are not done with.
Outputs that declare `keeps_bits` are carried out by the devices that step, before it goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import SimpleQueue

import jax
from jax.sharding import Mesh

from solver.cluster import Watchdog
from solver.io import Writer
from solver.outputs.base import Output, Run
from solver.simulation.output_list import OutputList, write_each
from solver.simulation.pauses import Listener, Pause, WriteOutputs
from solver.simulation.simulation import Simulation
from solver.steppers import hand_over
from solver.steppers.state import State

MAX_BEHIND = 2  # states that are handed over and not done with; each takes its memory on the devices that analyse


@dataclass(frozen=True)
class Task:
    """What is to be written of one state.

    Args:
        state: on the devices that analyse.
        due: outputs other than checkpoints.
        checkpoint: whether a checkpoint is due too.
    """

    state: State
    due: Sequence[Output]
    checkpoint: bool


class Analysis:
    """Writes outputs and checkpoints of states that are handed over, in their order, in a thread of its own.

    After an output has failed, later states are dropped, and the next call of `take` or `wait` raises its error.

    Args:
        run: as the outputs of the devices that step receive it.
        outputs: of the run.
        mesh: of the devices that analyse.
    """

    def __init__(self, run: Run, outputs: OutputList, mesh: Mesh) -> None:
        self._run, self._outputs, self._mesh = run, outputs, mesh
        self._there = replace(run, equation=run.equation.on_mesh(mesh), writer=Writer())
        self._room = threading.Semaphore(MAX_BEHIND)
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._failure: BaseException | None = None
        self._compiled: set[str] = set()
        self._thread = threading.Thread(target=self._work, name="slabwave-analysis", daemon=True)
        self._thread.start()

    def take(self, state: State, due: Sequence[Output], *, checkpoint: bool) -> None:
        """Hand a state over, once fewer than `MAX_BEHIND` are not done with. Its buffers may then be used again.

        Raises:
            Exception: the error of an output of an earlier state.
        """
        self._take_room(1)
        if self._failure is not None:
            self._room.release()
            raise self._failure
        self._tasks.put(Task(hand_over(state, self._run.equation, self._mesh), due, checkpoint))

    def wait(self) -> None:
        """Wait until everything that was handed over is on the disk.

        Raises:
            Exception: the error of an output.
        """
        self._take_room(MAX_BEHIND)
        self._room.release(MAX_BEHIND)
        self.raise_failure()

    def close(self, *, at_once: bool = False) -> None:
        """Wait for what was handed over, and end the thread. Raises no error of an output; `wait` before does.

        Args:
            at_once: leave the thread running, since whoever ends the run waits for nothing.
        """
        self._tasks.put(None)
        if not at_once:
            with self._run.writer.while_waiting():
                self._thread.join()
            self._there.writer.close()

    def raise_failure(self) -> None:
        """Raises the error of an output, if there is one."""
        if self._failure is not None:
            raise self._failure

    def _take_room(self, states: int) -> None:
        began = time.monotonic()
        with self._run.writer.while_waiting():
            for _ in range(states):
                self._room.acquire()
        self._run.writer.held_up += time.monotonic() - began

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            began = time.monotonic()
            try:
                if self._failure is None and not self._run.writer.abandoned:
                    self._carry_out(task)
            except BaseException as error:  # whatever it is ends the run, which would wait for this thread for ever
                self._failure = error
            self._note_time(task, time.monotonic() - began)
            del task  # its memory is for the next
            self._room.release()

    def _carry_out(self, task: Task) -> None:
        there = self._there
        for output in task.due:
            output.write(there, task.state)
        if task.checkpoint:
            self._run.writer.wait_in_thread()  # what the devices that step wrote before is on the disk too
            self._outputs.checkpoint(there, task.state)
        there.writer.end_pause()
        there.writer.wait()

    def _note_time(self, task: Task, seconds: float) -> None:
        """Tell the clock of the run how long a task takes: so many may have to be done before the run can end."""
        writer, names = self._run.writer, {output.name for output in task.due}
        if names <= self._compiled:
            writer.slowest = max(writer.slowest, (MAX_BEHIND + 1) * seconds)
        self._compiled |= names  # an output compiles its programs when it is first carried out
        writer.checkpoint = max(writer.checkpoint, self._there.writer.checkpoint)


@dataclass(frozen=True)
class WriteApart:
    """Writes outputs that keep the bits of the devices that step, and hands the state over for all others."""

    run: Run
    outputs: OutputList
    watchdog: Watchdog
    analysis: Analysis

    def at_pause(self, pause: Pause) -> None:
        self.analysis.raise_failure()
        with jax.profiler.TraceAnnotation("outputs"):
            self._write(pause)
        self.run.writer.end_pause()
        if pause.is_last:
            self.run.writer.wait()
            self.analysis.wait()

    def _write(self, pause: Pause) -> None:
        state, start, end = pause.state, not pause.moved, pause.done
        due, checkpoint = [], False
        if not pause.resumed:  # a state of a checkpoint was written by the run before
            due = self.outputs.due(state, start=start, end=end)
            checkpoint = self.outputs.checkpoints.is_due(state, start=start, end=end)
        write_each([output for output in due if output.keeps_bits], self.run, state, self.watchdog)
        apart, checkpoint = [output for output in due if not output.keeps_bits], checkpoint or pause.stopping
        if apart or checkpoint:
            self.analysis.take(state, apart, checkpoint=checkpoint)


@contextmanager
def output_listener(simulation: Simulation, run: Run, watchdog: Watchdog) -> Iterator[Listener]:
    """Who writes the outputs of a run at its pauses; what was handed over is written when the context ends."""
    if not isinstance(simulation.analyse, Mesh):
        yield WriteOutputs(run, simulation.outputs, watchdog)
        return
    analysis, at_once = Analysis(run, simulation.outputs, simulation.analyse), False
    try:
        yield WriteApart(run, simulation.outputs, watchdog, analysis)
    except KeyboardInterrupt:
        at_once = True
        raise
    finally:
        analysis.close(at_once=at_once)
