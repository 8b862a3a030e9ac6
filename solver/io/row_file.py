"""NAME.h5: rows of arrays against time, of one run or of many members of an ensemble.

An HDF5 file that is open while its process is killed may be lost. So each row is first written to a journal next to the
file, as one line of text with a checksum. When the journal has grown to a quarter of the file, the file is replaced as
a whole: the cost of a row does not grow with the run, and no row is lost. A run resumed from a checkpoint has a
line in the journal that drops its rows after that step. In the file rows are sorted by member and step: it does not
depend on the order in which they were written, or on kills in between.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from solver.io.files import append_line, sync
from solver.io.hdf5 import verify_data
from solver.io.row_checksums import crc
from solver.io.row_hdf5 import part_of, read_tables, write_tables
from solver.io.rows import RecordsLayout, Row, Table

KEPT = 2**26  # bytes: a shared file of at most this is read as a whole, and kept for the next of its members
SMALL, SMALL_SHARED = 2**16, 2**20  # bytes: a journal below this is not worth a new file, of one run or of many members
LAYOUT = "layout"  # begins a line of the journal that has a layout, where others have the number of a member
MANY = 1000  # numbers that a line of the journal has as bytes
ALL = np.iinfo(np.int64).max


@dataclass
class _Added:
    """Lines of the journal about one member.

    Args:
        stored: steps of its rows in the file.
        limit: the last step of these that counts.
        rows: layout and content of the rows that follow.
    """

    stored: np.ndarray
    limit: int = ALL
    rows: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def take(self, content: dict[str, Any]) -> None:
        """Take in a line of the journal. Lines may be in the file already: a kill may come before they are removed."""
        if "drop_after" in content:
            self.limit = min(self.limit, content["drop_after"])
            self.rows = [row for row in self.rows if row[1]["step"] <= content["drop_after"]]
        elif content["step"] > self._last:
            self.rows.append((content[LAYOUT], content))

    @property
    def _last(self) -> int:
        if self.rows:
            return int(self.rows[-1][1]["step"])
        kept = self.stored[self.stored <= self.limit]
        return int(kept[-1]) if len(kept) else -1


class RowFile:
    """A file of rows with its journal; written by the first process only, through one object.

    The file of one run has one layout. Each of its rows is synced, and it is brought up to date by `flush`. In a
    shared file each layout has a group: members of one equation share one. Its journal is synced by `flush`.

    Args:
        path: the file.
        shared: True if it holds the rows of many members.
    """

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self.path, self.shared = path, shared
        self.journal = path.with_name(f".{path.name}.rows")
        self._key_of: dict[int, str] = {}  # of the layouts of members that this object has added rows of
        self._in_journal: set[str] | None = None  # keys of layouts; None before this object has written

    @property
    def exists(self) -> bool:
        """True if there may be rows."""
        return self.path.exists() or self.journal.exists()

    # ---- writing ------------------------------------------------------------------------------------------------

    def append(self, number: int, row: Row, layout: RecordsLayout) -> None:
        """Add a row of a member; in a shared file it is on the disk after the next `flush`."""
        self._open_journal()
        if number not in self._key_of:
            self._key_of[number] = self._key(layout)
        key = self._key_of[number]
        assert self._in_journal is not None
        if key not in self._in_journal:
            self._add_line(LAYOUT, {"key": key, LAYOUT: layout.to_json()})
            self._in_journal.add(key)
        values = [_as_json(np.asarray(row.values[name])) for name in sorted(layout.columns)]
        self._add_line(str(number), {LAYOUT: key, "step": row.step, "t": row.t, "values": values})
        stored = self.path.stat().st_size if self.path.exists() else 0
        enough = max(SMALL_SHARED if self.shared else SMALL, stored // 4)
        if self.journal.stat().st_size >= enough or not (stored or self.shared):
            self.merge()

    def drop_after(self, number: int, step: int) -> None:
        """Drop the rows of a member after a step."""
        if not self.exists:
            return
        self._open_journal()
        self._add_line(str(number), {"drop_after": step})
        if not self.shared:
            self.merge()

    def flush(self) -> None:
        """Bring the rows to the disk: to the file of one run, to the journal of many members."""
        if not self.shared:
            self.merge()
        elif self.journal.exists():
            sync(self.journal)

    def merge(self) -> None:
        """Bring the file up to date with the journal."""
        if not self.journal.exists():
            return
        tables = self.tables()
        if tables:
            write_tables(self.path, tables, shared=self.shared)
        else:
            self.path.unlink(missing_ok=True)
        self.journal.unlink()

    def _open_journal(self) -> None:
        """Begin the journal, or drop a last line that a kill has cut short, so that the next one is not added to it."""
        if not self.journal.exists():
            self._in_journal = set()
        elif self._in_journal is None:
            content = self.journal.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                os.truncate(self.journal, whole)
            self._in_journal = set()

    def _add_line(self, what: str, content: dict[str, Any]) -> None:
        text = f"{what} {json.dumps(content)}"
        append_line(self.journal, f"{crc(text)} {text}", to_disk=not self.shared)

    def _key(self, layout: RecordsLayout) -> str:
        """The same for layouts whose rows may follow each other; all rows of one run have one layout."""
        return crc(json.dumps(layout.of_rows(), sort_keys=True)) if self.shared else "own"

    # ---- reading ------------------------------------------------------------------------------------------------

    def tables(self, number: int | None = None) -> list[Table]:
        """All rows, or all rows of one member, with the rows in the journal: a table for each layout that has rows."""
        lines = list(self._journal_lines(number))  # read first: a run that merges now moves these into the file
        found = {self._key(table.layout): table for table in self._stored(number)}
        layouts = {key: table.layout for key, table in found.items()}
        added: dict[int, _Added] = {}
        for what, content in lines:
            if what == LAYOUT:
                layouts.setdefault(content["key"], RecordsLayout.from_json(content[LAYOUT]))
                continue
            member = int(what)
            if member not in added:
                stored = [table.step[table.member == member] for table in found.values()]
                added[member] = _Added(np.sort(np.concatenate([np.empty(0, int), *stored])))
            added[member].take(content)
        made = [_joined(layout, found.get(key), added, key) for key, layout in layouts.items()]
        return sorted((table for table in made if len(table.t)), key=lambda table: int(table.member[0]))

    def verify(self) -> dict[Path, list[str]]:
        """Problems of the file and of its journal, one line each."""
        problems = {self.path: verify_data(self.path)} if self.path.exists() else {}
        if self.journal.exists():
            lines = self._lines()[:-1]  # the last one may be cut short
            bad = [number for number, line in enumerate(lines, 1) if not _is_whole(line)]
            problems[self.journal] = [f"line {number}: its checksum does not match" for number in bad]
        return problems

    def _stored(self, number: int | None) -> list[Table]:
        """Tables in the file, or the part of one member in them."""
        if not self.path.exists():
            return []
        mark = self.path.stat()
        if number is None or not self.shared or mark.st_size > KEPT:
            return read_tables(self.path, shared=self.shared, number=number)
        return [part_of(table, number) for table in _kept(self.path, mark.st_mtime_ns, mark.st_ino)]

    def _lines(self) -> list[str]:
        try:
            return self.journal.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _journal_lines(self, number: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
        """Member and content of each whole line of the journal; if a member is given, of its lines and of layouts."""
        for line in self._lines():
            what = line[9:].partition(" ")[0]
            if number is not None and what not in (LAYOUT, str(number)):
                continue
            if _is_whole(line):
                yield what, json.loads(line[9:].partition(" ")[2])


@dataclass(frozen=True)
class RowsInFile:
    """The rows of one run in a file, which may be shared with other members of an ensemble.

    Args:
        file: the file.
        number: number of the member; 0 in a file of one run.
    """

    file: RowFile
    number: int = 0

    @property
    def path(self) -> Path:
        """The file that holds them."""
        return self.file.path

    def append(self, row: Row, layout: RecordsLayout) -> None:
        """Add a row."""
        self.file.append(self.number, row, layout)

    def flush(self) -> None:
        """Bring the added rows to the disk."""
        self.file.flush()

    def drop_after(self, step: int) -> None:
        """Drop the rows after a step."""
        self.file.drop_after(self.number, step)

    def layout(self) -> RecordsLayout | None:
        """Axes and columns; None while there is no row."""
        table = self.table()
        return None if table is None else table.layout

    def table(self) -> Table | None:
        """All rows, including those in the journal; None while there is no row."""
        return next(iter(self.file.tables(self.number)), None)

    def last(self) -> dict[str, float]:
        """Numbers of the last row by column, step and t first; empty while there is no row."""
        table = self.table()
        columns = {} if table is None else table.columns
        return {name: float(values[-1]) for name, values in columns.items() if values.ndim == 1}

    def verify(self) -> dict[Path, list[str]]:
        """Problems of the file and of its journal; empty for a shared file: `Pack.verify` checks it once for all."""
        return {} if self.file.shared else self.file.verify()


@lru_cache(maxsize=4)
def _kept(path: Path, *changed: int) -> list[Table]:
    """Tables in a shared file, kept for the next member that is read: each by itself would take as long as all."""
    return read_tables(path, shared=True)


def _joined(layout: RecordsLayout, stored: Table | None, added: Mapping[int, _Added], key: str) -> Table:
    """Rows of one layout: those in the file that still count, and the rows of the journal, sorted."""
    parts: list[Table] = []
    if stored is not None:
        limits = np.array([added[m].limit if m in added else ALL for m in stored.member.tolist()], dtype=np.int64)
        keep = stored.step <= limits
        values = {name: column[keep] for name, column in stored.values.items()}
        parts.append(Table(layout, stored.member[keep], stored.step[keep], stored.t[keep], values))
    rows = [(number, row) for number, own in added.items() for which, row in own.rows if which == key]
    if rows:
        place = {name: i for i, name in enumerate(sorted(layout.columns))}
        values = {
            name: np.array([_from_json(row["values"][place[name]]) for _, row in rows]) for name in layout.columns
        }
        member, step = np.array([number for number, _ in rows]), np.array([row["step"] for _, row in rows])
        parts.append(Table(layout, member, step, np.array([row["t"] for _, row in rows], dtype=float), values))
    if not parts:
        nothing = np.empty(0)
        return Table(layout, nothing, nothing, nothing, {})
    join = lambda of: np.concatenate([of(part) for part in parts])  # noqa: E731
    member, step = join(lambda part: part.member), join(lambda part: part.step)
    order = np.lexsort((step, member))
    columns = {name: join(lambda part, name=name: part.values[name])[order] for name in layout.columns}
    return Table(layout, member[order], step[order], join(lambda part: part.t)[order], columns)


def _as_json(values: np.ndarray) -> Any:
    """The values of a column of a row: as lists, or many of them as their bytes."""
    if values.size < MANY:
        return values.tolist()
    return {"shape": values.shape, "float64": base64.b64encode(values.astype("<f8").tobytes()).decode("ascii")}


def _from_json(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    return np.frombuffer(base64.b64decode(content["float64"]), "<f8").reshape(content["shape"])


def _is_whole(line: str) -> bool:
    return line[:8] == crc(line[9:])
