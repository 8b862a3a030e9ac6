"""What every kind of output offers: when it is written, what, how it continues, how it is verified and drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from solver.discovery import ClassName
from solver.equations.system import PeriodicSystem
from solver.io import RunDirectory, Writer
from solver.loop import Control, Schedule
from solver.pictures import View
from solver.steppers.base import State


@dataclass(frozen=True)
class Run:
    """What an output is told about the run that it belongs to.

    Args:
        equation: what is solved.
        directory: where the run writes.
        title: of the run.
        run_file: the resolved run file, as text.
        control: what decides its steps and its end.
        warned: kinds of warnings that the log has already.
        tails: of the spectra in the row before, by field: `outputs.resolution`.
        writer: writes large files while stepping goes on.
        kept: steps whose states have a checkpoint, or are getting one.
    """

    equation: PeriodicSystem
    directory: RunDirectory
    title: str = ""
    run_file: str = ""
    control: Control | None = None
    warned: set[str] = field(default_factory=set)
    tails: dict[str, float] = field(default_factory=dict)
    writer: Writer = field(default_factory=Writer)
    kept: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Output(ABC):
    """One kind of output with its schedule. Subclass it for an output of your own.

    A subclass gives `name` and `write`, and `drop_after` if it writes files. Its parameters are annotated attributes
    with defaults, and keys of `[output.NAME]` in a run file; it is a frozen dataclass.

    Class attributes:
        name: in run files.
        at_start: whether the first state of a run is written.

    Args:
        every_steps: number of steps between two outputs.
        every_time: time between two outputs; steps are shortened to meet its multiples. If neither is given, the
            output is written only at the start and the end.

    Raises:
        ValueError: a number that is not positive.
    """

    every_steps: int | None = None
    every_time: float | None = None

    name: ClassVar[Any] = ClassName()
    at_start: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _ = self.schedule

    @property
    def schedule(self) -> Schedule:
        """When it is due, besides the start and the end of a run."""
        return Schedule(self.every_steps, self.every_time)

    @property
    def pauses(self) -> tuple[Schedule, ...]:
        """Where steps pause for it."""
        return (self.schedule,)

    def is_due(self, state: State, *, start: bool, end: bool) -> bool:
        """Whether this state is to be written; `start` and `end` say whether it is the first or the last of a run."""
        return end or (start and self.at_start) or self.schedule.due(state)

    def check(self, equation: PeriodicSystem) -> None:
        """Refuse, before the run starts, an equation that it cannot be written for. Touches no device.

        Raises:
            ValueError: the message says what is needed.
        """
        return

    def check_times(self, control: Control) -> None:
        """Refuse, before the run starts, times that it does not reach.

        Raises:
            ValueError: the message says what is needed.
        """
        return

    def with_siblings(self, outputs: Iterable[Output]) -> Output:
        """This output in a run that has `outputs`; a subclass that reads other outputs keeps them here."""
        return self

    def accumulators(self, equation: PeriodicSystem) -> dict[str, Any]:
        """What it sums up over time, at the start: arrays and numbers by name, part of the run's state."""
        return {}

    def observe(self, equation: PeriodicSystem, state: State, carried: dict[str, Any], *, end: bool) -> dict[str, Any]:
        """The accumulators with one state more; called at every pause before anything is written. Collective.

        Args:
            equation, state: of the run.
            carried: the accumulators so far. A run that continues shows the state of its checkpoint once more.
            end: whether it is the last state.
        """
        return carried

    def programs(self, equation: PeriodicSystem, state: State) -> dict[str, Any]:
        """What it runs on the devices, by name, traced by `jax.jit(…).trace(…)`; `state` may hold shapes alone.

        For a plan of what a run holds; nothing else asks.
        """
        return {}

    def prepare(self, run: Run) -> None:
        """Before the first step, whether the run begins or continues. Collective: every process calls it."""
        return

    def begin(self, run: Run) -> None:
        """Prepare the files of a new run; first process only."""
        return

    def resume(self, run: Run) -> None:
        """Prepare to continue files from which `drop_after` has taken what lies beyond; first process only.

        Raises:
            ValueError: the files cannot be continued.
        """
        return

    @abstractmethod
    def write(self, run: Run, state: State) -> None:
        """Write what there is to say of a state. Collective: every process of the job calls it.

        What takes long goes through `run.writer`, from copies on the host: the loop reuses the state's buffers.
        """

    def flush(self, run: Run) -> None:
        """Bring everything written so far into its final form; before each checkpoint, first process only."""
        return

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        """Delete whatever was written of states beyond `step` (−1: everything); first process only."""
        return

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        """What is wrong with each of its files, as lines: an empty list for a file that is whole."""
        return {}

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Draw figures of its files into a folder that exists; returns their paths.

        Args:
            directory: of the run.
            folder: where figures go.
            view: how they are to look, and what slices show.

        Raises:
            ValueError: the view asks for what the files do not have.
        """
        return []
