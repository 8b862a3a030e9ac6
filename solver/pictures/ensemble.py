"""Scalars of an ensemble against time: mean and band of the members of each combination of swept values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solver.pictures.style import PAGE, grid_of, hide_rest, in_words, legend_below_all, new_figure, style, unit
from solver.pictures.ticks import few_ticks
from solver.pictures.view import View

ALPHA = 0.22
MOST_LABELLED = 8  # curves of a legend

Band = tuple[np.ndarray, np.ndarray, np.ndarray]  # times, mean, standard deviation


def ensemble_figure(bands: Mapping[str, Mapping[str, Band]], units: Mapping[str, str], view: View) -> Any | None:
    """A panel for each quantity, with a curve and a band of one standard deviation for each group of members.

    Args:
        bands: by quantity and group.
        units: by quantity.
        view: the colours.

    Returns:
        The figure; None without a quantity.
    """
    if not bands:
        return None
    with style(view):
        down, across = grid_of(len(bands))
        figure, panels = new_figure(down, across, (max(PAGE / 3, PAGE / max(across, 2)), 1.9), view)
        for axis, (name, groups) in zip(panels, bands.items(), strict=False):
            for label, (t, mean, deviation) in groups.items():
                [line] = axis.plot(t, mean, label=label)
                if np.any(deviation > 0):
                    colour = line.get_color()
                    axis.fill_between(t, mean - deviation, mean + deviation, color=colour, alpha=ALPHA, linewidth=0)
            axis.set(title=in_words(name), xlabel="t", ylabel=unit(units.get(name, "")))
            few_ticks(axis)
            axis.grid(True)
        if len(next(iter(bands.values()))) <= MOST_LABELLED:
            legend_below_all(figure, panels[0])
        hide_rest(panels, len(bands))
    return figure
