"""Ticks that do not overlap: few, and in multiples of π if the length of the box is one."""

from __future__ import annotations

from typing import Any

import numpy as np


def few_ticks(axis: Any, most: int = 5) -> None:
    """Set at most `most` intervals on linear axes, and whole decades on logarithmic ones."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    for side in (axis.xaxis, axis.yaxis):
        if side.get_scale() == "linear":
            side.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
        elif side.get_scale() == "log" and _decades(side) >= 1:
            side.set_major_locator(LogLocator(numticks=most + 1))
            side.set_minor_formatter(NullFormatter())
        elif side.get_scale() == "log":
            _plain_numbers(side, most)


def _decades(side: Any) -> float:
    low, high = side.get_view_interval()
    return float(np.floor(np.log10(high)) - np.ceil(np.log10(low)))


def _plain_numbers(side: Any, most: int) -> None:
    """Set numbers within the decades of a logarithmic axis of about one decade, as many as have room."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = side.get_view_interval()
    sets = ((1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))
    decade = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    inside = [sum(low <= d * s <= high for d in decade for s in some) for some in sets]
    chosen = next((some for some, n in zip(sets, inside, strict=True) if n <= most), (1,))
    side.set_major_locator(LogLocator(subs=chosen, numticks=12))
    side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
    side.set_minor_formatter(NullFormatter())


def box_ticks(side: Any, length: float, most: int = 4) -> None:
    """Set at most `most` intervals on a side of the box, in multiples of π if its length is a multiple of 2π."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

    turns = length / (2 * np.pi)
    if turns > 0.99 and abs(turns - round(turns)) < 1e-6:
        apart = np.pi / 2 * 2 ** int(np.ceil(np.log2(round(turns) * 4 / most)))
        side.set_major_locator(MultipleLocator(apart))
        side.set_major_formatter(FuncFormatter(lambda value, _: _of_pi(value)))
    else:
        side.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))


def _of_pi(value: float) -> str:
    halves = round(2 * value / np.pi)
    if halves == 0:
        return "0"
    count = halves // 2 if halves % 2 == 0 else halves
    times = {1: "", -1: "−"}.get(count, str(count).replace("-", "−"))
    return f"{times}π" if halves % 2 == 0 else f"{times}π/2"
