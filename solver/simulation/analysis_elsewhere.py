"""Outputs that other processes of the job carry out: the work of the processes that step."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from jax.sharding import Mesh

from solver.cluster import Messages, is_first
from solver.io import offer_state
from solver.outputs.output import Output, Run
from solver.simulation.analysis import MAX_BEHIND, Ending
from solver.simulation.output_list import OutputList
from solver.steppers.state import State
from solver.stop import StopRequest

STOP = "stop"
NAME = "groups"  # of the messages between the processes that step and those that analyse


class AnalysisElsewhere:
    """Sends states to processes that analyse by `analysing.analyse`. Collective among the processes that step.

    An error of these processes ends the job, as an error of any process does.

    Args:
        run: the run as the outputs of the devices that step receive it.
        outputs: outputs of the run.
        mesh: mesh of the devices that analyse.
        resumed_at: step of the checkpoint from which the run continues; None for a new run.
        request: stop request, set when a signal comes to a process that analyses.
    """

    def __init__(self, run: Run, outputs: OutputList, mesh: Mesh, resumed_at: int | None, request: StopRequest) -> None:
        self._run, self._mesh, self._request, self._messages = run, mesh, request, Messages(NAME)
        self._taken = self._done = self._forgotten = 0
        kept = [output for output in outputs.all if output.keeps_bits]
        outputs.prepare(run)
        self._leave("begun", resumed_at)
        outputs.resume_files(run, resumed_at, kept)
        self._messages.wait_for("resumed")  # nothing is dropped before all outputs agree
        outputs.drop_files(run, resumed_at)
        self._leave("dropped", None)
        outputs.begin_files(run, resumed_at, kept)
        if is_first():
            threading.Thread(target=self._listen, name="slabwave-stop", daemon=True).start()

    def take(self, state: State, due: Sequence[Output], *, checkpoint: bool) -> None:
        """Take a state to analyse, once fewer than `MAX_BEHIND` are unfinished. Its buffers may then be used again."""
        self._forget()
        self._wait_until_done(self._taken + 1 - MAX_BEHIND)
        self._taken += 1
        message = {
            "state": offer_state(state, self._run.equation, self._mesh, f"{NAME} {self._taken}"),
            "due": [output.name for output in due],
            "checkpoint": checkpoint,
        }
        self._leave(f"state-{self._taken}", message)
        if checkpoint and is_first():
            threading.Thread(target=self._say_written, args=(self._taken,), daemon=True).start()

    def wait(self) -> None:
        """Wait until all outputs of the states taken so far are on the disk."""
        self._wait_until_done(self._taken)

    def raise_failure(self) -> None:
        """Raises nothing: a process that fails ends the others."""

    def close(self, ending: Ending | None) -> None:
        """Wait for the outputs of all states taken, and let the processes that analyse end.

        Args:
            ending: end of the run. None and a failure end these processes together with this one.
        """
        if ending is not None and ending.how != "failed":
            self.wait()
            self._leave(f"state-{self._taken + 1}", {"ending": [ending.how, ending.message]})
        if is_first():
            self._messages.leave(STOP, None, again=True)  # so that no thread waits when the interpreter ends

    def _listen(self) -> None:
        """Pass a signal on that came to a process that analyses."""
        signal = self._messages.wait_for(STOP)
        if signal is not None and self._request.received is None:
            self._request.received = signal

    def _leave(self, key: str, message: object) -> None:
        if is_first():
            self._messages.leave(key, message)

    def _say_written(self, number: int) -> None:
        """Report that the devices that step have finished their writes before a checkpoint, which comes last."""
        try:
            self._run.writer.wait_in_thread()
        except Exception:
            return  # which ends the run at its next pause
        self._messages.leave(f"written-{number}", None)

    def _wait_until_done(self, number: int) -> None:
        """Wait until all outputs of the first `number` states are done."""
        began = time.monotonic()
        while self._done < number:
            with self._run.writer.while_waiting():
                took = self._messages.wait_for(f"done-{self._done + 1}")
            self._done += 1
            writer = self._run.writer
            writer.slowest = max(writer.slowest, (MAX_BEHIND + 1) * took["seconds"])
            writer.checkpoint = max(writer.checkpoint, took["checkpoint"])
        self._run.writer.held_up += time.monotonic() - began

    def _forget(self) -> None:
        """Remove the messages that this process read in an earlier pause: every process has read them by now.

        The other processes that step read them in the same pause, and all have met since. The processes that analyse
        have read them, or they would not have reported that they are done.
        """
        while is_first() and self._forgotten < self._done:
            self._forgotten += 1
            self._messages.remove(f"state-{self._forgotten}")
            self._messages.remove(f"done-{self._forgotten}")
            self._messages.remove(f"written-{self._forgotten}")
