"""Stores for the rows of a run: in files of its own, or in files that members of an ensemble share.

`RunDirectory.store` chooses one of the two where it is first used; `Pack.store` gives the second.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from solver.io.rows import Rows
from solver.io.series import SeriesFile

SERIES = "series"  # name of the rows of scalars
OF_SNAPSHOTS = re.compile(r"step-|points(-\d+)+\.h5$")  # files of snapshots, and of the places of their points


@runtime_checkable
class RowStore(Protocol):
    """The rows of all outputs of one run."""

    def rows(self, name: str, folder: str = "") -> Rows:
        """The rows of an output, which may be written through one object of the run's directory.

        Args:
            name: name of the output: `series`, or such as `spectra`.
            folder: folder in the run's directory; `statistics` for statistics.
        """

    def names(self, folder: str = "") -> list[str]:
        """Names of the outputs of arrays that have rows, including those whose rows are only in a journal so far."""


@dataclass(frozen=True)
class OwnStore:
    """Files of one run: series.csv, and NAME.h5 for each other output.

    Args:
        path: the run's directory.
    """

    path: Path
    _rows: dict[tuple[str, str], Rows] = field(default_factory=dict, compare=False, repr=False)

    def rows(self, name: str, folder: str = "") -> Rows:
        """The rows of an output; the same object each time."""
        if (name, folder) not in self._rows:
            is_series, place = (name, folder) == (SERIES, ""), self.path / folder
            rows = SeriesFile(place / f"{name}.csv") if is_series else own_rows(place / f"{name}.h5")
            self._rows[name, folder] = rows
        return self._rows[name, folder]

    def names(self, folder: str = "") -> list[str]:
        """Names of the outputs of arrays that have rows."""
        return record_names(self.path / folder)


def own_rows(path: Path) -> Rows:
    """The rows of one run in a file NAME.h5."""
    from solver.io.row_file import RowFile, RowsInFile  # imports h5py, which is slow

    return RowsInFile(RowFile(path))


def record_names(folder: Path) -> list[str]:
    """Names of the files of rows in a folder, including those that are only in a journal so far."""
    merged = {path.stem for path in folder.glob("[!.]*.h5") if not OF_SNAPSHOTS.match(path.name)}
    journals = {path.name[1 : -len(".h5.rows")] for path in folder.glob(".*.h5.rows")}
    return sorted(merged | journals)
