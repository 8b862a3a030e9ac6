"""NAME.h5: small arrays against time, such as spectra.h5.

An HDF5 file that is open while its process is killed may be lost. So each row is first written to a journal beside the
file, as one synced line of text. When the journal has grown to a quarter of the file, the file is replaced as a whole:
the cost of a row does not grow with the run, and no row is lost. `merge` brings the file up to date.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import h5py
import numpy as np

from solver.io.files import append_line, partial_path, publish
from solver.io.hdf5 import create, dataset, new_hdf5, read_hdf5, seal, verify_data
from solver.io.row_checksums import crc
from solver.io.rows import TIME

MEMBER = "member"  # in a file that members share, the number of the member of each row
VARIANCE = "_variance_in_time"  # ending of a column of statistics that holds the variance of another column
SMALL = 2**16  # bytes: a journal below this is not worth a new file


@dataclass(frozen=True)
class Axis:
    """Coordinates that a recorded array is held against, besides time.

    Args:
        values: one-dimensional.
        units: of the values.
        long_name: description of the values.
    """

    values: np.ndarray
    units: str = ""
    long_name: str = ""


@dataclass(frozen=True)
class Column:
    """One recorded quantity.

    Args:
        axes: names of the axes of its arrays, in order; none for a number.
        units: of the values.
        long_name: description of the values, with their normalisation.
        power_law: p of the power law k^−p that is expected of a spectrum; None if none is.
    """

    axes: tuple[str, ...] = ()
    units: str = ""
    long_name: str = ""
    power_law: float | None = None


@dataclass(frozen=True)
class RecordsLayout:
    """Axes and columns of a file of records: everything that it holds besides its rows."""

    axes: Mapping[str, Axis] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a column's arrays."""
        return tuple(len(self.axes[axis].values) for axis in self.columns[name].axes)

    def continues(self, other: RecordsLayout) -> bool:
        """Whether rows of this layout may follow rows of another: the same axes, columns and units."""
        return self.of_rows() == other.of_rows()

    def of_rows(self) -> Any:
        """What rows depend on: axes with all that is said of them, and each column's axes and units; JSON can hold it.

        Places and modes have numbers as their axis, and stand in its description.
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
        axes = {name: Axis(**{**axis, "values": np.array(axis["values"])}) for name, axis in content["axes"].items()}
        columns = {
            name: Column(**{**column, "axes": tuple(column["axes"])}) for name, column in content["columns"].items()
        }
        return cls(axes, columns)


@dataclass(frozen=True)
class Row:
    """Recorded arrays of one state, by name."""

    step: int
    t: float
    values: Mapping[str, np.ndarray]


def journal_of(path: Path) -> Path:
    """The journal of a file of records."""
    return path.with_name(f".{path.name}.rows")


@runtime_checkable
class Rows(Protocol):
    """The rows of one run against time, wherever they lie: in a file of their own, or in one that members share."""

    @property
    def path(self) -> Path:
        """The file that holds them."""

    @property
    def exists(self) -> bool:
        """Whether there may be rows."""

    def is_damaged(self) -> bool:
        """Whether the file is not as it was written."""

    def append(self, row: Row, layout: RecordsLayout) -> None:
        """Add a row."""

    def flush(self) -> None:
        """Bring what was added to the disk; called before each checkpoint."""

    def drop_after(self, step: int) -> None:
        """Drop the rows after a step."""

    def layout(self) -> RecordsLayout | None:
        """Axes and columns; None while there is no row."""

    def rows(self) -> list[Row]:
        """All rows, including those in a journal."""

    def verify(self) -> dict[Path, list[str]]:
        """Problems of the files that this run alone writes, one line each."""


@dataclass(frozen=True)
class RecordsFile:
    """Rows of arrays against time; written by the first process only.

    Data sets: `t`, `step`, each axis, and each column `(t, *axes)` with `t` and its axes as dimension scales.

    Args:
        path: the file.
    """

    path: Path

    @property
    def journal(self) -> Path:
        """The rows that are not in the file yet."""
        return journal_of(self.path)

    @property
    def exists(self) -> bool:
        """Whether there may be rows."""
        return self.path.exists() or self.journal.exists()

    def is_damaged(self) -> bool:
        """Whether the file is not as it was written."""
        return self.path.exists() and bool(verify_data(self.path))

    def append(self, row: Row, layout: RecordsLayout) -> None:
        """Add a row."""
        if not self.journal.exists():
            self._add_line({"layout": layout.to_json()})
        content = {name: np.asarray(values).tolist() for name, values in row.values.items()}
        self._add_line({"step": row.step, "t": row.t, "values": content})
        stored = self.path.stat().st_size if self.path.exists() else 0
        if self.journal.stat().st_size >= max(SMALL, stored // 4) or not stored:
            self.merge()

    def merge(self) -> None:
        """Bring the file up to date with the journal."""
        if self.journal.exists():
            self._replace(self.rows())

    def flush(self) -> None:
        """Bring the file up to date with the journal."""
        self.merge()

    def drop_after(self, step: int) -> None:
        """Drop the rows after a step."""
        if self.exists:
            self._replace([row for row in self.rows() if row.step <= step])

    def layout(self) -> RecordsLayout | None:
        """Axes and columns; None while there is no row."""
        if self.path.exists():
            with read_hdf5(self.path) as file:
                return read_layout(file)
        return next(
            (RecordsLayout.from_json(line["layout"]) for _, line in self._journal_lines() if line and "layout" in line),
            None,
        )

    def rows(self) -> list[Row]:
        """All rows, including those in the journal."""
        lines = list(self._journal_lines())  # read first: a run that merges now moves these lines into the file
        rows = list(self._stored()) if self.path.exists() else []
        for _, content in lines:
            if content is not None and "step" in content and (not rows or content["step"] > rows[-1].step):
                values = {name: np.array(value) for name, value in content["values"].items()}
                rows.append(Row(content["step"], content["t"], values))
        return rows

    def verify(self) -> dict[Path, list[str]]:
        """Problems of the file and of its journal, one line each."""
        problems = {self.path: verify_data(self.path)} if self.path.exists() else {}
        if self.journal.exists():
            problems[self.journal] = [f"line {n}: its checksum does not match" for n in self.damaged_lines()]
        return problems

    def damaged_lines(self) -> list[int]:
        """Numbers of the journal's lines whose checksum does not match, except the last one, which may be cut short."""
        lines = list(self._journal_lines())
        return [number for number, content in lines[:-1] if content is None]

    def _stored(self) -> Iterator[Row]:
        with read_hdf5(self.path) as file:
            arrays = {name: dataset(file, name)[:] for name in columns_in(file)}
            for i, (step, t) in enumerate(zip(dataset(file, "step")[:], dataset(file, "t")[:], strict=True)):
                yield Row(int(step), float(t), {name: np.asarray(values[i]) for name, values in arrays.items()})

    def _add_line(self, content: dict[str, Any]) -> None:
        text = json.dumps(content)
        append_line(self.journal, f"{crc(text)} {text}")

    def _journal_lines(self) -> Iterator[tuple[int, dict | None]]:
        """Number and content of each line; None for the content of a damaged one."""
        try:
            lines = self.journal.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return
        for number, line in enumerate(lines, 1):
            claimed, _, text = line.partition(" ")
            yield number, json.loads(text) if claimed == crc(text) else None

    def _replace(self, rows: Iterable[Row]) -> None:
        rows, layout = list(rows), self.layout()
        if not rows or layout is None:
            self.path.unlink(missing_ok=True)
        else:
            t, step = np.array([row.t for row in rows]), np.array([row.step for row in rows])
            values = {name: np.stack([row.values[name] for row in rows]) for name in layout.columns}
            with sealed_hdf5(self.path) as file:
                write_rows(file, t, step, values, layout)
        self.journal.unlink(missing_ok=True)


