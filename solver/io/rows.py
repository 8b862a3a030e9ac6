"""Rows of a series file as text; imports nothing that takes long."""

from __future__ import annotations

from pathlib import Path


def read_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Names of the columns, and the entries of each row; a last row that is being written is left out."""
    text = path.read_text(encoding="utf-8")
    lines = text[: text.rfind("\n") + 1].splitlines()[1:]
    names = lines[0].split(",") if lines else []
    return names, [line.split(",") for line in lines[1:] if is_whole(line, len(names))]


def is_whole(line: str, columns: int) -> bool:
    """Whether a line has so many entries, all of them numbers."""
    entries = line.split(",")
    try:
        return len(entries) == columns and bool([float(entry) for entry in entries])
    except ValueError:
        return False
