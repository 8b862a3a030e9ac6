"""Checksums of the rows of series.csv, in a hidden file beside it: the table itself is for other programs to read.

Each row has a line `STEP CRC`, and the two lines before the rows `header CRC`. A row is written before its checksum, so
that a kill may leave rows at the end without one. Rows keep the checksums they were written with: what was damaged once
is told for good.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from solver.io.files import append_line, write_text

HEADER = "header"
HEADER_LINES = 2
LINE = re.compile(rf"({HEADER}|\d+) ([0-9a-f]{{8}})")
NAMED = 3  # rows that a message names


@dataclass(frozen=True)
class RowChecksums:
    """The checksums of a table's rows.

    Args:
        table: the file that they are of.
    """

    table: Path

    @property
    def path(self) -> Path:
        """The file that holds them."""
        return self.table.with_name(f".{self.table.name}.sums")

    def begin(self, header: str) -> None:
        """Start anew, for a table without rows."""
        write_text(self.path, f"{HEADER} {_crc(header)}\n")

    def append(self, row: str) -> None:
        """Add a row's checksum; it is on the disk after the next `files.sync` of `path`."""
        if self.path.exists():
            append_line(self.path, f"{_key(row)} {_crc(row)}", to_disk=False)

    def drop_after(self, step: int) -> None:
        """Drop those of the rows after a step."""
        if self.path.exists():
            kept = {key: crc for key, crc in self.read().items() if key == HEADER or int(key) <= step}
            write_text(self.path, "".join(f"{key} {crc}\n" for key, crc in kept.items()))

    def read(self) -> dict[str, str]:
        """Checksum of each row by its step, as text, and that of the header; empty where none were kept."""
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return {}
        return {found[1]: found[2] for line in lines if (found := LINE.fullmatch(line))}

    def problems(self) -> list[str]:
        """What is wrong with the table, as lines; empty for a whole one, and where no checksums were kept."""
        sums = self.read()  # first: a run that is under way may add a row in between
        if not sums:
            return []
        if not self.table.exists():
            return [f"it is missing, and with it {_rows([key for key in sums if key != HEADER])}"]
        lines = self.table.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        head, rows = "".join(lines[:HEADER_LINES]), [line.rstrip("\n") for line in lines[HEADER_LINES:]]
        found = [] if sums.get(HEADER) == _crc(head) else ["its units or the names of its columns were changed"]
        last = max((n for n, row in enumerate(rows) if matches(row, sums)), default=-1)
        changed = [n for n, row in enumerate(rows) if not matches(row, sums) and (n < last or _key(row) in sums)]
        there = {_key(row) for row in rows}
        missing = [key for key in sums if key != HEADER and key not in there]
        if changed:
            found.append(f"{_lines([n + HEADER_LINES + 1 for n in changed])} not as the run wrote it")
        if missing:
            found.append(f"{_rows(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        return found


def matches(row: str, sums: dict[str, str]) -> bool:
    """Whether a row is what the run wrote."""
    return sums.get(_key(row)) == _crc(row)


def is_known(row: str, sums: dict[str, str]) -> bool:
    """Whether there is a checksum for a row of its step."""
    return _key(row) in sums


def _key(row: str) -> str:
    return row.partition(",")[0]


def _crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _lines(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"line {numbers[0]} is"
    named = ", ".join(map(str, numbers[:NAMED]))
    return f"lines {named}{f' and {len(numbers) - NAMED} more' if len(numbers) > NAMED else ''} are"


def _rows(steps: list[str]) -> str:
    if not steps:
        return "no row"
    if len(steps) == 1:
        return f"the row of step {steps[0]}"
    return f"{len(steps)} rows of steps {min(map(int, steps))} to {max(map(int, steps))}"
