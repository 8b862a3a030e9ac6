"""What a file of records holds, as arrays: the form that drawings and pages take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from solver.io import Layout, RecordsFile


@dataclass(frozen=True)
class Recorded:
    """Arrays against time.

    Args:
        name: of the file, without its ending.
        t: times of the rows.
        layout: axes and columns.
        values: of each column, `(t, axes…)`.
    """

    name: str
    t: np.ndarray
    layout: Layout
    values: Mapping[str, np.ndarray]

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
