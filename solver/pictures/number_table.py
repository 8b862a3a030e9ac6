"""A table of the numbers of one window of time, for which a curve or a bar shows less than the number itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from solver.pictures.against_time import time_panels
from solver.pictures.panels import MakePanel
from solver.pictures.recorded import Recorded
from solver.pictures.style import in_words, unit
from solver.pictures.view import View

ROWS = 14  # of a panel
EM = 0.62  # mean width of a letter in sizes of the font, with room to spare
LARGEST_FONT = 7.0

Line = tuple[str, str, str]  # name, mean and deviation, units


def number_lines(recorded: Recorded) -> list[Line]:
    """Name, mean ± standard deviation in time, and units of each number of a file with one window."""
    columns = [column for panel in time_panels(recorded) for column in panel.columns.values()]
    return [(in_words(name), _with_deviation(recorded, name), unit(recorded.units(name))) for name in columns]


def number_tables(recorded: Recorded) -> Iterator[MakePanel]:
    """Panels with these lines, as many as are needed."""
    lines = number_lines(recorded)
    for first in range(0, len(lines), ROWS):
        yield _panel(recorded.times[0], lines[first : first + ROWS])


def _with_deviation(recorded: Recorded, column: str) -> str:
    mean, deviation = float(recorded.values[column][0]), float(recorded.spread[column][0])
    return f"{mean:.4g} ± {deviation:.2g}".replace("-", "−")


def _panel(title: str, lines: Sequence[Line]) -> MakePanel:
    def make(figure: Any, axis: Any, view: View) -> None:
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
        axis.set_title(title)
        letters = [max(len(line[i]) for line in lines) + 2 for i in range(3)]
        width = figure.get_figwidth() / axis.get_subplotspec().get_gridspec().ncols - 0.2
        size = min(LARGEST_FONT, 72 * width / (EM * sum(letters)))
        for row, line in enumerate(lines):
            for i, text in enumerate(line):
                place = (sum(letters[:i]) * EM * size / (72 * width), 1 - (row + 0.5) / ROWS)
                axis.text(*place, text, transform=axis.transAxes, fontsize=size, va="center")

    return make
