"""Base class of outputs that record a few numbers of each state against time: NAME.h5 in the run's directory."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.cluster import is_first
from solver.config import ConfigError
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import Changes
from solver.dynamics.compiled import compiled
from solver.io import MEMBER, TIME, RecordsLayout, Row, Rows, RunDirectory
from solver.operators import Fields
from solver.outputs.output import Output, Run, refuse_separators
from solver.pictures import Recorded, View, records_figure, save
from solver.steppers.state import State


def _at_time(
    output: Records, equation: AnyEquation, fields: Fields, t: ArrayLike, forces: Any = ()
) -> Mapping[str, Array]:
    time = jnp.asarray(t, equation.grid.dtype)
    if not output.reads_changes:
        return output.values_at(equation, fields, time)
    forcing, key, step = forces
    return output.values_with(equation, fields, equation.at_step(forcing, key, step).changes(fields, t), time)


def _shapes(output: Records, equation: AnyEquation) -> Mapping[str, Any]:
    """Shapes of the recorded values. Touches no device."""

    def recorded(fields: Fields) -> Mapping[str, Array]:
        if not output.reads_changes:
            return _at_time(output, equation, fields, 0.0)
        return output.values_with(equation, fields, no_changes(equation, fields), jnp.zeros((), equation.grid.dtype))

    return jax.eval_shape(recorded, equation.field_shapes())


def no_changes(equation: AnyEquation, fields: Fields) -> Changes:
    """Changes of fields of the right shapes, for a trace that computes nothing."""
    own = equation.fields_alone(fields)
    return Changes(own, own, {})


def _forces(output: Records, state: State) -> Any:
    return (state.forcing, state.key, state.step) if output.reads_changes else ()


_values = compiled(_at_time, static_argnums=0)
MOST_LAYOUTS = 64


def refuse_twice(names: Sequence[str]) -> None:
    """Refuse two columns of one name.

    Raises:
        ValueError: the message names the column.
    """
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two columns {twice!r}; other names of fields are needed")


def layout_of(output: Records, equation: AnyEquation) -> RecordsLayout:
    """The layout of an output's rows. It is made once for an equation, since it may trace all recorded values."""
    try:
        key = hash(output), id(equation)
    except TypeError:  # an own output that holds a list
        return output.layout(equation)
    kept = _layouts.get(key)
    if kept is None or kept[0] != output or kept[1] is not equation:
        kept = output, equation, output.layout(equation)
        if len(_layouts) >= MOST_LAYOUTS:
            _layouts.clear()
        _layouts[key] = kept
    return kept[2]


_layouts: dict[tuple[int, int], tuple[Records, AnyEquation, RecordsLayout]] = {}


