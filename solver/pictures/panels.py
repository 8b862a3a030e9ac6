"""Panels of a figure: the type of their functions, curves at several times, and bands of one standard deviation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from solver.pictures.recorded import Recorded
from solver.pictures.style import View

MakePanel = Callable[[Any, Any, View], None]  # figure, axes of the panel, view
MAX_TIMES = 6
ALPHA = 0.22


def chosen_times(count: int, most: int = MAX_TIMES) -> list[int]:
    """Indices of at most `most` rows, including the first and the last; only the last if `most` is 1.

    They are equally spaced where at least 70 % of `most` can be, and nearly so otherwise.
    """
    if most == 1:
        return [count - 1]
    if count <= most:
        return list(range(count))
    even = [n for n in range(most, max(2, int(0.7 * most)), -1) if (count - 1) % (n - 1) == 0]
    return sorted({round(i) for i in np.linspace(0, count - 1, even[0] if even else most)})


def time_colours(count: int, dark: bool) -> list[Any]:
    """Colours from early to late: the part of one colour map that is visible on the page."""
    import matplotlib

    low, high = (0.25, 0.98) if dark else (0.92, 0.1)
    places = [high] if count == 1 else np.linspace(low, high, count)
    return [matplotlib.colormaps["viridis"](place) for place in places]


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
        axis.set_ylim(bottom, max(top, 1.2 * float(np.nanmax(upper, initial=0))))
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
