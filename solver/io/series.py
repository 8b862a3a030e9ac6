"""series.csv: one row of scalars per diagnostic time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from solver.config import ConfigError
from solver.io.files import append_line, write_text

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

    def check(self) -> None:
        """Raises ValueError where the file has other columns."""
        found = read_columns(self.path)
        if found and found != list(self.columns):
            raise ConfigError(
                f"{self.path}: its columns are {','.join(found)}; this run writes {','.join(self.columns)}"
            )

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row and bring it to the disk."""
        values = [str(int(row["step"])), *(repr(float(row[name])) for name in list(self.columns)[1:])]
        append_line(self.path, ",".join(values))


def read_columns(path: Path) -> list[str]:
    """Names of the columns of a series file; empty if there are none."""
    with path.open(encoding="utf-8") as file:
        lines = [next(file, ""), next(file, "")]
    return lines[1].strip().split(",") if lines[1].strip() else []


def read_series(path: Path) -> dict[str, np.ndarray]:
    """Columns of a series file by name; a last row that is being written is left out. Empty if there is no row."""
    text = path.read_text(encoding="utf-8")
    lines = text[: text.rfind("\n") + 1].splitlines()[1:]
    names = lines[0].split(",") if lines else []
    rows = [line.split(",") for line in lines[1:] if _is_whole(line, len(names))]
    values = np.array(rows, dtype=float) if rows else np.empty((0, len(names)))
    return {name: values[:, i] for i, name in enumerate(names)} if rows else {}


def read_units(path: Path) -> dict[str, str]:
    """Units of the columns of a series file, from its first line."""
    with path.open(encoding="utf-8") as file:
        return dict(re.findall(r"(\w+) \[([^\]]*)\]", next(file, "")))


def drop_rows_after(path: Path, step: int) -> None:
    """Drop the rows after a step, and a last one that was cut short."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    columns = len(lines[1].split(",")) if len(lines) > 1 else 0
    rows = [line for line in lines[2:] if _is_whole(line, columns) and int(line.split(",")[0]) <= step]
    write_text(path, "".join(f"{line}\n" for line in [*lines[:2], *rows]))


def _is_whole(line: str, columns: int) -> bool:
    entries = line.split(",")
    try:
        return len(entries) == columns and bool([float(entry) for entry in entries])
    except ValueError:
        return False
