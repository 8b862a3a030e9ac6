"""Published profiles: tables in files, drawn as marks over the profiles of a run."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solver.config import nearest

WALL_UNITS = "y+"  # name of the first column of a table in wall units
LOSS = "dissipation"
MARKS = ("o", "s", "^", "D", "v")  # one for each file
COMMENTS = ("#", "%")
GREY = "0.4"


@dataclass(frozen=True, eq=False)
class Published:
    """Profiles of a table, against the height.

    Args:
        label: name in legends.
        height: name of the heights: the run's direction, y or z, or `y+` for wall units.
        places: heights `(row,)`.
        columns: values `(row,)` by the name of the profile. NaN is a gap.
        source: name of the file in messages.
    """

    label: str
    height: str
    places: np.ndarray
    columns: Mapping[str, np.ndarray]
    source: str = ""

    @property
    def in_wall_units(self) -> bool:
        """True if heights and values are in wall units."""
        return self.height == WALL_UNITS


def read_published(path: Path) -> Published:
    """Read a table of columns that commas or spaces separate.

    The first line names the columns: the height, then profiles. Lines that begin with # or % and empty lines are left
    out. `nan`, or nothing between two commas, is a gap.

    Raises:
        ValueError: there is no such table; the message names the file, the line, and the column where one is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a file of text; a table with columns is needed") from None
    rows = list(_rows(text))
    number, names = rows[0] if rows else (1, [])
    _check_names(f"{path}, line {number}", names)
    if len(rows) == 1:
        raise ValueError(f"{path}: no rows below the names of the columns")
    table = np.array([_numbers(f"{path}, line {line}", names, cells) for line, cells in rows[1:]])
    columns = {name: table[:, i] for i, name in enumerate(names[1:], 1)}
    return Published(path.stem, names[0], table[:, 0], columns, str(path))


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line of the table."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith(COMMENTS)]
    comma = "," if lines and "," in lines[0][1] else None
    yield from ((number, [cell.strip() for cell in line.split(comma)]) for number, line in lines)


def _check_names(where: str, names: list[str]) -> None:
    if len(names) < 2 or any(_is_number(name) for name in names):
        raise ValueError(f"{where}: names of columns are needed, the height (y, z or {WALL_UNITS}) and then profiles")
    for name in names:
        if not name or names.count(name) > 1:
            raise ValueError(f"{where}, column {name!r}: each column needs a name of its own")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(where: str, names: list[str], cells: list[str]) -> list[float]:
    if len(cells) != len(names):
        raise ValueError(f"{where}: {len(cells)} columns; {len(names)} are needed, {', '.join(names)}")
    row = []
    for name, cell in zip(names, cells, strict=True):
        if cell and not _is_number(cell):
            raise ValueError(f"{where}, column {name}: {cell!r} is not a number")
        row.append(float(cell or "nan"))
        if np.isinf(row[-1]) or (name == names[0] and np.isnan(row[-1])):
            raise ValueError(f"{where}, column {name}: {cell or 'nothing'}; a finite number is needed")
    return row


def refuse_unknown(data: Iterable[Published], height: str, upper: float | None, known: set[str]) -> None:
    """Refuse heights and profiles that the run does not have.

    Args:
        data: the tables.
        height: name of the heights.
        upper: place of the upper wall; None in a periodic box and in wall units.
        known: names of the run's profiles.

    Raises:
        ValueError: the message names the file and the column.
    """
    for table in data:
        if table.height != height:
            raise ValueError(f"{table.source}, column {table.height}: the heights are called {height} or {WALL_UNITS}")
        if upper and not (table.places.min() >= 0 and table.places.max() <= upper * (1 + 1e-6)):
            given = f"{table.places.min():g} to {table.places.max():g}"
            raise ValueError(f"{table.source}, column {height}: {given}; the walls are at 0 and {upper:g}")
        for name in table.columns:
            if name not in known:
                raise ValueError(f"{table.source}, column {name}: not a profile of the run{nearest(name, known)}")


def draw_marks(
    axis: Any, data: Iterable[Published], colours: Mapping[str, Any], negative: str = "", *, upright: bool = False
) -> None:
    """Draw the values of tables as marks in the colours of the curves, with one entry of the legend for each table.

    Args:
        axis: panel with the curves.
        data: the tables. Their dissipation is drawn as a loss.
        colours: colours of the curves by the names of the profiles.
        negative: name of a profile whose negative is drawn.
        upright: True for heights along the vertical axis.
    """
    for mark, table in zip(itertools.cycle(MARKS), data, strict=False):
        options: dict[str, Any] = {"ms": 3, "mfc": "none", "mew": 0.7}
        names = [name for name in colours if name in table.columns]
        for name in names:
            values = -table.columns[name] if name == negative else table.columns[name]
            values = -np.abs(values) if name == LOSS else values
            pair = (values, table.places) if upright else (table.places, values)
            axis.plot(*pair, mark, color=colours[name], **options)
        if names:
            axis.plot([], [], mark, color=GREY, label=table.label, **options)
