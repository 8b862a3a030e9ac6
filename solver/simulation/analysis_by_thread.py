"""A thread that carries out outputs on devices of their own, in the process of the devices that step."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue

from jax.sharding import Mesh

from solver.io import Writer
from solver.outputs.output import Output, Run
from solver.simulation.output_list import OutputList
from solver.steppers import hand_over
from solver.steppers.state import State

MAX_BEHIND = 2  # states that are handed over and not done with; each takes its memory on the devices that analyse


@dataclass(frozen=True)
class Task:
    """Outputs to write of one state.

    Args:
        state: state on the devices that analyse.
        due: outputs other than checkpoints.
        checkpoint: True if a checkpoint is due too.
    """

    state: State
    due: Sequence[Output]
    checkpoint: bool


@dataclass(frozen=True)
class Ending:
    """End of a run, as the devices that analyse need to know it.

    Args:
        how: `finished`, `stopped` early, `blown up` or `failed`.
        message: message of a blow-up.
    """

    how: str
    message: str = ""


class ThreadAnalysis:
    """Writes outputs and checkpoints of the states given to `take`, in their order, in a thread of its own.

    After an output has failed, later states are dropped, and the next call of `take` or `wait` raises its error.

    Args:
        run: the run as the outputs of the devices that step receive it.
        outputs: outputs of the run.
        mesh: mesh of the devices that analyse.
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
        """Take a state to analyse, once fewer than `MAX_BEHIND` are unfinished. Its buffers may then be used again.

        Raises:
            Exception: the error of an output of an earlier state.
        """
        self._take_room(1)
        if self._failure is not None:
            self._room.release()
            raise self._failure
        self._tasks.put(Task(hand_over(state, self._run.equation, self._mesh), due, checkpoint))

    def wait(self) -> None:
        """Wait until all outputs of the states taken so far are on the disk.

        Raises:
            Exception: the error of an output.
        """
        self._take_room(MAX_BEHIND)
        self._room.release(MAX_BEHIND)
        self.raise_failure()

    def close(self, ending: Ending | None) -> None:
        """Wait for the outputs of all states taken, and end the thread. Raises no error of an output; `wait` does so.

        Args:
            ending: end of the run; None leaves the thread running, since the process that ends the run does not wait.
        """
        self._tasks.put(None)
        if ending is not None:
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
        there = self._there.at_time(task.state.t)
        for output in task.due:
            output.write(there, task.state)
        if task.checkpoint:
            self._run.writer.wait_in_thread()  # what the devices that step wrote before is on the disk too
            self._outputs.checkpoint(there, task.state)
        there.writer.end_pause()
        there.writer.wait()

    def _note_time(self, task: Task, seconds: float) -> None:
        """Record the time of a task for the clock of the run: some tasks may have to be done before the run can end."""
        writer, names = self._run.writer, {output.name for output in task.due}
        if names <= self._compiled:
            writer.slowest = max(writer.slowest, (MAX_BEHIND + 1) * seconds)
        self._compiled |= names  # an output compiles its programs when it is first carried out
        writer.checkpoint = max(writer.checkpoint, self._there.writer.checkpoint)