@dataclass(frozen=True)
class Records(Output):
    """Arrays of fixed shape against time, in NAME.h5. Subclass it for a diagnostic of your own.

    A subclass gives `name`, `layout` and `values`; also `values_at` where its columns depend on t itself. Rows are
    written to a journal next to the file. The file is brought up to date at every checkpoint, and when the journal has
    grown to a quarter of it.
    """

    @abstractmethod
    def layout(self, equation: AnyEquation) -> RecordsLayout:
        """Axes and columns; touches no device.

        Raises:
            ValueError: the output is not possible for this equation, or with these parameters.
        """

    @abstractmethod
    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        """The columns' arrays, the same on every device; a pure function that is traced under `jit`."""

    def values_at(self, equation: AnyEquation, fields: Fields, t: ArrayLike) -> Mapping[str, Array]:
        """Values of the fields at time t, of which `recorded` makes the columns: by default `values`."""
        return self.values(equation, fields)

    def recorded(self, values: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The columns on the host, which may be in double precision, from what `values_at` gives: by default that."""
        return values

    @property
    def reads_changes(self) -> bool:
        """True if `values_with`, which knows how the fields change, gives the recorded values; False by default."""
        return False

    def values_with(self, equation: AnyEquation, fields: Fields, changes: Changes, t: ArrayLike) -> Mapping[str, Array]:
        """Recorded values of fields and of their changes at time t, of an output that `reads_changes`. They cost one
        evaluation of N."""
        return self.values_at(equation, fields, t)

    def check(self, equation: AnyEquation) -> None:
        super().check(equation)
        try:
            layout = self.layout(equation)
        except ValueError as error:
            text = str(error)
            raise ValueError(text if text.startswith("output ") else f"output {self.name}: {text}") from None
        refuse_separators(f"output {self.name}: {equation.name} has a column", layout.columns)
        axes_of_file = (*TIME, MEMBER, *layout.axes)
        taken = [name for name in layout.columns if name in axes_of_file]
        if taken:
            axes = ", ".join(axes_of_file)
            raise ValueError(
                f"output {self.name}: a column of {equation.name} would be called {taken[0]!r}, as an axis of the file "
                f"is; another name than {axes} is needed"
            )
        shapes = _shapes(self, equation)
        if shapes.keys() != layout.columns.keys():
            raise ValueError(
                f"output {self.name}: values() gives {', '.join(shapes)}; {', '.join(layout.columns)} are needed"
            )
        for name, values in shapes.items():
            if values.shape != layout.shape(name):
                raise ValueError(
                    f"output {self.name}: values() gives {name} of shape {list(values.shape)}; "
                    f"{list(layout.shape(name))} is needed"
                )

    def programs(self, equation: AnyEquation, state: State) -> dict[str, Any]:
        return {self.name: _values.trace(self, equation, state.field, state.t, _forces(self, state))}

    def bytes_of_state(self, equation: AnyEquation, state: State) -> int:
        return bytes_of_row(layout_of(self, equation))

    def resume(self, run: Run) -> None:
        file = self.file(run.directory)
        check_continues(file, layout_of(self, run.equation), self.name)

    def write(self, run: Run, state: State) -> None:
        values = records_of(self, run.equation, state)
        if is_first():
            row = Row(int(state.step), float(state.t), values)
            with run.writer.while_waiting():
                self.file(run.directory).append(row, layout_of(self, run.equation))

    def flush(self, run: Run) -> None:
        self.file(run.directory).flush()

    @classmethod
    def file(cls, directory: RunDirectory) -> Rows:
        """Rows of the output in a run's directory."""
        return directory.store.rows(cls.name)

    @classmethod
    def paths(cls, directory: RunDirectory) -> tuple[Path, ...]:
        return (directory.records(cls.name),)

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Draw one figure, with panels chosen by the axes of the columns."""
        recorded = Recorded.read(cls.file(directory))
        figure = None if recorded is None else records_figure(recorded, view)
        return [] if figure is None else save(figure, folder, cls.name, view)

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        cls.file(directory).drop_after(step)

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        return cls.file(directory).verify()


def bytes_of_row(layout: RecordsLayout) -> int:
    """Bytes of one row in a file, with its step and time."""
    numbers = sum(math.prod(layout.shape(name)) for name in layout.columns) + len(TIME)
    return numbers * np.dtype(np.float64).itemsize


def check_continues(file: Rows, layout: RecordsLayout, name: str) -> None:
    """Raises ConfigError if an existing file is damaged, or has another layout than output `name` now writes."""
    refuse_damaged(file)
    existing = file.layout()
    if existing is not None and not layout.continues(existing):
        raise ConfigError(
            f"{file.path}: holds {', '.join(existing.columns)} with other axes or units than output.{name} now "
            "asks for; move it away to begin it anew"
        )


def refuse_damaged(file: Rows) -> None:
    """Raises ConfigError if the file is not as it was written; a damaged line of its journal is left out."""
    if file.verify().get(file.path):
        raise ConfigError(f"{file.path}: damaged; move it away to continue without its rows")


def records_of(output: Records, equation: AnyEquation, state: State) -> Mapping[str, np.ndarray]:
    """The arrays that an output records of a state, on the host. Collective."""
    found = _values(output, equation, state.field, state.t, _forces(output, state))
    return output.recorded({name: np.asarray(values) for name, values in found.items()})
