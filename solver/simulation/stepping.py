"""From the first state to the last, with outputs in the pauses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from solver.cluster import LOGGER, Agreement, Watchdog, is_first, largest
from solver.config import STALL_SECONDS, ConfigError
from solver.equations.system import PeriodicSystem, compiled
from solver.io import CheckpointError, RunDirectory, duration, load_checkpoint, newest_valid, set_aside
from solver.loop import BlowUp, Schedule, energy_of_all, evolve, reached
from solver.outputs.base import Output, Run
from solver.outputs.checkpoints import Checkpoints
from solver.simulation.profile import Profile
from solver.simulation.progress import Pace, Progress
from solver.simulation.stop_conditions import StopConditions
from solver.steppers.base import State, Stepper

PATIENCE = 2.0  # seconds for what is being written when the other processes may have died
_energy = compiled(energy_of_all)
_finite = jax.jit(lambda fields: {name: jnp.all(jnp.isfinite(f)) for name, f in fields.items()})


@dataclass(frozen=True)
class OutputList:
    """The outputs of a run, in the order in which they are written: checkpoints last.

    A checkpoint is taken when everything that was due before it is on the disk in its final form, so that a continued
    run finds in every output what the checkpoint's run had written.

    Args:
        others: outputs other than checkpoints.
        checkpoints: when states are kept.
        known: every kind of output that may have written into the directory.
    """

    others: tuple[Output, ...]
    checkpoints: Checkpoints
    known: tuple[type[Output], ...]

    @classmethod
    def of(cls, outputs: Iterable[Output], known: Iterable[type[Output]] = ()) -> OutputList:
        """From outputs in any order; a run without `Checkpoints` among them keeps the last state."""
        given = list(outputs)
        outputs = [output.with_siblings(given) for output in given]
        names = [output.name for output in outputs]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"two outputs of one kind, {', '.join(twice)}: they would write the same files")
        kept = [output for output in outputs if isinstance(output, Checkpoints)]
        others = tuple(output for output in outputs if not isinstance(output, Checkpoints))
        kinds: list[type[Output]] = [*known, *(type(output) for output in outputs), Checkpoints]
        return cls(others, kept[0] if kept else Checkpoints(), tuple(dict.fromkeys(kinds)))

    @property
    def all(self) -> tuple[Output, ...]:
        """Every output, checkpoints last."""
        return (*self.others, self.checkpoints)

    @property
    def pauses(self) -> list[Schedule]:
        """Where steps pause."""
        return [pause for output in self.all for pause in output.pauses]

    def accumulators(self, equation: PeriodicSystem) -> dict[str, Any]:
        """What outputs sum up over time, at the start, by the name of the output; those that sum up something."""
        found = {output.name: output.accumulators(equation) for output in self.others}
        return {name: sums for name, sums in found.items() if sums}

    def observe(self, equation: PeriodicSystem, state: State, end: bool) -> State:
        """A state with the sums brought up to date. Collective."""
        carried = dict(state.statistics)
        for output in self.others:
            sums = carried.get(output.name) or output.accumulators(equation)
            if sums:
                carried[output.name] = output.observe(equation, state, sums, end=end)
        return state.replace(statistics=carried)

    def open(self, run: Run, resumed_at: int | None) -> None:
        """Drop what lies beyond the checkpoint that the run continues from, or everything, and prepare the files.

        Collective: what the first process refuses ends all of them.
        """
        with Agreement("outputs").together():
            for output in self.all:
                output.prepare(run)
        with Agreement("outputs").together():
            if is_first():
                self._open(run, resumed_at)

    def _open(self, run: Run, resumed_at: int | None) -> None:
        for output in self.all if resumed_at is not None else ():  # all of them before anything is dropped
            output.resume(run)
        for kind in self.known:
            kind.drop_after(run.directory, -1 if resumed_at is None else resumed_at)
        for output in self.all if resumed_at is None else ():
            output.begin(run)

    def write(self, run: Run, state: State, watchdog: Watchdog, *, start: bool, end: bool) -> None:
        """Write what is due; an output of the user's may take its time."""
        for output in self.others:
            if output.is_due(state, start=start, end=end):
                ours = type(output).__module__.startswith("solver.")
                with nullcontext() if ours else watchdog.busy(f"writing {output.name}"):
                    output.write(run, state)
        if self.checkpoints.is_due(state, start=start, end=end):
            self.checkpoint(run, state)

    def checkpoint(self, run: Run, state: State) -> None:
        """Write a checkpoint, after everything before it."""
        if is_first():
            with run.writer.while_waiting():
                for output in self.others:
                    output.flush(run)
        self.checkpoints.write(run, state)


@dataclass(frozen=True)
class Limits:
    """What ends a run early.

    Args:
        time_limit: seconds after the start of the process before which the run is to have stopped, with a checkpoint.
        stall: seconds without a step after which it is given up.
        energy: half the mean square of all fields beyond which the solution counts as blown up.

    Raises:
        ValueError: one that is not positive.
    """

    time_limit: float | None = None
    stall: float = STALL_SECONDS
    energy: float | None = None

    def __post_init__(self) -> None:
        for name, value in (
            ("wall_limit", self.time_limit),
            ("stall_limit", self.stall),
            ("energy_limit", self.energy),
        ):
            if value is not None and not value > 0:
                raise ValueError(f"{name} = {value}: a positive number is needed")


