"""Base class of outputs: schedule and files, and methods that write, continue, verify and draw them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from solver.discovery import ClassName
from solver.dynamics.any_equation import AnyEquation
from solver.io import RunDirectory, Writer
from solver.loop import Schedule, StepControl
from solver.pictures import View
from solver.spaces import refuse_lacking
from solver.steppers.state import State

SEPARATORS = ',/"'  # of columns in series.csv, and of groups in HDF5 files


def refuse_separators(what: str, names: Iterable[str]) -> None:
    """Raises ValueError where the name of a column would not be one name in the files."""
    for name in names:
        if not name or name != name.strip() or not name.isprintable() or any(sign in name for sign in SEPARATORS):
            raise ValueError(
                f"{what} {name!r}: a name without commas, slashes, quotes, line breaks and outer spaces is needed"
            )


@dataclass(frozen=True)
class Run:
    """The description of a run for its outputs.

    Args:
        equation: the equation that is solved.
        directory: the directory of the run.
        control: control of the size of its steps.
        end: time at which it ends.
        title: title of the run.
        run_file: the resolved run file, as text.
        warned: kinds of warnings that are in the log already.
        tails: tails of the spectra in the row before, by field (see `outputs.resolution`).
        writer: writer of large files, which works while the run continues.
        kept: steps that have a checkpoint, written or being written.
    """

    equation: AnyEquation
    directory: RunDirectory
    control: StepControl
    end: float
    title: str = ""
    run_file: str = ""
    warned: set[str] = field(default_factory=set)
    tails: dict[str, float] = field(default_factory=dict)
    writer: Writer = field(default_factory=Writer)
    kept: set[int] = field(default_factory=set)

    def at_time(self, t: Any) -> Run:
        """The same run with its equation under the conditions that its walls have at time t."""
        equation = self.equation.at_time(t)
        return self if equation is self.equation else replace(self, equation=equation)


@dataclass(frozen=True)
class Output(ABC):
    """An output with its schedule. Subclass it for an output of your own.

    A subclass gives `name` and `write`, and `paths` and `drop_after` if it writes files. Its parameters are annotated
    attributes with defaults, and keys of `[output.NAME]` in a run file; it is a frozen dataclass.

    Class attributes:
        name: name of the output in run files.
        at_start: True if the first state of a run is written.
        keeps_bits: True if the devices that step carry it out even where others analyse, so that its files have the
            bits of a run on the former alone. False for results that agree to round-off, such as sums over the box.
        at_points: True if its figures show fields at points, of which a view may choose slices.
        needs: requirements on the spaces of fields, `spaces.FOURIER` or `spaces.EVEN_POINTS`; empty by default.

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
    keeps_bits: ClassVar[bool] = False
    at_points: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        _ = self.schedule

    @property
    def schedule(self) -> Schedule:
        """When it is written, besides the start and the end of a run."""
        return Schedule(self.every_steps, self.every_time)

    @property
    def pauses(self) -> tuple[Schedule, ...]:
        """Schedules at which stepping pauses for it."""
        return (self.schedule,)

    def is_due(self, state: State, *, start: bool, end: bool) -> bool:
        """True if this state is to be written; `start` and `end` are True for the first and the last state of a run."""
        return end or (start and self.at_start) or self.schedule.due(state)

    def fields_it_needs(self, equation: AnyEquation) -> Iterable[str]:
        """Names of the fields whose spaces have to offer what it `needs`: by default all fields."""
        return equation.fields

    def check(self, equation: AnyEquation) -> None:
        """Check before the run that this output can be written for the equation. Touches no device.

        A subclass that has more to check calls this method first.

        Raises:
            ValueError: the output cannot be written for this equation. By default: the space of a field does not offer
                what the output `needs`.
        """
        if self.needs:
            spaces = map(equation.space, self.fields_it_needs(equation))
            refuse_lacking(spaces, self.needs, f"output {self.name}")

    def check_times(self, end: float) -> None:
        """Check before the run that a run up to `end` reaches the times of this output.

        Raises:
            ValueError: the run does not reach them.
        """
        return

    def with_siblings(self, outputs: Iterable[Output]) -> Output:
        """This output in a run that has `outputs`; a subclass that reads other outputs keeps them here."""
        return self

    def accumulators(self, equation: AnyEquation) -> dict[str, Any]:
        """Initial values of its sums over time: arrays and numbers by name, which are part of the run's state."""
        return {}

    def accumulator_storage(self, equation: AnyEquation) -> Any:
        """Storage of the arrays of its accumulators: a tree of `Storage` of their form; None for numbers."""
        return None

    def observe(self, equation: AnyEquation, state: State, carried: dict[str, Any], *, end: bool) -> dict[str, Any]:
        """Add a state to the accumulators; called at every pause before anything is written. Collective.

        Args:
            equation, state: equation and state of the run.
            carried: the accumulators so far. A continued run passes the state of its checkpoint a second time.
            end: True if it is the last state.
        """
        return carried

    def programs(self, equation: AnyEquation, state: State) -> dict[str, Any]:
        """Its device programs by name, traced by `jax.jit(…).trace(…)`; `state` may hold only shapes.

        Only the plan of a run's memory uses them.
        """
        return {}

    def bytes_of_state(self, equation: AnyEquation, state: State) -> int | None:
        """About the bytes that it writes of one state, before compression; None if they are not known.

        Args:
            equation, state: equation and state of the run; `state` may hold only shapes.
        """
        return None

    def states_kept(self, end: float, steps: int | None) -> int | None:
        """The most states of a run from t = 0 that are on the disk at a time; None if it is not known.

        Args:
            end: time at which the run ends.
            steps: number of its steps; None if it is not known.
        """
        count = self.schedule.count(end, steps)
        return None if count is None else count + self.at_start

    def prepare(self, run: Run) -> None:
        """Called before the first step of a new or continued run. Collective: every process calls it."""
        return

    def begin(self, run: Run) -> None:
        """Prepare the files of a new run; first process only."""
        return

    def resume(self, run: Run) -> None:
        """Prepare to continue files after `drop_after` has removed later states; first process only.

        Raises:
            ValueError: the files cannot be continued.
        """
        return

    @abstractmethod
    def write(self, run: Run, state: State) -> None:
        """Write the output of a state. Collective: every process of the job calls it.

        Slow writing goes through `run.writer`, from copies on the host, since the loop reuses the state's buffers.
        """

    def flush(self, run: Run) -> None:
        """Bring everything written so far into its final form; called before each checkpoint, first process only."""
        return

    @classmethod
    def paths(cls, directory: RunDirectory) -> tuple[Path, ...]:
        """Its files, and its folders of files, in a run's directory. A new run refuses a directory with one of them."""
        return ()

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        """Delete the output of states after `step` (−1: of all states); first process only."""
        return

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        """Problems of each of its files, one line each; an empty list for a file that is whole."""
        return {}

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Draw figures of its files into a folder that exists; returns their paths.

        Args:
            directory: directory of the run.
            folder: folder of the figures.
            view: style of the figures, and what slices show.

        Raises:
            ValueError: the files lack something that the view requests.
        """
        return []
