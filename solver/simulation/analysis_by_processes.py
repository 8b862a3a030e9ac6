"""Outputs that other processes of the job carry out: the work of the processes that step, and of those that analyse."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

import jax
from jax.sharding import Mesh

from solver.cluster import Agreement, Messages, Watchdog, is_first, log_to
from solver.io import fetch_state, offer_state
from solver.loop import BlowUp
from solver.outputs.output import Output, Run
from solver.simulation.analysis_by_thread import MAX_BEHIND, Ending
from solver.simulation.directory import PLAN, keep_plan
from solver.simulation.first_state import statistics_of
from solver.simulation.output_list import OutputList, write_each
from solver.simulation.simulation import Simulation
from solver.steppers.state import State
from solver.stop import StopRequest

STOP = "stop"
NAME = "groups"  # of the messages between the processes that step and those that analyse
LOOK_SECONDS = 0.5  # after which a process that waits for states looks for signals


class ProcessAnalysis:
    """Sends states to processes that analyse by `analyse`. Collective among the processes that step.

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


@dataclass(frozen=True)
class Received:
    """Message from the processes that step, with a state to write or with the end of the run."""

    number: int
    message: Mapping[str, Any]
    state: State | None


def analyse(simulation: Simulation, stepping: Mesh, request: StopRequest) -> bool:
    """Write outputs and checkpoints of the states that other processes send, until they end. Collective.

    Args:
        simulation: the run, with its equation on the devices of this group.
        stepping: mesh of the devices that step.
        request: stop request, set by a signal to this process, which passes it on to the processes that step.

    Returns:
        True if the run came to its end.

    Raises:
        BlowUp: the solution of the run blew up.
    """
    run, messages = simulation.for_outputs(), Messages(NAME)
    with ExitStack() as stack:
        watchdog = stack.enter_context(Watchdog(simulation.limits.stall, run.directory.log))
        with watchdog.resting():
            _open(simulation, run, messages)
        if is_first():  # the directory is there now
            stack.enter_context(log_to(run.directory.log))
        watchdog.moved()
        received: SimpleQueue[Received | BaseException] = SimpleQueue()
        thread = threading.Thread(
            target=_receive, args=(simulation, stepping, messages, received), name="slabwave-receiver", daemon=True
        )
        thread.start()
        compiled: set[str] = set()
        while True:
            with watchdog.resting():
                item = _next(received, messages, request)
            watchdog.moved()
            if isinstance(item, BaseException):
                raise item
            if item.state is None:
                run.writer.close()
                how, text = item.message["ending"]
                if how == "blown up":
                    raise BlowUp(text)
                finished: bool = how == "finished"
                return finished
            _carry_out(simulation, run, watchdog, messages, item, compiled)
            del item  # its memory is for the next


def _next(
    received: SimpleQueue[Received | BaseException], messages: Messages, request: StopRequest
) -> Received | BaseException:
    """The next message or error; while it waits, a signal is passed on to the processes that step."""
    while True:
        if request.received is not None:
            messages.leave(STOP, request.received, again=True)
        try:
            return received.get(timeout=None if request.received else LOOK_SECONDS)
        except Empty:
            continue


def _open(simulation: Simulation, run: Run, messages: Messages) -> None:
    outputs = simulation.outputs
    analysed = [output for output in outputs.all if not output.keeps_bits]
    resumed_at = messages.wait_for("begun")
    keep_plan(run.equation, run.directory.path / PLAN)  # which the processes that step have found
    if resumed_at is not None:
        run.kept.add(resumed_at)
    outputs.prepare(run)
    outputs.resume_files(run, resumed_at, analysed)
    if is_first():
        messages.leave("resumed", None)
    messages.wait_for("dropped")
    outputs.begin_files(run, resumed_at, analysed)


def _receive(
    simulation: Simulation, stepping: Mesh, messages: Messages, received: SimpleQueue[Received | BaseException]
) -> None:
    """Fetch states as they are offered, in a thread, so that the processes that step need not keep them."""
    number, statistics = 0, statistics_of(simulation.outputs, simulation.equation)
    try:
        while True:
            number += 1
            message, state = messages.wait_for(f"state-{number}"), None
            if "ending" not in message:
                state = fetch_state(
                    message["state"], simulation.equation, simulation.stepper, stepping, f"{NAME} {number}", statistics
                )
            received.put(Received(number, message, state))
            del state
            if "ending" in message:
                return
    except BaseException as error:  # whatever it is ends the run, whose main thread would wait for ever
        received.put(error)


def _carry_out(
    simulation: Simulation, run: Run, watchdog: Watchdog, messages: Messages, item: Received, compiled: set[str]
) -> None:
    """Write the outputs that are due of a state, and report it once they are on the disk."""
    began, state = time.monotonic(), item.state
    assert state is not None
    due = [output for output in simulation.outputs.others if output.name in item.message["due"]]
    with jax.profiler.TraceAnnotation("outputs"):
        write_each(due, run, state, watchdog)
    if item.message["checkpoint"]:
        with watchdog.resting():
            messages.wait_for(f"written-{item.number}")
        simulation.outputs.checkpoint(run, state)
    run.writer.end_pause()
    run.writer.wait()
    Agreement("analysed").barrier()
    if is_first():
        names = {output.name for output in due}
        seconds = time.monotonic() - began if names <= compiled else 0.0  # at first an output compiles its programs
        messages.leave(f"done-{item.number}", {"seconds": seconds, "checkpoint": run.writer.checkpoint})
        compiled |= names
