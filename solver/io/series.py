"""series.csv: one row of scalars per diagnostic time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from solver.io.files import write_text

LEADING = {"step": "1", "t": "time", "dt": "time"}


class Series:
    """Appends rows to a CSV file; first process only.

    A leading # line has the units, the next the column names; numbers are written so that they read back exactly.

    Args:
        path: the file; made if it is not there.
        units: of the equation's columns, in order.
    """

    def __init__(self, path: Path, units: Mapping[str, str]) -> None:
        self.path = path
        self.units = {**LEADING, **units}
        self.last_step: int | None = None

    @property
    def _header(self) -> str:
        units = ", ".join(f"{name} [{unit}]" for name, unit in self.units.items())
        return f"# units: {units}\n{','.join(self.units)}\n"

    def begin(self) -> None:
        """Start an empty file."""
        write_text(self.path, self._header)

    def resume(self, step: int) -> None:
        """Drop the rows after `step`, and a last one that was cut short.

        Raises:
            ValueError: the file has other columns.
        """
        if not self.path.exists():
            return self.begin()
        lines = self.path.read_text(encoding="utf-8").splitlines()
        if lines[1:2] != self._header.splitlines()[1:2]:
            raise ValueError(f"{self.path}: its columns are {lines[1:2]}; this run writes {','.join(self.units)}")
        rows = [line for line in lines[2:] if self._is_whole(line) and int(line.split(",")[0]) <= step]
        self.last_step = int(rows[-1].split(",")[0]) if rows else None
        write_text(self.path, self._header + "".join(f"{row}\n" for row in rows))
        return None

    def _is_whole(self, line: str) -> bool:
        entries = line.split(",")
        try:
            return len(entries) == len(self.units) and bool([float(e) for e in entries])
        except ValueError:
            return False

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row and bring it to the disk; a step that is there already is left alone."""
        if self.last_step is not None and int(row["step"]) <= self.last_step:
            return
        self.last_step = int(row["step"])
        values = [str(int(row["step"])), *(repr(float(row[name])) for name in list(self.units)[1:])]
        with self.path.open("a", encoding="utf-8") as file:
            file.write(",".join(values) + "\n")
            file.flush()
            os.fsync(file.fileno())
