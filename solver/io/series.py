"""series.csv: one row of scalars per diagnostic time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from solver.config import ConfigError
from solver.io.files import append_line, sync, write_text
from solver.io.row_checksums import HEADER_LINES, RowChecksums, is_known, matches
from solver.io.rows import TIME, is_whole, read_rows

if TYPE_CHECKING:  # NumPy and h5py are slow to import, and commands read the last row of a table without them
    import numpy as np

    from solver.io.packed_records import PackedRows

LEADING = {"step": "1", "t": "time", "dt": "time"}


@runtime_checkable
class SeriesRows(Protocol):
    """The scalars of one run against time, wherever they lie: in series.csv, or in a file that members share."""

    @property
    def path(self) -> Path:
        """The file that holds them."""

    @property
    def exists(self) -> bool:
        """Whether there is a table, with rows or without."""

    def has_rows(self) -> bool:
        """Whether there is a row."""

    @property
    def units(self) -> Mapping[str, str]:
        """Units of the equation's columns that are written, in order."""

    def begin(self) -> None:
        """Start an empty table."""

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row."""

    def flush(self) -> None:
        """Bring what was written to the disk; called before each checkpoint."""

    def drop_after(self, step: int) -> None:
        """Drop the rows after a step."""

    def check(self) -> None:
        """Raises ConfigError if the table has other columns."""

    def has_checksums(self) -> bool:
        """Whether this run alone writes the file, and kept checksums of its rows; runs of older versions have none."""

    def verify(self) -> list[str]:
        """Problems of the rows, one line each; none of a file that members share, which is checked once for all."""

    def read(self) -> dict[str, np.ndarray]:
        """Columns by name; empty if there is no row."""

    def read_units(self) -> dict[str, str]:
        """Units of all columns, as the table has them."""

    def last(self) -> dict[str, float]:
        """The last row, without NumPy where it has a file of its own; empty if there is none."""


@dataclass(frozen=True)
class SeriesFile:
    """A CSV file of scalars; written by the first process only.

    A leading # line has the units, the next the column names; numbers are written so that they read back exactly.

    Args:
        path: the file.
        units: of the equation's columns, in order.
    """

    path: Path
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        """Whether there is a table, with rows or without."""
        return self.path.exists()

    def has_rows(self) -> bool:
        """Whether there is a table with names of columns."""
        return self.path.exists() and bool(read_columns(self.path))

    @property
    def columns(self) -> dict[str, str]:
        """Units of all columns, in order."""
        return {**LEADING, **self.units}

    @property
    def _header(self) -> str:
        units = ", ".join(f"{name} [{unit}]" for name, unit in self.columns.items())
        return f"# units: {units}\n{','.join(self.columns)}\n"

    def begin(self) -> None:
        """Start an empty file."""
        write_text(self.path, self._header)
        RowChecksums(self.path).begin(self._header)

    def flush(self) -> None:
        """Sync the checksums of the rows; the rows themselves are synced when they are written."""
        if RowChecksums(self.path).path.exists():
            sync(RowChecksums(self.path).path)

    def has_checksums(self) -> bool:
        """Whether checksums of its rows were kept; runs of older versions have none."""
        return bool(RowChecksums(self.path).read())

    def verify(self) -> list[str]:
        """Problems of the rows, one line each."""
        return RowChecksums(self.path).problems()

    def check(self) -> None:
        """Raises ConfigError if the file has other columns."""
        names = read_columns(self.path)
        if names and names != list(self.columns):
            raise _other_columns(self.path, names, list(self.columns))

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row and sync it."""
        values = [str(int(row["step"])), *(repr(float(row[name])) for name in list(self.columns)[1:])]
        append_line(self.path, ",".join(values))
        RowChecksums(self.path).append(",".join(values))

    def drop_after(self, step: int) -> None:
        """Drop the rows after a step."""
        drop_rows_after(self.path, step)

    def read(self) -> dict[str, np.ndarray]:
        """Columns by name; empty if there is no row."""
        return read_series(self.path) if self.exists else {}

    def read_units(self) -> dict[str, str]:
        """Units of all columns, as the table has them."""
        return read_units(self.path) if self.exists else {}

    def last(self) -> dict[str, float]:
        """The last row; empty if there is none."""
        names, rows = read_rows(self.path) if self.exists else ([], [])
        return dict(zip(names, map(float, rows[-1]), strict=True)) if rows else {}


