"""Structure functions of several orders against the distance, with the slopes p/3 of Kolmogorov's theory."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel, draw_band
from solver.pictures.recorded import Recorded
from solver.pictures.style import in_words, legend_below
from solver.pictures.ticks import few_ticks
from solver.pictures.view import View

NEAR = 0.15  # of a slope: how far that of a curve may be off
LEAST_RANGE = 2.0  # ratio of the ends of a range
GUIDE = 1.25  # height of a guide over its curve
ROUND_OFF = 1e-12  # over the largest value; odd orders vanish at half the box by symmetry


def structure_panel(recorded: Recorded, column: str) -> MakePanel:
    """A log-log panel of sizes at the last time, with a curve for each order, dashed where it is negative.

    A line of slope p/3 is above a curve where it has about this slope while r at least doubles.
    """
    names = recorded.axes_of(column)
    other = next(name for name in names if name != "order")
    orders, r = recorded.axis("order"), recorded.axis(other)
    values = recorded.values[column][-1]
    values = values if names[0] == "order" else values.T

    def make(figure: Any, axis: Any, view: View) -> None:
        drawn, guided = [], False
        for number, (order, signed) in enumerate(zip(orders, values, strict=True)):
            curve = np.abs(signed)
            seen = (r > 0) & (curve > ROUND_OFF * curve.max())
            if not seen.any():
                continue
            colour = f"C{number}"
            negative = seen & (signed < 0)
            for shown, dashes, word in ((seen & ~negative, "-", ""), (negative, "--", ", negative")):
                if shown.any():
                    label = f"p = {order:g}{word}"
                    axis.loglog(r, np.where(shown, curve, np.nan), dashes, marker=".", ms=3, color=colour, label=label)
            drawn.append((number, colour, seen))
            along = range_of_slope(r, np.where(seen, curve, np.nan), order / 3)
            if along is not None:
                middle = (along.start + along.stop) // 2
                slope = GUIDE * curve[middle] * (r[along] / r[middle]) ** (order / 3)
                axis.loglog(r[along], slope, ":", lw=1.0, color=colour)
                guided = True
        for number, colour, seen in drawn:
            index = number if names[0] == "order" else (slice(None), number)
            draw_band(axis, r[seen], recorded, column, colour, seen, index)
        title = f"{in_words(column)}, {recorded.times[-1]}"
        axis.set(title=title, xlabel=recorded.label(other), ylabel="$|S_p|$")
        axis.grid(True)
        few_ticks(axis)
        legend_below(axis, title="dotted: $r^{p/3}$" if guided else None, title_fontsize=6)

    return make


def range_of_slope(r: np.ndarray, curve: np.ndarray, slope: float) -> slice | None:
    """The longest range in which a curve has nearly this slope; None if it is of two points, or r does not double."""
    near: np.ndarray = np.zeros(len(r) + 1, bool)
    inside = np.flatnonzero((r[:-1] > 0) & np.isfinite(curve[:-1]) & np.isfinite(curve[1:]))
    local = np.log(curve[inside + 1] / curve[inside]) / np.log(r[inside + 1] / r[inside])
    near[inside + 1] = np.abs(local - slope) < NEAR * slope
    starts, ends = (np.flatnonzero(near[1:] & ~near[:-1]), np.flatnonzero(near[:-1] & ~near[1:]))
    if not len(starts):
        return None
    wide = [r[end] / r[start] for start, end in zip(starts, ends, strict=True)]
    best = int(np.argmax(wide))
    is_range = wide[best] > LEAST_RANGE and ends[best] - starts[best] > 1
    return slice(int(starts[best]), int(ends[best]) + 1) if is_range else None
