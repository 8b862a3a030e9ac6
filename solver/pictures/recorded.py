"""What a file of records holds, as arrays: the form that drawings and pages take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from solver.io import VARIANCE, RecordsFile, RecordsLayout


@dataclass(frozen=True)
class Recorded:
    """Arrays against time.

    Args:
        name: of the file, without its ending.
        t: times of the rows.
        layout: axes and columns.
        values: of each column, `(t, axes…)`.
        spread: of columns that are means over windows of time, the standard deviations in time.
        since: begin of each window, which ends at t; empty if the rows are no windows.
    """

    name: str
    t: np.ndarray
    layout: RecordsLayout
    values: Mapping[str, np.ndarray]
    spread: Mapping[str, np.ndarray] = field(default_factory=dict)
    since: np.ndarray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def read(cls, file: RecordsFile) -> Recorded | None:
        """All rows of a file, those of its journal included; None if there are none.

        Raises:
            ValueError: not a file of records, or its data lie in other files.
        """
        rows, layout = file.rows(), file.layout()
        if not rows or layout is None:
            return None
        values = {
            name: np.array([row.values[name] for row in rows], dtype=float).reshape(len(rows), *layout.shape(name))
            for name in layout.columns
        }
        return cls(file.path.stem, np.array([row.t for row in rows]), layout, values)

    @classmethod
    def read_means(cls, file: RecordsFile) -> Recorded | None:
        """A file of statistics: the means as columns, and their spreads; None if there are no rows.

        Raises:
            ValueError: not a file of statistics, or its data lie in other files.
        """
        found = cls.read(file)
        if found is None:
            return None
        spread = {
            name.removesuffix(VARIANCE): np.sqrt(np.maximum(values, 0))
            for name, values in found.values.items()
            if name.endswith(VARIANCE)
        }
        if "since" not in found.values or not spread.keys() <= found.values.keys():
            raise ValueError(f"{file.path}: not a file of statistics; columns since, X and X{VARIANCE} are needed")
        means = {name: found.values[name] for name in spread}
        return cls(found.name, found.t, found.layout, means, spread, found.values["since"])

    @property
    def times(self) -> list[str]:
        """What each row is of, in words: its time, or its window."""
        if self.since.size:
            return [f"t = {a:.3g} – {b:.3g}" for a, b in zip(self.since, self.t, strict=True)]
        return [f"t = {t:.3g}" for t in self.t]

    def axis(self, name: str) -> np.ndarray:
        """Coordinates of an axis."""
        return self.layout.axes[name].values

    def axes_of(self, column: str) -> tuple[str, ...]:
        """Names of a column's axes besides time."""
        return self.layout.columns[column].axes

    def units(self, column: str) -> str:
        """Of a column's values."""
        return self.layout.columns[column].units

    def label(self, axis: str) -> str:
        """Of an axis, with its units."""
        from solver.pictures.style import in_words, with_unit

        return with_unit(in_words(axis), self.layout.axes[axis].units)