@dataclass(frozen=True)
class PackedSeries:
    """The scalars of one member of an ensemble in a file that it shares with others.

    Args:
        rows: where they lie.
        units: of the equation's columns, in order.
    """

    rows: PackedRows
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file that holds them."""
        return self.rows.path

    @property
    def exists(self) -> bool:
        """Whether there may be rows."""
        return self.rows.exists

    def has_rows(self) -> bool:
        """Whether there is a row."""
        return self.rows.layout() is not None

    @property
    def _columns(self) -> dict[str, str]:
        """Units of the columns besides step and t, in order."""
        return {name: unit for name, unit in {**LEADING, **self.units}.items() if name not in TIME}

    def begin(self) -> None:
        """Nothing to do: the first row of a member begins its part of the file."""

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row."""
        import numpy as np

        from solver.io.records import Column, RecordsLayout, Row

        columns = self._columns
        layout = RecordsLayout({}, {name: Column(units=unit) for name, unit in columns.items()})
        values = {name: np.asarray(float(row[name])) for name in columns}
        self.rows.append(Row(int(row["step"]), float(row["t"]), values), layout)

    def flush(self) -> None:
        """Bring what was written to the disk."""
        self.rows.flush()

    def drop_after(self, step: int) -> None:
        """Drop the rows after a step."""
        self.rows.drop_after(step)

    def check(self) -> None:
        """Raises ConfigError if the rows have other columns."""
        layout = self.rows.layout()
        if layout is not None and layout.columns.keys() != self._columns.keys():
            raise _other_columns(self.path, [*TIME, *layout.columns], [*TIME, *self._columns])

    def has_checksums(self) -> bool:
        """The checksums are of the rows of all members."""
        return False

    def verify(self) -> list[str]:
        """No problems: the file is checked once for all members."""
        return []

    def read(self) -> dict[str, np.ndarray]:
        """Columns by name; empty if there is no row."""
        table = self.rows.table()
        return {} if table is None else {"step": table.step.astype(float), "t": table.t, **table.values}

    def read_units(self) -> dict[str, str]:
        """Units of all columns, as the table has them."""
        layout = self.rows.layout()
        if layout is None:
            return {}
        return {name: LEADING[name] for name in ("step", "t")} | {n: c.units for n, c in layout.columns.items()}

    def last(self) -> dict[str, float]:
        """The last row; empty if there is none."""
        return {name: float(values[-1]) for name, values in self.read().items()}


def _other_columns(path: Path, there: list[str], now: list[str]) -> ConfigError:
    return ConfigError(f"{path}: its columns are {','.join(there)}; this run writes {','.join(now)}")


def read_columns(path: Path) -> list[str]:
    """Names of the columns of a series file; empty if there are none."""
    with path.open(encoding="utf-8") as file:
        lines = [next(file, ""), next(file, "")]
    return lines[1].strip().split(",") if lines[1].strip() else []


def read_series(path: Path) -> dict[str, np.ndarray]:
    """Columns of a series file by name; an unfinished last row is left out. Empty if there is no row."""
    import numpy as np

    names, rows = read_rows(path)
    values = np.array(rows, dtype=float) if rows else np.empty((0, len(names)))
    return {name: values[:, i] for i, name in enumerate(names)} if rows else {}


def read_units(path: Path) -> dict[str, str]:
    """Units of the columns of a series file, from its first line."""
    with path.open(encoding="utf-8") as file:
        return dict(re.findall(r"(\w+) \[([^\]]*)\]", next(file, "")))


def drop_rows_after(path: Path, step: int) -> None:
    """Drop the rows after a step, and an unfinished last row; damaged rows between others stay."""
    sums = RowChecksums(path)
    before = sums.read()
    sums.drop_after(step)
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    head, rows, kept = lines[:HEADER_LINES], lines[HEADER_LINES:], sums.read()
    columns = len(head[1].split(",")) if len(head) > 1 else 0
    whole = [is_whole(row, columns) for row in rows]
    # the step of a damaged row may be wrong, so it does not decide where the later rows begin
    is_valid = [matches(row, before) if before else ok for row, ok in zip(rows, whole, strict=True)]
    end = next((n for n, row in enumerate(rows) if is_valid[n] and _step(row) > step), len(rows))
    while end and not (whole[end - 1] and _step(rows[end - 1]) <= step and (not kept or is_known(rows[end - 1], kept))):
        end -= 1
    write_text(path, "".join(f"{line}\n" for line in [*head, *rows[:end]]))


def _step(row: str) -> float:
    return float(row.partition(",")[0])
