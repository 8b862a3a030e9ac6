"""The outputs of a run: prepared, written and continued together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax

from solver.cluster import Agreement, Watchdog, is_first
from solver.config import ConfigError
from solver.dynamics.any_equation import AnyEquation
from solver.grid import Storage
from solver.loop import Schedule
from solver.outputs.checkpoints import Checkpoints
from solver.outputs.output import Output, Run
from solver.steppers.state import State, declare


@dataclass(frozen=True)
class OutputList:
    """The outputs of a run, in the order in which they are written: checkpoints last.

    A checkpoint is taken when everything that was due before it is on the disk in its final form, so that a continued
    run finds every output as the checkpoint's run had written it.

    Args:
        others: outputs other than checkpoints.
        checkpoints: output of the checkpoints, with its schedule.
        known: every kind of output that may have written into the directory.
    """

    others: tuple[Output, ...]
    checkpoints: Checkpoints
    known: tuple[type[Output], ...]

    @classmethod
    def of(cls, outputs: Iterable[Output], known: Iterable[type[Output]] = ()) -> OutputList:
        """From outputs in any order; a run without `Checkpoints` among them keeps the last state.

        Raises:
            TypeError: something else than a list of outputs, or a class instead of an output.
            ConfigError: two outputs of one kind.
        """
        given = list(outputs) if isinstance(outputs, Iterable) else [None]
        if isinstance(outputs, Mapping) or not all(isinstance(output, Output) for output in given):
            raise TypeError(f"outputs={outputs!r}: a list of outputs is needed, such as [solver.outputs.Series()]")
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
        """Schedules at which stepping pauses."""
        return [pause for output in self.all for pause in output.pauses]

    def accumulators(self, equation: AnyEquation) -> dict[str, Any]:
        """Sums over time at the start, by the name of the output; outputs that accumulate no sums are left out."""
        known = equation.at_time(math.nan)  # shapes alone may ask for a time
        every = {output.name: output.accumulators(known) for output in self.others}
        return {name: sums for name, sums in every.items() if sums}

    def declared(self, equation: AnyEquation, sums: Mapping[str, Any]) -> dict[str, dict[str, Storage]]:
        """Storage of these sums, by the name of the output, as each output declares it.

        Raises:
            TypeError, ValueError: an output does not say how it stores an array, or its storage does not fit.
        """
        known = equation.at_time(math.nan)
        return {
            output.name: declare(
                f"output {output.name}", "accumulator_storage", f"statistics/{output.name}", sums[output.name],
                output.accumulator_storage(known), equation.grid,
            )
            for output in self.others if output.name in sums
        }  # fmt: skip

    def observe(self, equation: AnyEquation, state: State, end: bool) -> State:
        """A state with the sums brought up to date. Collective."""
        own = {output.name for output in self.others}  # a state may come from a run with other outputs
        equation = equation.at_time(state.t)
        carried = {name: sums for name, sums in state.statistics.items() if name in own}
        for output in self.others:
            sums = carried.get(output.name) or output.accumulators(equation)
            if sums:
                carried[output.name] = output.observe(equation, state, sums, end=end)
        if jax.tree.structure(carried) == jax.tree.structure(state.statistics):
            return state.replace(statistics=carried)  # stored as before; asking the outputs traces what they record
        return state.with_statistics(carried, self.declared(equation, carried))

    def open(self, run: Run, resumed_at: int | None) -> None:
        """Drop all output beyond the checkpoint that the run continues from, or everything, and prepare the files.

        Collective: if the first process refuses, all processes end.
        """
        self.prepare(run)
        self.resume_files(run, resumed_at, self.all)  # all of them before anything is dropped
        self.drop_files(run, resumed_at)
        self.begin_files(run, resumed_at, self.all)

    def prepare(self, run: Run) -> None:
        """Let every output prepare for the first step. Collective."""
        with Agreement("outputs").together():
            for output in self.all:
                output.prepare(run)

    def resume_files(self, run: Run, resumed_at: int | None, outputs: Iterable[Output]) -> None:
        """Let outputs check the files that they continue, if the run resumes from a checkpoint. Collective."""
        with Agreement("outputs").together():
            for output in outputs if is_first() and resumed_at is not None else ():
                output.resume(run)

    def drop_files(self, run: Run, resumed_at: int | None) -> None:
        """Drop all output beyond the checkpoint that the run continues from, or everything. Collective."""
        with Agreement("outputs").together():
            for kind in self.known if is_first() else ():
                kind.drop_after(run.directory, -1 if resumed_at is None else resumed_at)

    def begin_files(self, run: Run, resumed_at: int | None, outputs: Iterable[Output]) -> None:
        """Let outputs begin their files, if the run is a new one. Collective."""
        with Agreement("outputs").together():
            for output in outputs if is_first() and resumed_at is None else ():
                output.begin(run)

    def due(self, state: State, *, start: bool, end: bool) -> list[Output]:
        """The outputs that are to be written of a state, other than checkpoints."""
        return [output for output in self.others if output.is_due(state, start=start, end=end)]

    def write(self, run: Run, state: State, watchdog: Watchdog, *, start: bool, end: bool) -> None:
        """Write the outputs that are due."""
        write_each(self.due(state, start=start, end=end), run, state, watchdog)
        if self.checkpoints.is_due(state, start=start, end=end):
            self.checkpoint(run, state)

    def checkpoint(self, run: Run, state: State) -> None:
        """Write a checkpoint, after everything before it."""
        if is_first():
            with run.writer.while_waiting():
                for output in self.others:
                    output.flush(run)
        self.checkpoints.write(run.at_time(state.t), state)


def write_each(outputs: Iterable[Output], run: Run, state: State, watchdog: Watchdog) -> None:
    """Write these outputs of a state; one of the user's may take its time."""
    run = run.at_time(state.t)
    for output in outputs:
        ours = type(output).__module__.startswith("solver.")
        with nullcontext() if ours else watchdog.busy(f"writing {output.name}"):
            output.write(run, state)
