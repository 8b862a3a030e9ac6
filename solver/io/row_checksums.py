"""Checksums of the rows of series.csv, in a hidden file next to it, since other programs read the table itself.

Each row has a line `STEP CRC`, and the two lines before the rows have `header CRC`. A row is written before its
checksum, so a kill may leave rows at the end without one. Rows keep the checksums with which they were written: damage
is reported for ever.
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
MAX_NAMED = 3  # rows that a message names


@dataclass(frozen=True)
class RowChecksums:
    """The checksums of a table's rows.

    Args:
        table: path of the table.
    """

    table: Path

    @property
    def path(self) -> Path:
        """The file that holds them."""
        return self.table.with_name(f".{self.table.name}.sums")

    def begin(self, header: str) -> None:
        """Start the file, for a table without rows."""
        write_text(self.path, f"{HEADER} {crc(header)}\n")

    def append(self, row: str) -> None:
        """Add a row's checksum; it is on the disk after the next `files.sync` of `path`."""
        if self.path.exists():
            append_line(self.path, f"{_key(row)} {crc(row)}", to_disk=False)

    def drop_after(self, step: int) -> None:
        """Drop the checksums of rows after a step."""
        if self.path.exists():
            kept = {key: crc for key, crc in self.read().items() if key == HEADER or int(key) <= step}
            write_text(self.path, "".join(f"{key} {crc}\n" for key, crc in kept.items()))

    def read(self) -> dict[str, str]:
        """Checksum of each row by its step (as text) and of the header; empty if no checksums were kept."""
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return {}
        return {match[1]: match[2] for line in lines if (match := LINE.fullmatch(line))}

    def problems(self) -> list[str]:
        """Problems of the table, one line each; empty if no problem is found, or if no checksums were kept."""
        sums = self.read()  # read first, since a running run may add a row now
        if not sums:
            return []
        if not self.table.exists():
            return [f"it is missing, and with it {_rows([key for key in sums if key != HEADER])}"]
        lines = self.table.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        head, rows = "".join(lines[:HEADER_LINES]), [line.rstrip("\n") for line in lines[HEADER_LINES:]]
        problems = [] if sums.get(HEADER) == crc(head) else ["its units or the names of its columns were changed"]
        last = max((n for n, row in enumerate(rows) if matches(row, sums)), default=-1)
        changed = [n for n, row in enumerate(rows) if not matches(row, sums) and (n < last or _key(row) in sums)]
        present = {_key(row) for row in rows}
        missing = [key for key in sums if key != HEADER and key not in present]
        if changed:
            problems.append(f"{_lines([n + HEADER_LINES + 1 for n in changed])} not as the run wrote it")
        if missing:
            problems.append(f"{_rows(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        return problems


def matches(row: str, sums: dict[str, str]) -> bool:
    """True if a row matches its checksum."""
    return sums.get(_key(row)) == crc(row)


def is_known(row: str, sums: dict[str, str]) -> bool:
    """True if there is a checksum for the step of a row."""
    return _key(row) in sums


def _key(row: str) -> str:
    return row.partition(",")[0]


def crc(text: str) -> str:
    """Checksum of a line: eight hexadecimal digits."""
    return f"{zlib.crc32(text.encode()):08x}"


def _lines(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"line {numbers[0]} is"
    named = ", ".join(map(str, numbers[:MAX_NAMED]))
    return f"lines {named}{f' and {len(numbers) - MAX_NAMED} more' if len(numbers) > MAX_NAMED else ''} are"


def _rows(steps: list[str]) -> str:
    if not steps:
        return "no row"
    if len(steps) == 1:
        return f"the row of step {steps[0]}"
    return f"{len(steps)} rows of steps {min(map(int, steps))} to {max(map(int, steps))}"
