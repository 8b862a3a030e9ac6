"""Ticks that do not overlap: few, and in multiples of π if the length of the box is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.interpolation import Side

FEW_DECADES = 3  # an axis of fewer has numbers within its decades
PARTS_OF_DECADES = ((1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))


def few_ticks(axis: Any, most: int = 5) -> None:
    """Set at most `most` intervals on linear axes. Logarithmic ones get decades, or numbers within few decades."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    for side in (axis.xaxis, axis.yaxis):
        if side.get_scale() == "linear":
            side.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
        elif side.get_scale() == "log" and _decades(side) >= FEW_DECADES:
            side.set_major_locator(LogLocator(numticks=most + 1))
            side.set_minor_formatter(NullFormatter())
        elif side.get_scale() == "log":
            _numbers_within_decades(side, most)


def _decades(side: Any) -> float:
    low, high = side.get_view_interval()
    return float(np.log10(high / low))


def _numbers_within_decades(side: Any, most: int) -> None:
    """Set three numbers at least, and at most as many as have room, on a logarithmic axis of few decades."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter

    low, high = side.get_view_interval()
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    sets = [[d * part for d in decades for part in parts if low <= d * part <= high] for parts in PARTS_OF_DECADES]
    chosen = next((ticks for ticks in sets if 3 <= len(ticks) <= most), None)
    if chosen is None:
        chosen = [tick for tick in MaxNLocator(most).tick_values(low, high) if low <= tick <= high]
    side.set_major_locator(FixedLocator(chosen))
    side.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
    side.set_minor_formatter(NullFormatter())


def _number(value: float) -> str:
    """A number in digits, or as a multiple of a power of ten if it is very small or large."""
    if 1e-3 <= value < 1e4:
        return f"{value:.6g}"
    digits, _, exponent = f"{value:.6e}".partition("e")
    times = "" if float(digits) == 1 else rf"{float(digits):.6g} \times "
    return f"${times}10^{{{int(exponent)}}}$"


def box_ticks(axis: Any, side: Side, most: int = 4) -> None:
    """Set at most `most` intervals on a side of the box with a tick at its end, in multiples of π if its length is one.

    Args:
        axis: one axis of the panel.
        side: a side of the box; a part of one gets plain numbers.
        most: number of intervals.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, MultipleLocator

    whole = side.periodic and side.points[0] == 0
    halves = 2 * side.length / np.pi
    if whole and halves > 1.99 and abs(halves - round(halves)) < 1e-6:
        apart = np.pi / 2 * next(n for n in range(1, round(halves) + 1) if _divides(n, round(halves), most))
        axis.set_major_locator(MultipleLocator(apart))
        axis.set_major_formatter(FuncFormatter(lambda value, _: _of_pi(value)))
    elif whole:
        axis.set_major_locator(FixedLocator(_with_end(side.length, most)))
        axis.set_major_formatter(_numbers_from_zero())
    else:
        axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))


def _numbers_from_zero() -> Any:
    """Numbers of an axis, of which 0 has one digit: in the corner of two axes there is room for no more."""
    from matplotlib.ticker import ScalarFormatter

    class Numbers(ScalarFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return "0" if x == 0 else str(super().__call__(x, pos))

    return Numbers()


def _divides(n: int, count: int, most: int) -> bool:
    return count % n == 0 and count // n <= most


def _with_end(length: float, most: int) -> list[float]:
    """Ticks from 0 to the length: equal parts if these are short numbers, else round numbers and the length."""
    from matplotlib.ticker import MaxNLocator

    for digits in (1, 2):
        for parts in (most, most + 1, *range(most - 1, 1, -1)):
            each = length / parts
            if abs(each - float(f"{each:.{digits}g}")) < 1e-9 * length:
                return [each * i for i in range(parts + 1)]
    nice = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(0, length)
    return [tick for tick in nice if 0 <= tick < length - 0.6 * (nice[1] - nice[0])] + [length]


def _of_pi(value: float) -> str:
    halves = round(2 * value / np.pi)
    if halves == 0:
        return "0"
    count = halves // 2 if halves % 2 == 0 else halves
    times = {1: "", -1: "−"}.get(count, str(count).replace("-", "−"))
    return f"{times}π" if halves % 2 == 0 else f"{times}π/2"