def simulate(
    run: Run,
    stepper: Stepper,
    start: Callable[[], State],
    outputs: OutputList,
    conditions: StopConditions,
    limits: Limits,
    profile: Profile | None = None,
) -> tuple[State, bool]:
    """Carry a run from its newest checkpoint, or from its start, to its end. Collective.

    Args:
        run: equation, step control, end and directory.
        stepper: how it is stepped.
        start: makes the first state, where there is no checkpoint.
        outputs: what is written.
        conditions: decide whether it stops early.
        limits: what ends it early.
        profile: steps to be traced, if any.

    Returns:
        The last state, and whether it stands at the end: if not, it was stopped early and a checkpoint written.

    Raises:
        BlowUp: the solution stopped being finite, or has more energy than it may.
        CheckpointError: all checkpoints of the directory are damaged.
        DiskError: a file could not be written; everything finished before is whole.
        FailedElsewhere: another process could not go on.
    """
    with Watchdog(limits.stall, run.directory.log) as watchdog, _writing(run, watchdog):
        state, resumed_at = _first_state(run, stepper, start, outputs)
        if resumed_at is None:
            _check_finite(state)
        else:
            run.kept.add(resumed_at)
        outputs.open(run, resumed_at)
        profile = Profile(run.directory.path) if profile is None else profile
        pace, progress = Pace(), Progress(run.end, state, active=is_first())
        began = mark = time.monotonic()
        first_step = previous = int(state.step)
        conditions.begin(state, run.writer)
        states = evolve(
            run.equation, stepper, state, end=run.end, control=run.control,
            pauses=outputs.pauses, observe=lambda state, end: outputs.observe(run.equation, state, end), donate=True,
            chunk=lambda: profile.limit(pace()),
        )  # fmt: skip
        del state  # the loop has a copy of its own
        try:
            for now in profile.named(states):
                step = int(now.step)
                stopping, seconds, failed = largest(
                    [conditions.should_stop(advanced=step > first_step), time.monotonic() - mark, run.writer.failed]
                )
                compiled = previous == first_step
                conditions.record_chunk_time(0.0 if compiled else seconds)
                watchdog.moved(seconds, first=compiled)
                pace.record(step - previous, seconds)
                if failed:
                    run.writer.wait()  # which raises what failed, here or elsewhere
                _check_energy(run, now, limits.energy)
                done = reached(now, run.end)
                if not (step == first_step and resumed_at is not None):  # which the run before has written
                    with jax.profiler.TraceAnnotation("outputs"):
                        outputs.write(run, now, watchdog, start=step == first_step, end=done)
                if stopping and not done:
                    outputs.checkpoint(run, now)
                run.writer.end_pause()
                if stopping or done:
                    run.writer.wait()
                    conditions.remove_stop_file()
                if stopping and not done:
                    conditions.log_stop(step)
                    return now, False
                progress.show(now)
                conditions.publish_progress(now, progress)
                with watchdog.busy("writing the trace"):
                    profile.pause(moved=step > first_step)
                mark, previous = time.monotonic(), step
        finally:
            profile.close()
            progress.close()
        took, held_up = duration(time.monotonic() - began), run.writer.held_up
        LOGGER.info(
            "finished: step %d, t = %.6g, in %s, %.1f s of it held up by writing; %s",
            previous, float(now.t), took, held_up, run.directory.path,
        )  # fmt: skip
        return now, True


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


def _check_finite(state: State) -> None:
    """Raises ConfigError where a run would start from values that are not finite."""
    for name, finite in _finite(state.field).items():
        if not finite:
            raise ConfigError(f"initial: {name} has values that are not finite")


def _check_energy(run: Run, state: State, limit: float | None) -> None:
    if limit is None:
        return
    energy = float(_energy(run.equation, state.field))
    if not energy <= limit:
        raise BlowUp(
            f"step {int(state.step)}, t = {float(state.t):.6g}: the energy is {energy:.6g}, beyond "
            f"time.energy_limit = {limit:g}; the last checkpoint is from before"
        )


def _first_state(
    run: Run, stepper: Stepper, start: Callable[[], State], outputs: OutputList
) -> tuple[State, int | None]:
    """From the newest valid checkpoint, if there are any; never from the start where all of them are damaged."""
    directory = run.directory
    path, damaged = newest_valid(directory.checkpoints)
    for bad, problems in damaged.items():
        LOGGER.error("checkpoint %s is damaged and not used: %s", bad.name, "; ".join(problems))
    if path is None:
        if damaged:
            raise CheckpointError(
                f"{directory.checkpoints}: none of its {len(damaged)} checkpoints is valid; the run is not started "
                "over, move the directory away to do that"
            )
        return start(), None
    _set_aside(directory, list(damaged))
    sums = jax.eval_shape(lambda: outputs.accumulators(run.equation))
    state = load_checkpoint(path, run.equation, stepper, statistics=sums, checked=True)
    for name in sums.keys() - state.statistics.keys():
        LOGGER.warning("%s has no sums of output.%s as it is now: they begin anew", path.name, name)
    LOGGER.info("continuing from %s, t = %.6g", path.name, float(state.t))
    return state, int(state.step)


def _set_aside(directory: RunDirectory, damaged: Sequence[Path]) -> None:
    with Agreement("damaged").together():
        for bad in damaged if is_first() else ():
            LOGGER.error("kept aside as %s", set_aside(bad).name)
