"""Work of the processes that carry out outputs while others step (`analysis_elsewhere`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

import jax
from jax.sharding import Mesh

from solver.cluster import Agreement, Messages, Watchdog, is_first, log_to
from solver.io import fetch_state
from solver.loop import BlowUp
from solver.outputs.output import Run
from solver.simulation.analysis_elsewhere import NAME, STOP
from solver.simulation.first_state import statistics_of
from solver.simulation.kept_plan import PLAN, keep_plan
from solver.simulation.output_list import write_each
from solver.simulation.simulation import Simulation
from solver.steppers.state import State
from solver.stop import StopRequest

LOOK_SECONDS = 0.5  # after which a process that waits for states looks for signals


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
    apart = [output for output in outputs.all if not output.keeps_bits]
    resumed_at = messages.wait_for("begun")
    keep_plan(run.equation, run.directory.path / PLAN)  # which the processes that step have found
    if resumed_at is not None:
        run.kept.add(resumed_at)
    outputs.prepare(run)
    outputs.resume_files(run, resumed_at, apart)
    if is_first():
        messages.leave("resumed", None)
    messages.wait_for("dropped")
    outputs.begin_files(run, resumed_at, apart)


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
