"""Rows of many members of an ensemble in one file of records.

The file is written like that of one run (see `records`): each row goes to a journal first, and the file is replaced as
a whole when the journal has grown to a quarter of it. A member that goes on from a checkpoint has a line in the journal
that drops its rows after that step, so that nothing is rewritten for it alone. In the file rows are sorted by member
and step: it does not depend on the order in which they were written, or on kills in between.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from solver.io.files import append_line, sync
from solver.io.hdf5 import create, dataset, read_hdf5, verify_data
from solver.io.records import MEMBER, RecordsLayout, Row, columns_in, journal_of, read_layout, sealed_hdf5, write_rows
from solver.io.row_checksums import crc

KEPT = 2**26  # bytes: a file of at most this is read as a whole, and kept for the next of its members
SMALL = 2**20  # bytes: a journal below this is not worth a new file
GROUP = "rows"  # name of the first group in a file; the others are rows-2, rows-3, …
LAYOUT = "layout"  # begins a line of the journal that has a layout, where others have the number of a member
ALL = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Table:
    """Rows of some members, of one layout, sorted by member and step.

    Args:
        layout: axes and columns.
        member, step, t: of each row.
        values: `(row, *axes)` of each column.
    """

    layout: RecordsLayout
    member: np.ndarray
    step: np.ndarray
    t: np.ndarray
    values: Mapping[str, np.ndarray]

    @property
    def rows(self) -> list[Row]:
        """The rows, each by itself."""
        return [
            Row(int(step), float(t), {name: np.asarray(values[i]) for name, values in self.values.items()})
            for i, (step, t) in enumerate(zip(self.step, self.t, strict=True))
        ]


@dataclass
class _Added:
    """What the journal says of one member.

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


