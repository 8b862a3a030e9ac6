"""Rows of a series file as text; imports only what loads fast."""

from __future__ import annotations

from pathlib import Path

TIME = ("t", "step")  # what every row has besides its own columns


def read_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Names of the columns, and the entries of each row; an unfinished last row is left out."""
    text = path.read_text(encoding="utf-8")
    lines = text[: text.rfind("\n") + 1].splitlines()[1:]
    names = lines[0].split(",") if lines else []
    return names, [line.split(",") for line in lines[1:] if is_whole(line, len(names))]


def is_whole(line: str, columns: int) -> bool:
    """Whether a line has `columns` entries that are all numbers."""
    entries = line.split(",")
    try:
        return len(entries) == columns and bool([float(entry) for entry in entries])
    except ValueError:
        return False
