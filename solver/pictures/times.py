"""Curves at several times in one panel: which times, and their colours."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST = 6


def chosen_times(count: int, most: int = MOST) -> list[int]:
    """Indices of at most `most` rows, evenly spread, the first and the last among them; of one row, the last."""
    if most == 1:
        return [count - 1]
    return sorted({round(i) for i in np.linspace(0, count - 1, min(most, count))})


def time_colours(count: int, dark: bool) -> list[Any]:
    """From early to late: a range of one map that is seen on its page throughout."""
    import matplotlib

    low, high = (0.25, 0.98) if dark else (0.92, 0.1)
    places = [high] if count == 1 else np.linspace(low, high, count)
    return [matplotlib.colormaps["viridis"](place) for place in places]


def times_legend(axis: Any) -> None:
    """Times in a legend of one or two columns, where it hides least."""
    handles, _ = axis.get_legend_handles_labels()
    if handles:
        axis.legend(loc="best", ncols=2 if len(handles) > 4 else 1, columnspacing=0.8)
