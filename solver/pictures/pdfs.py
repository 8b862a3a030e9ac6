"""Probability densities of deviations, with the Gaussian of the same variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.bands import draw_band
from solver.pictures.panels import MakePanel
from solver.pictures.recorded import Recorded
from solver.pictures.style import INK, in_words, legend_below
from solver.pictures.ticks import few_ticks
from solver.pictures.times import chosen_times, time_colours
from solver.pictures.view import View

LABELS = {"deviation": "deviation / rms", "log10_of_mean": "log₁₀(value / mean)"}


def pdf_panel(recorded: Recorded, column: str) -> MakePanel:
    """A panel with a logarithmic density at a few times; over deviations in units of their r.m.s. with a Gaussian."""
    name = recorded.axes_of(column)[0]
    x, values = recorded.axis(name), recorded.values[column]

    def make(figure: Any, axis: Any, view: View) -> None:
        rows = chosen_times(len(values), 4)
        for i, colour in zip(rows, time_colours(len(rows), view.dark), strict=True):
            seen = values[i] > 0
            width = 1.6 if i == rows[-1] else 0.9
            axis.semilogy(x[seen], values[i][seen], color=colour, lw=width, label=recorded.times[i])
        smallest = values[values > 0].min(initial=1.0)
        if name == "deviation":
            gaussian = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
            axis.semilogy(x, gaussian, "--", color=INK[view.dark], lw=0.9, label="Gaussian")
        axis.set(title=in_words(column), xlabel=LABELS.get(name, in_words(name)), ylabel="probability density")
        reached = x[(values > 0).any(axis=0)]
        room = 0.04 * np.ptp(reached)
        axis.set_xlim(reached.min() - room, reached.max() + room)
        axis.set_ylim(0.3 * max(smallest, 1e-9), 3 * values.max(initial=1e-3))
        seen = values[-1] > 0
        draw_band(axis, x[seen], recorded, column, time_colours(len(rows), view.dark)[-1], seen)
        axis.grid(True)
        few_ticks(axis)
        legend_below(axis)

    return make
