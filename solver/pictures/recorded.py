"""The contents of a file of records as arrays, the form that figures and pages use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from solver.io import VARIANCE, RecordsLayout, Rows
from solver.pictures.run_file import largest_wavenumber, run_table

CROSS = ("_real", "_imaginary")  # endings of the columns of a cross spectrum
MEAN, EACH_SHELL = "mean over time of: ", " in each shell"  # words of long names that a title leaves out


@dataclass(frozen=True)
class Recorded:
    """Arrays against time.

    Args:
        name: name of the file without its ending.
        t: times of the rows.
        layout: axes and columns.
        values: values `(t, axes…)` of each column.
        spread: standard deviations in time of columns that are means over windows of time.
        since: start of each window, which ends at t; empty if the rows are not windows.
        k_max: largest wavenumber that the run's grid retains in every direction [1/length]; None if it is not known.
    """

    name: str
    t: np.ndarray
    layout: RecordsLayout
    values: Mapping[str, np.ndarray]
    spread: Mapping[str, np.ndarray] = field(default_factory=dict)
    since: np.ndarray = field(default_factory=lambda: np.empty(0))
    k_max: float | None = None

    @classmethod
    def read(cls, file: Rows) -> Recorded | None:
        """All rows of a file, including the rows of its journal; None without rows.

        Raises:
            ValueError: the file is not one of records, or has its data in other files.
        """
        table = file.table()
        if table is None:
            return None
        values = {name: np.asarray(column, dtype=float) for name, column in table.values.items()}
        return cls(file.path.stem, table.t, table.layout, values, k_max=largest_wavenumber(run_table(file.path)))

    @classmethod
    def read_means(cls, file: Rows) -> Recorded | None:
        """A file of statistics: the means as columns, and their spreads; None if there are no rows.

        Averages over particles, which have a column `lag`, have no spreads.

        Raises:
            ValueError: the file is not one of statistics, or has its data in other files.
        """
        rows = cls.read(file)
        if rows is None:
            return None
        if {"since", "lag"} <= rows.values.keys():
            averages = {name: values for name, values in rows.values.items() if name not in ("since", "samples")}
            return cls(rows.name, rows.t, rows.layout, averages, {}, rows.values["since"], rows.k_max)
        spread = {
            name.removesuffix(VARIANCE): np.sqrt(np.maximum(values, 0))
            for name, values in rows.values.items()
            if name.endswith(VARIANCE)
        }
        if "since" not in rows.values or not spread.keys() <= rows.values.keys():
            raise ValueError(f"{file.path}: not a file of statistics; columns since, X and X{VARIANCE} are needed")
        means = {name: rows.values[name] for name in spread}
        return cls(rows.name, rows.t, rows.layout, means, spread, rows.values["since"], rows.k_max)

    @property
    def times(self) -> list[str]:
        """The time, or the window, of each row in words."""
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
        """Units of a column's values."""
        return self.layout.columns[column].units

    def title(self, column: str) -> str:
        """The column in words. Parts of a cross spectrum are titled by the quantity that they are."""
        from solver.pictures.style import in_words

        is_cross = column.endswith(CROSS) and self.axes_of(column) == ("k",)
        words = self.layout.columns[column].long_name.removeprefix(MEAN) if is_cross else ""
        return words.removesuffix(EACH_SHELL).replace("_", " ") or in_words(column)

    def label(self, axis: str) -> str:
        """Label of an axis, with its units."""
        from solver.pictures.style import in_words, with_unit

        return with_unit(in_words(axis), self.layout.axes[axis].units)