class PackedFile:
    """The rows of many members in one file; written by the first process only, through one object.

    Each layout has a group, `rows`, `rows-2`, …: members of one equation have the same. It holds `member`, `step` and
    `t` of each row, the axes, and the columns `(row, *axes)`.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._layout_of: dict[int, str] = {}  # of the members that this object has added rows of
        self._texts: dict[str, str] = {}
        self._in_journal: set[str] | None = None  # layouts; None before this object has written

    @property
    def journal(self) -> Path:
        """The rows that are not in the file yet."""
        return journal_of(self.path)

    @property
    def exists(self) -> bool:
        """Whether there may be rows."""
        return self.path.exists() or self.journal.exists()

    # ---- writing ------------------------------------------------------------------------------------------------

    def append(self, number: int, row: Row, layout: RecordsLayout) -> None:
        """Add a row of a member; it is on the disk after the next `flush`."""
        if number not in self._layout_of:
            key = _key(layout)
            self._layout_of[number], self._texts[key] = key, json.dumps(layout.to_json())
        key = self._layout_of[number]
        if self._in_journal is None or key not in self._in_journal:
            self._add_line(LAYOUT, f'{{"key": "{key}", "layout": {self._texts[key]}}}')
            assert self._in_journal is not None
            self._in_journal.add(key)
        values = [np.asarray(row.values[name]).tolist() for name in sorted(layout.columns)]
        self._add_line(str(number), json.dumps({LAYOUT: key, "step": row.step, "t": row.t, "values": values}))
        stored = self.path.stat().st_size if self.path.exists() else 0
        if self.journal.stat().st_size >= max(SMALL, stored // 4):
            self.merge()

    def drop_after(self, number: int, step: int) -> None:
        """Drop the rows of a member after a step."""
        if self.exists:
            self._add_line(str(number), json.dumps({"drop_after": step}))

    def flush(self) -> None:
        """Bring the journal to the disk."""
        if self.journal.exists():
            sync(self.journal)

    def merge(self) -> None:
        """Bring the file up to date with the journal."""
        if not self.journal.exists():
            return
        tables = self.tables()
        if tables:
            with sealed_hdf5(self.path) as file:
                for i, table in enumerate(tables, 1):
                    group = file.create_group(GROUP if i == 1 else f"{GROUP}-{i}", track_order=True)
                    create(group, MEMBER, table.member)
                    write_rows(group, table.t, table.step, table.values, table.layout)
                    for name in (MEMBER, "step"):  # along t, for readers that know axes by their scales, as xarray
                        group[name].dims[0].attach_scale(group["t"])
        else:
            self.path.unlink(missing_ok=True)
        self.journal.unlink()
        self._in_journal = set()

    def _add_line(self, what: str, text: str) -> None:
        if self._in_journal is None:
            self._drop_cut_line()
            self._in_journal = set()
        append_line(self.journal, f"{crc(f'{what} {text}')} {what} {text}", to_disk=False)

    def _drop_cut_line(self) -> None:
        """Drop a last line that a kill has cut short, so that the next one is not added to it."""
        if self.journal.exists():
            content = self.journal.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                os.truncate(self.journal, whole)

    # ---- reading ------------------------------------------------------------------------------------------------

    def tables(self, number: int | None = None) -> list[Table]:
        """All rows, including those in the journal, or those of one member: a table for each layout that has some."""
        lines = list(self._journal_lines(number))  # read first: a run that merges now moves these into the file
        found = self._stored(number) if self.path.exists() else {}
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

    def _stored(self, number: int | None) -> dict[str, Table]:
        """What the file holds, or what it holds of one member, by the key of its layout."""
        if number is None:
            return _read(self.path, None)
        mark = self.path.stat()
        if mark.st_size > KEPT:
            return _read(self.path, number)
        return {key: _part(table, number) for key, table in _kept(self.path, mark.st_mtime_ns, mark.st_ino).items()}

    def _lines(self) -> list[str]:
        try:
            return self.journal.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _journal_lines(self, number: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
        """The member and the content of each whole line of the journal, or of those of one member and of layouts."""
        for line in self._lines():
            what = line[9:].partition(" ")[0]
            if number is not None and what not in (LAYOUT, str(number)):
                continue
            if _is_whole(line):
                yield what, json.loads(line[9:].partition(" ")[2])


@dataclass(frozen=True)
class PackedRows:
    """The rows of one member in a file that it shares with others.

    Args:
        file: of all of them.
        number: of the member.
    """

    file: PackedFile
    number: int

    @property
    def path(self) -> Path:
        """The file that holds them."""
        return self.file.path

    @property
    def exists(self) -> bool:
        """Whether there may be rows."""
        return self.file.exists

    def is_damaged(self) -> bool:
        """Whether the file is not as it was written; `Pack` refuses a damaged one for all members at once."""
        return False

    def append(self, row: Row, layout: RecordsLayout) -> None:
        """Add a row."""
        self.file.append(self.number, row, layout)

    def flush(self) -> None:
        """Bring what was added to the disk."""
        self.file.flush()

    def drop_after(self, step: int) -> None:
        """Drop the rows after a step."""
        self.file.drop_after(self.number, step)

    def table(self) -> Table | None:
        """The rows as columns; None while there is none."""
        return next(iter(self.file.tables(self.number)), None) if self.exists else None

    def layout(self) -> RecordsLayout | None:
        """Axes and columns; None while there is no row."""
        table = self.table()
        return None if table is None else table.layout

    def rows(self) -> list[Row]:
        """All rows, including those in the journal."""
        table = self.table()
        return [] if table is None else table.rows

    def verify(self) -> dict[Path, list[str]]:
        """No problems: the file is checked once for all members, by `Pack.verify`."""
        return {}


@lru_cache(maxsize=4)
def _kept(path: Path, *changed: int) -> dict[str, Table]:
    """What a file holds, kept for the next member that is read: each by itself would take as long as all at once."""
    return _read(path, None)


def _read(path: Path, number: int | None) -> dict[str, Table]:
    """What a file holds, or what it holds of one member, by the key of its layout."""
    found = {}
    with read_hdf5(path) as file:
        for group in sorted(file):
            layout, part = read_layout(file, group), slice(None)
            member = dataset(file, f"{group}/{MEMBER}")[:]
            if number is not None:
                part = _rows_of(member, number)
            read = lambda name: dataset(file, f"{group}/{name}")[part]  # noqa: B023, E731
            values = {name: read(name) for name in columns_in(file, group)}
            found[_key(layout)] = Table(layout, member[part], read("step"), read("t"), values)
    return found


def _part(table: Table, number: int) -> Table:
    """The rows of one member."""
    rows = _rows_of(table.member, number)
    values = {name: column[rows] for name, column in table.values.items()}
    return Table(table.layout, table.member[rows], table.step[rows], table.t[rows], values)


def _rows_of(member: np.ndarray, number: int) -> slice:
    return slice(int(np.searchsorted(member, number)), int(np.searchsorted(member, number + 1)))


def _joined(layout: RecordsLayout, stored: Table | None, added: Mapping[int, _Added], key: str) -> Table:
    """Rows of one layout in the file that still count, and those of the journal, sorted."""
    parts: list[Table] = []
    if stored is not None:
        limits = np.array([added[m].limit if m in added else ALL for m in stored.member.tolist()], dtype=np.int64)
        keep = stored.step <= limits
        values = {name: column[keep] for name, column in stored.values.items()}
        parts.append(Table(layout, stored.member[keep], stored.step[keep], stored.t[keep], values))
    rows = [(number, row) for number, own in added.items() for which, row in own.rows if which == key]
    if rows:
        place = {name: i for i, name in enumerate(sorted(layout.columns))}
        values = {name: np.array([row["values"][place[name]] for _, row in rows]) for name in layout.columns}
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


def _key(layout: RecordsLayout) -> str:
    """The same for layouts whose rows may follow each other."""
    return crc(json.dumps(layout.of_rows(), sort_keys=True))


def _is_whole(line: str) -> bool:
    return line[:8] == crc(line[9:])
