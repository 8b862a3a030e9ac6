"""Columns of a file of records as curves against time, or, for one window of time, as a table of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel
from solver.pictures.recorded import Recorded
from solver.pictures.rounding import ROUND_OFF, rounding_alone
from solver.pictures.style import View, in_words, unit

LISTED = ("point", "mode")  # axes that number places and modes; each entry has a curve
MAX_LISTED = 6
SHAPES = ("skewness", "flatness")  # numbers of a density that are drawn; its other numbers are left out
OF_DENSITIES = (*SHAPES, "mean", "std", "outside")
PLACE = re.compile(r"(.+_(?:max|min))_[xyz]")
EXTREME = re.compile(r"(.+)_(max|min)")
ROWS = 14  # of a panel
EM = 0.62  # mean width of a letter in sizes of the font, with room to spare
LARGEST_FONT = 7.0

Line = tuple[str, str, str]  # name, mean and deviation, units


@dataclass
class TimePanel:
    """Curves against time that share a panel.

    Args:
        title: title of the panel.
        units: units of the values.
        curves: values `(t,)` by label.
        columns: the column of each curve, by label; curves of a listed axis have no column.
    """

    title: str
    units: str
    curves: dict[str, np.ndarray] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)

    @property
    def of_places(self) -> bool:
        """True if the curves are coordinates of a place, which jumps: they are drawn as points."""
        return any(PLACE.fullmatch(column) for column in self.columns.values())


def time_panels(recorded: Recorded) -> list[TimePanel]:
    """Panels of columns that change: first those with a listed axis, then numbers, and last the places of extremes.

    These share a panel: skewness of all densities; flatness of all densities; a maximum and its minimum; the
    coordinates of a place.
    """
    listed = [name for name in recorded.values if recorded.axes_of(name) in [(axis,) for axis in LISTED]]
    panels = [_listed(recorded, name) for name in listed if not recorded.spread and len(recorded.t) > 1]
    shared: dict[str, TimePanel] = {}
    for name in sorted(_scalars(recorded), key=lambda name: bool(PLACE.fullmatch(name))):
        title, label = _title_and_label(recorded, name)
        panel = shared.setdefault(title, TimePanel(title, recorded.units(name)))
        panel.curves[label], panel.columns[label] = recorded.values[name], name
    return [*panels, *shared.values()]


def _scalars(recorded: Recorded) -> Iterator[str]:
    numbers = {name: values for name, values in recorded.values.items() if not recorded.axes_of(name)}
    noise = rounding_alone(numbers, {name: recorded.units(name) for name in numbers})
    for name, values in numbers.items():
        stem, _, ending = name.rpartition("_")
        left_out = ending in OF_DENSITIES and ending not in SHAPES and stem in recorded.values
        if name in noise or left_out or not np.isfinite(values).any():
            continue
        if _changes(np.append(values, values + recorded.spread.get(name, 0.0))):
            yield name


def _changes(values: np.ndarray) -> bool:
    seen = values[np.isfinite(values)]
    return bool(len(seen) > 1 and np.ptp(seen) > ROUND_OFF * np.abs(seen).max())


def _title_and_label(recorded: Recorded, name: str) -> tuple[str, str]:
    """Title of the panel of a number, and its label in the panel."""
    stem, _, ending = name.rpartition("_")
    if ending in SHAPES and stem in recorded.values:
        return ending, in_words(stem)
    if match := PLACE.fullmatch(name):
        return f"place of {in_words(match[1])}", name[-1]
    if match := EXTREME.fullmatch(name):
        return in_words(match[1]), match[2]
    return in_words(name), in_words(name)


def _listed(recorded: Recorded, name: str) -> TimePanel:
    labels = entries(recorded, recorded.axes_of(name)[0])
    curves = {label: recorded.values[name][:, i] for i, label in enumerate(labels[:MAX_LISTED])}
    return TimePanel(in_words(name), recorded.units(name), curves)


def entries(recorded: Recorded, axis: str) -> list[str]:
    """Labels of the entries of a listed axis: modes or places from the axis' long name, or else their numbers."""
    labels = re.findall(r"\(.*?\)|\[.*?\]", recorded.layout.axes[axis].long_name)
    values = recorded.axis(axis)
    return labels if len(labels) == len(values) else [f"{axis} {n:g}" for n in values]


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
