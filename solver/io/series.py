"""series.csv: one row of scalars per diagnostic time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from solver.config import ConfigError
from solver.io.files import append_line, sync, write_text
from solver.io.row_checksums import HEADER_LINES, RowChecksums, is_known, matches
from solver.io.rows import is_whole, read_rows

LEADING = {"step": "1", "t": "time", "dt": "time"}


@dataclass(frozen=True)
class SeriesFile:
    """A CSV file of scalars; written by the first process only.

    A leading # line has the units, the next the column names; numbers are written so that they read back exactly.

    Args:
        path: the file.
        units: of the equation's columns, in order.
    """

    path: Path
    units: Mapping[str, str]

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

    @property
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
            raise ConfigError(
                f"{self.path}: its columns are {','.join(names)}; this run writes {','.join(self.columns)}"
            )

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row and sync it."""
        values = [str(int(row["step"])), *(repr(float(row[name])) for name in list(self.columns)[1:])]
        append_line(self.path, ",".join(values))
        RowChecksums(self.path).append(",".join(values))


def read_columns(path: Path) -> list[str]:
    """Names of the columns of a series file; empty if there are none."""
    with path.open(encoding="utf-8") as file:
        lines = [next(file, ""), next(file, "")]
    return lines[1].strip().split(",") if lines[1].strip() else []


def read_series(path: Path) -> dict[str, np.ndarray]:
    """Columns of a series file by name; an unfinished last row is left out. Empty if there is no row."""
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
