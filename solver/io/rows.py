"""Rows of numbers and arrays against time, in whatever file they are stored; imports only modules that load fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

TIME = ("t", "step")  # columns that every row has besides its own
MEMBER = "member"  # in a file that members share, the number of the member of each row
VARIANCE = "_variance_in_time"  # ending of a column of statistics that holds the variance of another column
LEADING = {"step": "1", "t": "time"}  # units of the columns of TIME, in the order of series.csv


@dataclass(frozen=True)
class Axis:
    """Coordinates that a recorded array is held against, besides time.

    Args:
        values: one-dimensional coordinates.
        units: units of the values.
        long_name: description of the values.
    """

    values: np.ndarray
    units: str = ""
    long_name: str = ""


@dataclass(frozen=True)
class Column:
    """Description of a recorded quantity.

    Args:
        axes: names of the axes of its arrays, in order; empty for a number.
        units: units of the values.
        long_name: description of the values, with their normalisation.
        power_law: p of the power law k^−p that is expected of a spectrum; None if no power law is expected.
    """

    axes: tuple[str, ...] = ()
    units: str = ""
    long_name: str = ""
    power_law: float | None = None


@dataclass(frozen=True)
class RecordsLayout:
    """Axes and columns of rows: everything that a file holds besides the rows."""

    axes: Mapping[str, Axis] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a column's arrays."""
        return tuple(len(self.axes[axis].values) for axis in self.columns[name].axes)

    def continues(self, other: RecordsLayout) -> bool:
        """True if rows of this layout may follow rows of another: the axes, columns and units are the same."""
        return self.of_rows() == other.of_rows()

    def of_rows(self) -> Any:
        """Axes with their descriptions, and each column's axes and units: all that rows depend on, for JSON.

        Places and modes have numbers as their axis, and are named in its description.
        """
        axes = {name: (axis.values.tolist(), axis.units, axis.long_name) for name, axis in self.axes.items()}
        return axes, {name: (column.axes, column.units) for name, column in self.columns.items()}

    def to_json(self) -> dict[str, Any]:
        """The layout as values that JSON can hold."""
        return {
            "axes": {name: {**vars(axis), "values": axis.values.tolist()} for name, axis in self.axes.items()},
            "columns": {name: _known(column) for name, column in self.columns.items()},
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> RecordsLayout:
        """The inverse of `to_json`."""
        import numpy as np

        axes = {name: Axis(**{**axis, "values": np.array(axis["values"])}) for name, axis in content["axes"].items()}
        columns = {
            name: Column(**{**column, "axes": tuple(column["axes"])}) for name, column in content["columns"].items()
        }
        return cls(axes, columns)


def _known(column: Column) -> dict[str, Any]:
    return {key: value for key, value in vars(column).items() if value is not None}


@dataclass(frozen=True)
class Row:
    """Recorded arrays of one state, by name."""

    step: int
    t: float
    values: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Table:
    """Rows of one layout, sorted by member and step.

    Args:
        layout: axes and columns.
        member: number of the member of each row; 0 in a file of one run.
        step, t: step and time of each row.
        values: `(row, *axes)` of each column.
    """

    layout: RecordsLayout
    member: np.ndarray
    step: np.ndarray
    t: np.ndarray
    values: Mapping[str, np.ndarray]

    @property
    def rows(self) -> list[Row]:
        """The rows, each by itself."""
        return [
            Row(int(step), float(t), {name: values[i] for name, values in self.values.items()})
            for i, (step, t) in enumerate(zip(self.step, self.t, strict=True))
        ]

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """All columns by name, step and t first."""
        return {"step": self.step.astype(float), "t": self.t, **self.values}

    @property
    def units(self) -> dict[str, str]:
        """Units of all columns, step and t first."""
        return LEADING | {name: column.units for name, column in self.layout.columns.items()}


@runtime_checkable
class Rows(Protocol):
    """The rows of one output of one run against time. Only the first process writes."""

    @property
    def path(self) -> Path:
        """The file that holds them."""

    def append(self, row: Row, layout: RecordsLayout) -> None:
        """Add a row; the first one begins the file."""

    def flush(self) -> None:
        """Bring the added rows to the disk; called before each checkpoint."""

    def drop_after(self, step: int) -> None:
        """Drop the rows after a step (−1: all rows)."""

    def layout(self) -> RecordsLayout | None:
        """Axes and columns; None while there is no row."""

    def table(self) -> Table | None:
        """All rows, including those in a journal; None while there is no row."""

    def last(self) -> dict[str, float]:
        """Numbers of the last row by column, step and t first; empty while there is no row."""

    def verify(self) -> dict[Path, list[str]]:
        """Problems of the files that this run alone writes, one line each; a file without checksums is left out."""
