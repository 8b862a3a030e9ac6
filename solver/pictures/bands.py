"""Bands of one standard deviation in time around means over windows of time."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.recorded import Recorded

ALPHA = 0.22


def draw_band(
    axis: Any, x: np.ndarray, recorded: Recorded, column: str, colour: Any, seen: Any = slice(None), index: Any = ()
) -> None:
    """Draw a band around the mean of the last window, if the file has a spread. On a logarithmic axis it is clipped.

    Args:
        axis: matplotlib axes in which the curve of the mean is drawn already.
        x: x values of the curve.
        recorded, column: the file and the column.
        colour: colour of the curve.
        seen: selects the points of the column that the curve shows.
        index: selects the curve from the axes of the column.
    """
    if column not in recorded.spread:
        return
    mean, width = recorded.values[column][-1][index][seen], recorded.spread[column][-1][index][seen]
    lower, upper = mean - width, mean + width
    if axis.get_yscale() == "log":
        bottom, top = axis.get_ylim()
        axis.fill_between(x, np.maximum(lower, bottom), np.maximum(upper, bottom), alpha=ALPHA, lw=0, color=colour)
        axis.set_ylim(bottom, max(top, 1.2 * float(np.nanmax(upper))))
    else:
        axis.fill_between(x, lower, upper, alpha=ALPHA, lw=0, color=colour)


def draw_windows(axis: Any, recorded: Recorded, column: str, colour: str, label: str) -> None:
    """Draw a number as a bar for each window, from its start to its end, with a band."""
    mean, width = recorded.values[column], recorded.spread[column]
    for i, (since, t) in enumerate(zip(recorded.since, recorded.t, strict=True)):
        axis.plot([since, t], [mean[i]] * 2, color=colour, lw=1.6, label="_" if i else label)
        axis.fill_between(
            [since, t], *([mean[i] + sign * width[i]] * 2 for sign in (-1, 1)), alpha=ALPHA, lw=0, color=colour
        )
