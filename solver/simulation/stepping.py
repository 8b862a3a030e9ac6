"""A run from its first state to its last, alone or with others in one program; listeners are called at its pauses."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import TypeAlias

import jax

from solver.cluster import LOGGER, Watchdog, is_first, largest, log_of
from solver.io import RunLock, Writer, WritingThread, duration
from solver.loop import BlowUp, Course, Members
from solver.loop.members import Answer
from solver.outputs.output import Run
from solver.simulation.analysis import output_listener
from solver.simulation.directory import PLAN, keep_plan
from solver.simulation.first_state import first_state, log_rounding
from solver.simulation.pauses import (
    EndOnFailedWriting,
    EnergyLimit,
    Listener,
    OwnListener,
    Pause,
    ReportToWatchdog,
)
from solver.simulation.profile import Profile, TraceSteps
from solver.simulation.progress import LINE_SECONDS, Pace, Progress
from solver.simulation.simulation import Simulation
from solver.simulation.stop_conditions import EndOfRun, PublishProgress, StopConditions
from solver.steppers.state import State
from solver.stop import StopRequest

PATIENCE = 2.0  # seconds for what is being written when the other processes may have died
Ending: TypeAlias = bool | BlowUp  # whether a run came to its end, or how it blew up


def simulate(
    simulation: Simulation, request: StopRequest, lock: RunLock | None, profile: Profile | None = None
) -> tuple[State, bool]:
    """Carry a run from its newest checkpoint, or from its start, to its end. Collective.

    Args:
        simulation: the run, with a directory.
        request: stop request, set by a signal.
        lock: the first process's lock on the directory; None in the others.
        profile: steps to be traced, if any.

    Returns:
        The last state, and True if it is at the end of the run; if False, the run was stopped early and a checkpoint
        written.

    Raises:
        BlowUp: the solution stopped being finite, or has more energy than it may.
        CheckpointError: all checkpoints of the directory are damaged.
        DiskError: a file could not be written; everything finished before is whole.
        FailedElsewhere: another process failed.
        ValueError: a run without a directory.
    """
    directory = simulation.for_outputs().directory
    _publish_devices(simulation, lock)
    with (
        Watchdog(simulation.limits.stall, directory.log) as watchdog,
        running(simulation, request, lock, watchdog, profile=profile or Profile(directory.path)) as run,
    ):
        run.pause()
        while not run.over:
            run.advance()
            run.pause()
        return run.state, run.finished


class Running:
    """A simulation between its first state and its last: `advance` and `pause` in turn until it is `over`.

    Attributes:
        is_stepping: True while a call of its own is carried out.
        over: True once it ended at a pause: at its end, or stopped early.
        finished: True if its state has reached the end.
    """

    def __init__(
        self, course: Course, resumed: bool, conditions: StopConditions, writer: Writer, profile: Profile
    ) -> None:
        self.course, self.listeners = course, list[Listener]()
        self.over = self.finished = self.is_stepping = False
        self._resumed, self._conditions, self._writer, self._profile = resumed, conditions, writer, profile
        self._first = self._previous = int(course.state.step)
        self._mark = time.monotonic()

    @property
    def state(self) -> State:
        """The state at the last pause."""
        return self.course.state

    def advance(self) -> None:
        """Take the steps to the next pause, of this run alone."""
        self.is_stepping = True
        with self._profile.step():
            call = self.course.call()
            answer = call.carry_out(donate=True)
        self.is_stepping = False
        self.course.take(*answer)

    def pause(self) -> None:
        """Call the listeners, the first time before any step. All processes give them the same information."""
        step, previous = int(self.state.step), self._previous
        stop, seconds, failed = largest(
            [
                self._conditions.should_stop(advanced=step > self._first),
                time.monotonic() - self._mark,
                self._writer.failed,
            ]
        )
        done = self.course.done
        pause = Pause(
            state=self.state, seconds=seconds, steps=step - previous, moved=step > self._first,
            compiled=previous == self._first, resumed=self._resumed and step == self._first, done=done,
            stopping=bool(stop) and not done, failed=bool(failed),
        )  # fmt: skip
        for listener in self.listeners:
            listener.at_pause(pause)
        self.over, self.finished = pause.is_last, done
        self._mark, self._previous = time.monotonic(), step


@contextmanager
def running(
    simulation: Simulation,
    request: StopRequest,
    lock: RunLock | None,
    watchdog: Watchdog,
    *,
    profile: Profile | None = None,
    companions: int = 0,
    thread: WritingThread | None = None,
) -> Iterator[Running]:
    """A run that is begun, for the time of the block, after which all that it writes is written. Collective.

    Args:
        simulation, request, lock: as of `simulate`.
        watchdog: watchdog that is informed of the run's progress.
        profile: steps to be traced; None for a run whose steps are carried out together with the steps of `companions`
            other runs. It shows no progress of its own, and leaves time for their checkpoints before the clock stops
            it.
        thread: thread that writes its large files; a thread of its own if it is not given.

    Raises:
        As `simulate`.
    """
    alone = profile is not None
    run, limits = simulation.for_outputs(thread), simulation.limits
    profile = Profile(run.directory.path) if profile is None else profile
    keep_plan(run.equation, run.directory.path / PLAN)
    with _writing(run, watchdog, lock):
        state, resumed_at = _start(simulation, run, watchdog)
        if alone:
            written = ", ".join(output.name for output in simulation.outputs.all)
            LOGGER.info("compiling what writes %s, and the step", written)
        conditions = StopConditions(request, run.directory, lock, limits.time_limit, companions)
        conditions.begin(state, run.writer)
        began, shown = time.monotonic(), alone and is_first()
        going: Running | None = None
        with (
            closing(Progress(run.end, state, active=shown)) as progress,
            closing(profile),
            output_listener(
                simulation, run, resumed_at, request, watchdog, lambda: going is not None and going.is_stepping
            ) as write_outputs,
        ):
            pace = Pace()
            course = simulation.course(state, chunk=lambda: profile.limit(pace()), donate=True)
            del state  # the course has a copy of its own
            going = Running(course, resumed_at is not None, conditions, run.writer, profile)
            going.listeners = [
                conditions,  # the time of a chunk, for the clock
                ReportToWatchdog(watchdog),
                pace,
                EndOnFailedWriting(run.writer),
                EnergyLimit(run.equation, limits.energy),
                write_outputs,
                EndOfRun(conditions),
                progress,
                PublishProgress(lock, progress),
                TraceSteps(profile, watchdog),
                *(OwnListener(listener, watchdog) for listener in simulation.listeners),
            ]
            yield going
        if going.finished:
            _say_finished(run, going.state, lock, duration(time.monotonic() - began))


def _start(simulation: Simulation, run: Run, watchdog: Watchdog) -> tuple[State, int | None]:
    """The first state, and the step of the checkpoint that a resumed run continues."""
    with watchdog.busy("starting"):  # runs beside this one may have moved already
        state, resumed_at = first_state(simulation, run)
        log_rounding(run.equation)
    if resumed_at is not None:
        run.kept.add(resumed_at)
    return state, resumed_at


def _say_finished(run: Run, state: State, lock: RunLock | None, took: str) -> None:
    """Log the end of a run, and write it into its status."""
    message = (
        f"finished: step {int(state.step)}, t = {float(state.t):.6g}, in {took}, {run.writer.held_up:.1f} s of it held "
        f"up by writing; {run.directory.path}"
    )
    LOGGER.info("%s", message)
    if lock is not None:
        lock.update_status(message=message)


def _publish_devices(simulation: Simulation, lock: RunLock | None) -> None:
    """Write the number of devices into the status of a run; members of an ensemble share the devices of all."""
    assert simulation.directory is not None
    if lock is None or simulation.directory.ensemble is not None:
        return
    devices = simulation.devices
    lock.update_status(devices=len(devices), platform=devices[0].platform)


@contextmanager
def _writing(run: Run, watchdog: Watchdog, lock: RunLock | None) -> Iterator[None]:
    """Finish open writes when the block ends; if other processes may have died, wait for a limited time only."""
    run.writer.while_waiting = lambda: watchdog.busy("writing")
    patience = PATIENCE if jax.process_count() > 1 else None
    try:
        yield
        patience = None
    except BlowUp as error:
        LOGGER.error("%s", error)
        if lock is not None:
            lock.update_status(message=str(error))
        patience = None  # every process is here
        raise
    except KeyboardInterrupt:
        patience = 0.0
        raise
    finally:
        run.writer.close(patience)


def carry_out_together(
    runs: Mapping[int, AbstractContextManager[Running]], members: Members, names: Mapping[int, str]
) -> dict[int, Ending]:
    """Carry runs out, each in turn from one pause to the next, and their steps together. Collective.

    Args:
        runs: the context of each run (`running`), by its place in the batch.
        members: carries out their calls.
        names: names of the runs, for the log.

    Returns:
        By place, the end of each run. If one blows up, the others continue.

    Raises:
        Whatever else a run raises: then all others are ended, each with its newest checkpoint kept.
    """
    endings: dict[int, Ending] = {}
    with ExitStack() as stack:
        blocks = {place: _Block(runs[place], names[place]) for place in sorted(runs)}
        for block in reversed(blocks.values()):
            stack.callback(block.abandon)
        going, said = blocks, time.monotonic()
        answers: dict[int, Answer | None] = dict.fromkeys(blocks)
        while going:
            endings |= {place: end for place in answers if (end := going[place].go_on(answers[place])) is not None}
            going = {place: block for place, block in going.items() if place not in endings}
            if going:
                answers = dict(members.carry_out({place: block.run.course.call() for place, block in going.items()}))
            if is_first() and going and time.monotonic() - said > LINE_SECONDS:
                said = time.monotonic()
                LOGGER.info(_progress(going))
    return endings


class _Block:
    """The block of one run, carried out in pieces: an exception in a piece ends it, as it would within `with`."""

    def __init__(self, context: AbstractContextManager[Running], name: str) -> None:
        self.name, self._context, self._is_open = name, context, False

    def go_on(self, answer: Answer | None) -> Ending | None:
        """Continue to the next pause with the answer to its call, or begin; the end of the run, if it has ended."""
        with log_of(self.name):
            try:
                return self._piece(answer)
            except BlowUp as error:
                vars(self).pop("run", None)  # and the state that it holds
                return error

    def _piece(self, answer: Answer | None) -> Ending | None:
        if answer is None:
            self.run, self._is_open = self._context.__enter__(), True
        try:
            if answer is not None:
                self.run.course.take(*answer())
            self.run.pause()
        except BaseException:
            self._is_open = False
            if not self._context.__exit__(*sys.exc_info()):
                raise
        if not self.run.over:
            return None
        finished, self._is_open = self.run.finished, False
        self._context.__exit__(None, None, None)
        del self.run  # and the state that it holds
        if finished:
            LOGGER.info("%s came to its end", self.name)
        return finished

    def abandon(self) -> None:
        """End the block without its end, if it is open."""
        if self._is_open:
            self._is_open = False
            with log_of(self.name):
                self._context.__exit__(GeneratorExit, GeneratorExit(), None)


def _progress(going: Mapping[int, _Block]) -> str:
    """A line for all runs that are not over."""
    times = {block.name: float(block.run.state.t) for block in going.values()}
    last, first = min(times, key=lambda name: times[name]), max(times, key=lambda name: times[name])
    return (
        f"{len(times)} members go on together, from t = {times[last]:.6g} ({last}) to t = {times[first]:.6g} ({first})"
    )
