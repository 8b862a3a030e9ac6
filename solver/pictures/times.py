"""Curves at several times in one panel: which times, and their colours."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_TIMES = 6


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
