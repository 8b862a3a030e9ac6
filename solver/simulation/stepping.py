"""From the first state to the last, with outputs in the pauses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from solver.cluster import LOGGER, StopRequest, any_process, barrier, is_first, largest
from solver.config import ConfigError
from solver.io import CheckpointError, RunDirectory, load_checkpoint, newest_valid, set_aside
from solver.loop import BlowUp, Control, evolve, reached
from solver.outputs.base import Output, Run
from solver.outputs.checkpoints import Checkpoints
from solver.simulation.progress import Pace, Progress, duration
from solver.steppers.base import State, Stepper


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
        outputs = list(outputs)
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

    def open(self, run: Run, resumed_at: int | None) -> None:
        """Drop what lies beyond the checkpoint that the run continues from, or everything, and prepare the files.

        Collective: what the first process refuses ends all of them.
        """
        refusal = None
        if is_first() and resumed_at is not None:
            try:
                for output in self.all:  # all of them before anything is dropped
                    output.resume(run)
            except ValueError as error:
                refusal = error
        if any_process(refusal is not None):
            raise refusal or ConfigError("the first process found an output that cannot be continued")
        if not is_first():
            return
        for kind in self.known:
            kind.drop_after(run.directory, -1 if resumed_at is None else resumed_at)
        if resumed_at is None:
            for output in self.all:
                output.begin(run)

    def write(self, run: Run, state: State, *, start: bool, end: bool) -> None:
        """Write what is due."""
        for output in self.others:
            if output.is_due(state, start=start, end=end):
                output.write(run, state)
        if self.checkpoints.is_due(state, start=start, end=end):
            self.checkpoint(run, state)

    def checkpoint(self, run: Run, state: State) -> Path:
        """Write a checkpoint, after everything before it; returns its folder."""
        if is_first():
            for output in self.others:
                output.flush(run)
        return self.checkpoints.save(run, state)


def simulate(
    run: Run, stepper: Stepper, start: Callable[[], State], control: Control, outputs: OutputList, stop: StopRequest
) -> tuple[State, bool]:
    """Carry a run from its newest checkpoint, or from its start, to its end. Collective.

    Args:
        run: equation and directory.
        stepper: how it is stepped.
        start: makes the first state, where there is no checkpoint.
        control: the end and the steps.
        outputs: what is written.
        stop: a request to stop early.

    Returns:
        The last state, and whether it stands at the end: if not, it was stopped early and a checkpoint written.

    Raises:
        BlowUp: the solution stopped being finite.
        CheckpointError: all checkpoints of the directory are damaged.
    """
    state, resumed_at = _first_state(run, stepper, start)
    outputs.open(run, resumed_at)
    barrier("outputs opened")
    pace, progress = Pace(), Progress(control.end, state, active=is_first())
    began = mark = time.monotonic()
    first_step = previous = int(state.step)
    states = evolve(
        run.equation, stepper, state, end=control.end, step=control.step, cfl=control.cfl,
        tolerance=control.tolerance, max_step=control.max_step,
        pauses=[output.schedule for output in outputs.all], chunk=pace, donate=True,
    )  # fmt: skip
    del state  # the loop has a copy of its own
    try:
        for now in states:
            stopping, seconds = largest([stop.received is not None, time.monotonic() - mark])
            pace.learn(int(now.step) - previous, seconds)
            done = reached(now, control.end, control.step)
            at_first = int(now.step) == first_step
            if not (at_first and resumed_at is not None):  # which the run before has written
                outputs.write(run, now, start=at_first, end=done)
            if stopping and not done:
                _log_early_stop(stop, now, outputs.checkpoint(run, now))
                return now, False
            progress.show(now)
            mark, previous = time.monotonic(), int(now.step)
    except BlowUp as error:
        LOGGER.error("%s", error)
        raise
    finally:
        progress.close()
    took = duration(time.monotonic() - began)
    LOGGER.info("finished: step %d, t = %.6g, in %s; %s", previous, float(now.t), took, run.directory.path)
    return now, True


def _log_early_stop(stop: StopRequest, state: State, path: Path) -> None:
    cause = stop.received or "a signal to another process"
    LOGGER.warning("stopped early by %s at step %d; continue from %s", cause, int(state.step), path)


def _first_state(run: Run, stepper: Stepper, start: Callable[[], State]) -> tuple[State, int | None]:
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
    state = load_checkpoint(path, run.equation, stepper)
    LOGGER.info("continuing from %s, t = %.6g", path.name, float(state.t))
    return state, int(state.step)


def _set_aside(directory: RunDirectory, damaged: Sequence[Path]) -> None:
    if is_first():
        for bad in damaged:
            LOGGER.error("kept aside as %s", set_aside(bad).name)
    barrier("damaged checkpoints set aside")
