"""A run from its first state to its last, with listeners told of its pauses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import jax

from solver.cluster import LOGGER, Watchdog, is_first, largest
from solver.io import DirectoryLock, Writer, duration
from solver.loop import BlowUp, reached
from solver.outputs.base import Run
from solver.simulation.analysis import output_listener
from solver.simulation.first_state import first_state
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
    simulation: Simulation, request: StopRequest, lock: DirectoryLock | None, profile: Profile | None = None
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
    run, limits = _run_for_outputs(simulation), simulation.limits
    keep_plan(run.equation, run.directory.path / PLAN)
    with Watchdog(limits.stall, run.directory.log) as watchdog, _writing(run, watchdog):
        state, resumed_at = first_state(simulation, run)
        if resumed_at is not None:
            run.kept.add(resumed_at)
        simulation.outputs.open(run, resumed_at)
        conditions = StopConditions(request, run.directory, lock, limits.time_limit)
        conditions.begin(state, run.writer)
        began = time.monotonic()
        with (
            closing(Progress(run.end, state, active=is_first())) as progress,
            closing(Profile(run.directory.path) if profile is None else profile) as profile,
            output_listener(simulation, run, watchdog) as write_outputs,
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
            for pause in _pauses(simulation, state, resumed_at is not None, run.writer, conditions, profile, pace):
                state = pause.state
                for listener in listeners:
                    listener.at_pause(pause)
                if pause.stopping:
                    return state, False
                del pause  # or its state would be held beside the next
        took, held_up = duration(time.monotonic() - began), run.writer.held_up
        LOGGER.info(
            "finished: step %d, t = %.6g, in %s, %.1f s of it held up by writing; %s",
            int(state.step), float(state.t), took, held_up, run.directory.path,
        )  # fmt: skip
        return state, True


def _run_for_outputs(simulation: Simulation) -> Run:
    """The description of a run that its outputs receive, with the writer and notes of this process's part of it."""
    if simulation.directory is None:
        raise ValueError("simulate: the simulation has no directory; give it one, or ask for its `states`")
    return Run(
        simulation.equation, simulation.directory, simulation.control, simulation.end, simulation.title,
        simulation.run_file,
    )  # fmt: skip


def _pauses(
    simulation: Simulation,
    state: State,
    resumed: bool,
    writer: Writer,
    conditions: StopConditions,
    profile: Profile,
    pace: Pace,
) -> Iterator[Pause]:
    """The pauses of a run, the first one before any step. Collective: all processes are told the same."""
    states = simulation.states(state, chunk=lambda: profile.limit(pace()), donate=True)
    first = previous = int(state.step)
    del state  # the loop has a copy of its own
    mark = time.monotonic()
    for state in profile.named(states):
        step = int(state.step)
        stop, seconds, failed = largest(
            [conditions.should_stop(advanced=step > first), time.monotonic() - mark, writer.failed]
        )
        done = reached(state, simulation.end)
        yield Pause(
            state=state, seconds=seconds, steps=step - previous, moved=step > first, compiled=previous == first,
            resumed=resumed and step == first, done=done, stopping=bool(stop) and not done, failed=bool(failed),
        )  # fmt: skip
        mark, previous = time.monotonic(), step


@contextmanager
def _writing(run: Run, watchdog: Watchdog) -> Iterator[None]:
    """What is being written when the block ends is finished, unless other processes may have died that it waits for."""
    run.writer.while_waiting = lambda: watchdog.busy("writing")
    patience = PATIENCE if jax.process_count() > 1 else None
    try:
        yield
        patience = None
    except BlowUp as error:
        LOGGER.error("%s", error)
        patience = None  # every process is here
        raise
    except KeyboardInterrupt:
        patience = 0.0
        raise
    finally:
        run.writer.close(patience)
