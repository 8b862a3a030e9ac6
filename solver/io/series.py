"""series.csv: one row of scalars per diagnostic time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from solver.io.files import append_line, sync, write_text
from solver.io.row_checksums import HEADER_LINES, RowChecksums, is_known, matches
from solver.io.rows import LEADING, TIME, Column, RecordsLayout, Row, Table

if TYPE_CHECKING:  # NumPy is slow to import, and commands read the last row of a table without it
    import numpy as np


@dataclass(frozen=True)
class SeriesFile:
    """A CSV file of scalars; written by the first process only.

    A leading # line has the units, the next the column names; numbers are written so that they read back exactly.

    Args:
        path: the file.
    """

    path: Path

    @property
    def _sums(self) -> RowChecksums:
        return RowChecksums(self.path)

    def append(self, row: Row, layout: RecordsLayout) -> None:
        """Write one row and sync it; the first one after a header."""
        if not self.path.exists():
            header = _header(layout)
            self._sums.begin(header)
            write_text(self.path, header)
        values = (repr(float(row.values[name])) for name in layout.columns)
        line = ",".join([str(row.step), repr(float(row.t)), *values])
        append_line(self.path, line)
        self._sums.append(line)

    def flush(self) -> None:
        """Sync the checksums of the rows; the rows themselves are synced when they are written."""
        if self._sums.path.exists():
            sync(self._sums.path)

    def drop_after(self, step: int) -> None:
        """Drop the rows after a step, and an unfinished last row; damaged rows between others stay."""
        before = self._sums.read()
        self._sums.drop_after(step)
        if not self.path.exists():
            return
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        head, rows, kept = lines[:HEADER_LINES], lines[HEADER_LINES:], self._sums.read()
        end = _end(rows, len(head[1].split(",")) if len(head) > 1 else 0, step, before, kept)
        if not end and (len(head) < HEADER_LINES or not any(key.isdigit() for key in kept)):
            self.path.unlink()  # the next row begins the file anew, with its checksums
            self._sums.path.unlink(missing_ok=True)
            return
        write_text(self.path, "".join(f"{line}\n" for line in [*head, *rows[:end]]))

    def layout(self) -> RecordsLayout | None:
        """The columns with their units; None if the file has no columns."""
        if not self.path.exists():
            return None
        with self.path.open(encoding="utf-8", errors="replace") as file:
            first, second = next(file, "").removeprefix("# units: "), next(file, "").strip()
        if not second:
            return None
        units = {name.strip(): unit for name, unit in re.findall(r"([^,\[\]]+) \[([^\]]*)\]", first)}
        names = [name for name in second.split(",") if name not in TIME]
        return RecordsLayout({}, {name: Column(units=units.get(name, "")) for name in names})

    def table(self) -> Table | None:
        """All rows; None if there are no rows yet."""
        import numpy as np

        columns, layout = read_series(self.path) if self.path.exists() else {}, self.layout()
        if not columns or layout is None:
            return None
        t, step = (columns.pop(name) for name in TIME)
        return Table(layout, np.zeros(len(t), int), step.astype(int), t, columns)

    def last(self) -> dict[str, float]:
        """The last row, read without NumPy; empty if there are no rows yet."""
        names, rows = _read_rows(self.path) if self.path.exists() else ([], [])
        return dict(zip(names, map(float, rows[-1]), strict=True)) if rows else {}

    def verify(self) -> dict[Path, list[str]]:
        """Problems of the rows, one line each; empty if no checksums are there."""
        return {self.path: self._sums.problems()} if self._sums.read() else {}


def read_series(path: Path) -> dict[str, np.ndarray]:
    """Columns of a series file by name; an unfinished last row is left out. Empty if there is no row."""
    import numpy as np

    names, rows = _read_rows(path)
    values = np.array(rows, dtype=float) if rows else np.empty((0, len(names)))
    return {name: values[:, i] for i, name in enumerate(names)} if rows else {}


def _header(layout: RecordsLayout) -> str:
    units = LEADING | {name: column.units for name, column in layout.columns.items()}
    return f"# units: {', '.join(f'{name} [{unit}]' for name, unit in units.items())}\n{','.join(units)}\n"


def _end(rows: list[str], columns: int, step: int, before: dict[str, str], kept: dict[str, str]) -> int:
    """Number of the rows up to a step.

    Args:
        rows: lines of the file.
        columns: entries of a whole row.
        step: step of the last row that stays.
        before, kept: checksums of all rows, and of the rows up to the step.
    """
    whole = [_is_whole(row, columns) for row in rows]
    # the step of a damaged row may be wrong, so it does not decide where the later rows begin
    is_valid = [matches(row, before) if before else ok for row, ok in zip(rows, whole, strict=True)]
    end = next((n for n, row in enumerate(rows) if is_valid[n] and _step(row) > step), len(rows))
    while end and not (whole[end - 1] and _step(rows[end - 1]) <= step and (not kept or is_known(rows[end - 1], kept))):
        end -= 1
    return end


def _read_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Names of the columns, and the entries of each row; an unfinished last row is left out."""
    text = path.read_text(encoding="utf-8")
    lines = text[: text.rfind("\n") + 1].splitlines()[1:]
    names = lines[0].split(",") if lines else []
    return names, [line.split(",") for line in lines[1:] if _is_whole(line, len(names))]


def _is_whole(line: str, columns: int) -> bool:
    """True if a line has `columns` entries that are all numbers."""
    entries = line.split(",")
    try:
        return len(entries) == columns and bool([float(entry) for entry in entries])
    except ValueError:
        return False


def _step(row: str) -> float:
    return float(row.partition(",")[0])