def _known(column: Column) -> dict[str, Any]:
    return {key: value for key, value in vars(column).items() if value is not None}


@contextmanager
def sealed_hdf5(path: Path) -> Iterator[h5py.File]:
    """Write a file as a whole in place of the one that is there, with a checksum at its end.

    Raises:
        DiskError: it could not be written; the one that is there is unchanged.
    """
    partial = partial_path(path)
    try:
        with new_hdf5(partial) as file:
            yield file
        seal(partial)
        publish(partial, path)
    except Exception:
        partial.unlink(missing_ok=True)
        raise


def write_rows(
    file: h5py.Group, t: np.ndarray, step: np.ndarray, values: Mapping[str, np.ndarray], layout: RecordsLayout
) -> None:
    """Write rows with their axes into a file or a group: columns `(t, *axes)` by name."""
    create(file, "t", t)
    create(file, "step", step)
    for name, axis in layout.axes.items():
        _describe(create(file, name, axis.values), axis)
    for scale in ("t", *layout.axes):
        file[scale].make_scale(scale)
    for name, column in layout.columns.items():
        data = file.create_dataset(name, data=values[name], fletcher32=True)
        _describe(data, column)
        for i, scale in enumerate(("t", *column.axes)):
            data.dims[i].attach_scale(file[scale])


def _describe(data: h5py.Dataset, what: Axis | Column) -> None:
    for key in ("units", "long_name", "power_law"):
        if getattr(what, key, None) not in ("", None):
            data.attrs[key] = getattr(what, key)


def columns_in(file: h5py.File, group: str = "") -> list[str]:
    """Names of the columns in a file, or in one of its groups."""
    return [name for name in _members_of(file, group) if not dataset(file, f"{group}/{name}").is_scale]


def read_layout(file: h5py.File, group: str = "") -> RecordsLayout:
    """Axes and columns of a file, or of one of its groups."""
    held = {name: dataset(file, f"{group}/{name}") for name in _members_of(file, group)}

    def words(name: str) -> dict[str, str]:
        return {key: str(held[name].attrs.get(key, "")) for key in ("units", "long_name")}

    axes = {name: Axis(data[:], **words(name)) for name, data in held.items() if data.is_scale}
    columns = {}
    for name, data in held.items():
        if not data.is_scale:
            law = data.attrs.get("power_law")
            scales = tuple(dim.keys()[0] for dim in list(data.dims)[1:])
            columns[name] = Column(scales, **words(name), power_law=None if law is None else float(law))
    return RecordsLayout(axes, columns)


def _members_of(file: h5py.File, group: str) -> list[str]:
    """Names of the axes and columns in a file or a group."""
    place = file[group] if group else file
    return [name for name in place if name not in TIME and not (group and name == MEMBER)]
