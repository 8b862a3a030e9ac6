"""A run from its first state to its last, with listeners told of its pauses."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager

import jax

from solver.cluster import LOGGER, Watchdog, is_first, largest
from solver.io import RunLock, Writer, WritingThread, duration
from solver.loop import Advance, BlowUp, reached
from solver.outputs.base import Run
from solver.simulation.apart import output_listener
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
        request: set when a signal asks for a stop.
        lock: the first process's lock on the directory; None in the others.
        profile: steps to be traced, if any.

    Returns:
        The last state, and whether it stands at the end: if not, it was stopped early and a checkpoint written.

    Raises:
        BlowUp: the solution stopped being finite, or has more energy than it may.
        CheckpointError: all checkpoints of the directory are damaged.
        DiskError: a file could not be written; everything finished before is whole.
        FailedElsewhere: another process could not go on.
        ValueError: a run without a directory.
    """
    directory = simulation.for_outputs().directory
    profile = Profile(directory.path) if profile is None else profile
    with Watchdog(simulation.limits.stall, directory.log) as watchdog:
        _publish_devices(simulation, lock)
        calls = simulation_course(simulation, request, lock, watchdog, profile=profile)
        with closing(calls):
            while True:
                try:
                    ask = next(calls)
                except StopIteration as end:
                    last: tuple[State, bool] = end.value
                    return last
                with profile.step():
                    ask.carry_out(donate=True)


def simulation_course(
    simulation: Simulation,
    request: StopRequest,
    lock: RunLock | None,
    watchdog: Watchdog,
    *,
    profile: Profile | None = None,
    companions: int = 0,
    thread: WritingThread | None = None,
) -> Generator[Advance, None, tuple[State, bool]]:
    """What `simulate` does, without carrying out the steps: a generator of the calls that the run waits for.

    While it waits it holds no array.

    Args:
        simulation, request, lock: as of `simulate`.
        watchdog: is told of the run's progress.
        profile: steps to be traced; None of a run whose steps are carried out together with those of `companions` other
            runs. It shows no progress of its own, and leaves time for their checkpoints before the clock stops it.
        thread: writes its large files; one of its own if it is not given.

    Returns, raises:
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
        began = time.monotonic()
        shown = alone and is_first()
        with (
            closing(Progress(run.end, state, active=shown)) as progress,
            closing(profile),
            output_listener(simulation, run, resumed_at, request, watchdog) as write_outputs,
        ):
            pace = Pace()
            listeners: list[Listener] = [
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
            items = _pauses(
                simulation, state, resumed_at is not None, run.writer, conditions, lambda: profile.limit(pace())
            )
            del state  # the course has it now
            for item in items:
                if isinstance(item, Advance):
                    yield item
                    continue
                for listener in listeners:
                    listener.at_pause(item)
                if item.stopping:
                    return item.state, False
                last = item.state if item.done else None
                reached_at = int(item.state.step), float(item.state.t)
                del item  # or its state would be held beside the next
        took, held_up = duration(time.monotonic() - began), run.writer.held_up
        message = (
            f"finished: step {reached_at[0]}, t = {reached_at[1]:.6g}, in {took}, {held_up:.1f} s of it held up by "
            f"writing; {run.directory.path}"
        )
        LOGGER.info("%s", message)
        if lock is not None:
            lock.update_status(message=message)
        assert last is not None
        return last, True


def _pauses(
    simulation: Simulation,
    state: State,
    resumed: bool,
    writer: Writer,
    conditions: StopConditions,
    chunk: Callable[[], int],
) -> Iterator[Advance | Pause]:
    """The pauses of a run, the first one before any step, and the calls between. All processes are told the same."""
    items = simulation.course(state, chunk=chunk, donate=True)
    first = previous = int(state.step)
    del state  # the loop has a copy of its own
    mark = time.monotonic()
    for item in items:
        if isinstance(item, Advance):
            yield item
            continue
        state = item
        step = int(state.step)
        stop, seconds, failed = largest(
            [conditions.should_stop(advanced=step > first), time.monotonic() - mark, writer.failed]
        )
        done = reached(state, simulation.end)
        yield Pause(
            state=state, seconds=seconds, steps=step - previous, moved=step > first, compiled=previous == first,
            resumed=resumed and step == first, done=done, stopping=bool(stop) and not done, failed=bool(failed),
        )  # fmt: skip
        del state, item
        mark, previous = time.monotonic(), step


def _publish_devices(simulation: Simulation, lock: RunLock | None) -> None:
    """Write the number of devices into the status of a run; members of an ensemble share those of all."""
    assert simulation.directory is not None
    if lock is None or simulation.directory.ensemble is not None:
        return
    meshes = [mesh for mesh in (simulation.equation.grid.mesh, simulation.analyse) if mesh is not None]
    devices = [device for mesh in meshes for device in mesh.devices.flat]
    lock.update_status(devices=len(devices), platform=devices[0].platform)


@contextmanager
def _writing(run: Run, watchdog: Watchdog, lock: RunLock | None) -> Iterator[None]:
    """What is being written when the block ends is finished, unless other processes may have died that it waits for."""
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
