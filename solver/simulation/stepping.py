"""A run from its first state to its last, with listeners that are called at its pauses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import jax

from solver.cluster import LOGGER, Watchdog, is_first, largest
from solver.io import RunLock, Writer, WritingThread, duration
from solver.loop import BlowUp, Course
from solver.outputs.output import Run
from solver.simulation.analysis import output_listener
from solver.simulation.first_state import first_state, log_rounding
from solver.simulation.kept_plan import PLAN, keep_plan
from solver.simulation.pauses import (
    EndOnFailedWriting,
    EnergyLimit,
    Listener,
    OwnListener,
    Pause,
    ReportToWatchdog,
)
from solver.simulation.profile import Profile, TraceSteps
from solver.simulation.progress import Pace, Progress
from solver.simulation.simulation import Simulation
from solver.simulation.stop_conditions import EndOfRun, PublishProgress, StopConditions
from solver.steppers.state import State
from solver.stop import StopRequest

PATIENCE = 2.0  # seconds for what is being written when the other processes may have died


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
        with watchdog.busy("starting"):  # runs beside this one may have moved already
            state, resumed_at = first_state(simulation, run)
            log_rounding(run.equation)
        if resumed_at is not None:
            run.kept.add(resumed_at)
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
