"""Structure functions of several orders against the distance, with the slopes p/3 of Kolmogorov's theory."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.bands import draw_band
from solver.pictures.panels import MakePanel
from solver.pictures.recorded import Recorded
from solver.pictures.style import in_words
from solver.pictures.ticks import few_ticks
from solver.pictures.view import View

ROUND_OFF = 1e-12  # over the largest value; odd orders vanish at half the box by symmetry


def structure_panel(recorded: Recorded, column: str) -> MakePanel:
    """A log-log panel at the last time, with a curve for each order."""
    names = recorded.axes_of(column)
    other = next(name for name in names if name != "order")
    orders, r = recorded.axis("order"), recorded.axis(other)
    values = recorded.values[column][-1]
    values = values if names[0] == "order" else values.T

    def make(figure: Any, axis: Any, view: View) -> None:
        drawn = []
        for number, (order, curve) in enumerate(zip(orders, np.abs(values), strict=True)):
            seen = (r > 0) & (curve > ROUND_OFF * curve.max())
            if not seen.any():
                continue
            colour = f"C{number}"
            axis.loglog(r[seen], curve[seen], color=colour, label=f"p = {order:g}")
            drawn.append((number, colour, seen))
            middle = np.flatnonzero(seen)[seen.sum() // 2]
            slope = curve[middle] * (r[seen] / r[middle]) ** (order / 3)
            axis.loglog(r[seen], slope, ":", lw=0.7, color=colour)
        for number, colour, seen in drawn:
            index = number if names[0] == "order" else (slice(None), number)
            draw_band(axis, r[seen], recorded, column, colour, seen, index)
        title = f"{in_words(column)}, {recorded.times[-1]}"
        axis.set(title=title, xlabel=recorded.label(other))
        axis.grid(True)
        few_ticks(axis)
        axis.legend(loc="best", title="dotted: $r^{p/3}$", title_fontsize=6)

    return make
