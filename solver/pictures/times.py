"""Curves at several times in one panel: which times, and their colours."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_TIMES = 6


def chosen_times(count: int, most: int = MAX_TIMES) -> list[int]:
    """Indices of at most `most` equally spaced rows, including the first and the last; only the last if `most` is 1."""
    if most == 1:
        return [count - 1]
    return sorted({round(i) for i in np.linspace(0, count - 1, min(most, count))})


def time_colours(count: int, dark: bool) -> list[Any]:
    """Colours from early to late: the part of one colour map that is visible on the page."""
    import matplotlib

    low, high = (0.25, 0.98) if dark else (0.92, 0.1)
    places = [high] if count == 1 else np.linspace(low, high, count)
    return [matplotlib.colormaps["viridis"](place) for place in places]


def times_legend(axis: Any) -> None:
    """Add a legend of the times in one or two columns, where it hides least."""
    handles, _ = axis.get_legend_handles_labels()
    if handles:
        axis.legend(loc="best", ncols=2 if len(handles) > 4 else 1, columnspacing=0.8)
