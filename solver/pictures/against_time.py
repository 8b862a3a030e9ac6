"""Which columns of a file of records are curves against time, and which of them share a panel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from solver.pictures.recorded import Recorded
from solver.pictures.style import in_words

LISTED = ("point", "mode")  # axes that number places and modes: a curve for each
MOST_LISTED = 6
SHAPES = ("skewness", "flatness")  # of a density; what else is recorded beside one (mean, std, outside) is left out
BESIDE = (*SHAPES, "mean", "std", "outside")
PLACE = re.compile(r"(.+_(?:max|min))_[xyz]")
EXTREME = re.compile(r"(.+)_(max|min)")
ROUND_OFF = 1e-12


@dataclass
class TimePanel:
    """Curves against time that share a panel.

    Args:
        title: of the panel.
        units: of the values.
        curves: values `(t,)` by label.
        columns: the column of each curve, by label; none for one of the curves of a listed axis.
    """

    title: str
    units: str
    curves: dict[str, np.ndarray] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)


def time_panels(recorded: Recorded) -> list[TimePanel]:
    """Panels of what changes: lists first, then numbers, at the end the places of extremes.

    The skewness of all densities share one panel, as their flatness do; a maximum and its minimum; the coordinates of a
    place.
    """
    listed = [name for name in recorded.values if recorded.axes_of(name) in [(axis,) for axis in LISTED]]
    panels = [_listed(recorded, name) for name in listed if not recorded.spread and len(recorded.t) > 1]
    shared: dict[str, TimePanel] = {}
    for name in sorted(_scalars(recorded), key=lambda name: bool(PLACE.fullmatch(name))):
        title, label = _place_in(recorded, name)
        panel = shared.setdefault(title, TimePanel(title, recorded.units(name)))
        panel.curves[label], panel.columns[label] = recorded.values[name], name
    return [*panels, *shared.values()]


def _scalars(recorded: Recorded) -> Iterator[str]:
    for name, values in recorded.values.items():
        stem, _, ending = name.rpartition("_")
        left_out = ending in BESIDE and ending not in SHAPES and stem in recorded.values
        if recorded.axes_of(name) or left_out or not np.isfinite(values).any():
            continue
        if _changes(np.append(values, values + recorded.spread.get(name, 0.0))):
            yield name


def _changes(values: np.ndarray) -> bool:
    seen = values[np.isfinite(values)]
    return bool(len(seen) > 1 and np.ptp(seen) > ROUND_OFF * np.abs(seen).max())


def _place_in(recorded: Recorded, name: str) -> tuple[str, str]:
    """Title of the panel that a number belongs to, and its label there."""
    stem, _, ending = name.rpartition("_")
    if ending in SHAPES and stem in recorded.values:
        return ending, in_words(stem)
    if found := PLACE.fullmatch(name):
        return f"place of {in_words(found[1])}", name[-1]
    if found := EXTREME.fullmatch(name):
        return in_words(found[1]), found[2]
    return in_words(name), in_words(name)


def _listed(recorded: Recorded, name: str) -> TimePanel:
    labels = entries(recorded, recorded.axes_of(name)[0])
    curves = {label: recorded.values[name][:, i] for i, label in enumerate(labels[:MOST_LISTED])}
    return TimePanel(in_words(name), recorded.units(name), curves)


def entries(recorded: Recorded, axis: str) -> list[str]:
    """What the entries of a listed axis are called: the modes or places that its long name tells, or their numbers."""
    told = re.findall(r"\(.*?\)|\[.*?\]", recorded.layout.axes[axis].long_name)
    values = recorded.axis(axis)
    return told if len(told) == len(values) else [f"{axis} {n:g}" for n in values]
