"""Averages over particles against the time since a window began: displacement, separation of pairs, velocity."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel, chosen_times, time_colours
from solver.pictures.recorded import Recorded
from solver.pictures.style import in_words, legend_below, unit
from solver.pictures.ticks import few_ticks
from solver.pictures.view import View

LOGARITHMIC = ("mean_square_displacement", "velocity_structure_function", "mean_square_separation", "pair_dispersion")
DIRECTIONS = ("sample", "direction")


def lag_panels(recorded: Recorded) -> list[MakePanel]:
    """Panels of statistics/particles-NAME.h5: sums over the directions, a curve for a window; none for other files."""
    if "lag" not in recorded.values or not recorded.since.size:
        return []
    return [_panel(recorded, name) for name in recorded.values if recorded.axes_of(name) == DIRECTIONS]


def _panel(recorded: Recorded, column: str) -> MakePanel:
    def make(figure: Any, axis: Any, view: View) -> None:
        rows = chosen_times(len(recorded.t))
        for i, colour in zip(rows, time_colours(len(rows), view.dark), strict=True):
            lag, values = recorded.values["lag"][i], recorded.values[column][i].sum(axis=1)
            seen = np.isfinite(lag) & ((lag > 0) if column in LOGARITHMIC else True)
            axis.plot(lag[seen], values[seen], color=colour, lw=1.6 if i == rows[-1] else 0.9, label=recorded.times[i])
        if column in LOGARITHMIC and any(np.min(line.get_ydata(), initial=1.0) > 0 for line in axis.lines):
            axis.set(xscale="log", yscale="log")
        units = unit(recorded.units(column))
        axis.set(title=in_words(column), xlabel="time since the window began", ylabel=units)
        if axis.get_xscale() != "log":
            few_ticks(axis)
        axis.grid(True)
        legend_below(axis)

    return make
