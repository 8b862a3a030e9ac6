"""Part of a grid that an output writes: a plane, a line, a point or a box.

In a run file: `"z = 0.5"`, `"y = 0, z = 1"`, `"x = 0:1, y = 2:3"`, `"z = 0.5 pi"`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solver.config import position
from solver.grid import Grid

AXES = "xyz"
PART = re.compile(r"\s*([a-z])\s*=\s*([^:]+?)\s*(?::\s*([^:]+?))?\s*")


@dataclass(frozen=True)
class Subgrid:
    """A box of grid points. An axis with one point may be dropped, so that a plane has two axes.

    Args:
        start: the first point on each axis.
        stop: the point after the last one on each axis.
        dropped: for each axis, True if it is dropped; it then has one point.
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]
    dropped: tuple[bool, ...]

    @classmethod
    def whole(cls, points: Sequence[int]) -> Subgrid:
        """All of a grid with `points` points per axis."""
        return cls((0,) * len(points), tuple(points), (False,) * len(points))

    @classmethod
    def of(cls, text: str, grid: Grid) -> Subgrid:
        """Parse words such as `x = 0.5`: the point nearest to a position [length] in 0 ≤ x < L; `a:b` means a ≤ x < b.

        Positions may be multiples of pi, as the lengths of the box: `x = 0.5 pi`.

        Raises:
            ValueError: an unknown axis, or one that is named twice; a number outside the box; a range without points.
        """
        start, stop = [0] * grid.dimensions, list(grid.physical_shape)
        dropped = [False] * grid.dimensions
        seen: set[int] = set()
        for part in text.split(","):
            axis, first, last = _read(part, text, grid)
            if axis in seen:
                raise ValueError(f"{text!r}: {AXES[axis]} is there twice")
            seen.add(axis)
            start[axis], stop[axis] = _points(axis, first, last, text, grid)
            dropped[axis] = last is None
        return cls(tuple(start), tuple(stop), tuple(dropped))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of points on each axis that is not dropped."""
        return tuple(b - a for a, b, dropped in zip(self.start, self.stop, self.dropped, strict=True) if not dropped)

    def label(self, points: Sequence[int]) -> str:
        """A name for files: `z12`, `y0_z5`, `x3-9`; empty if the subgrid is all of a grid with `points` points."""
        words = []
        for axis, (a, b, dropped) in enumerate(zip(self.start, self.stop, self.dropped, strict=True)):
            if dropped:
                words.append(f"{AXES[axis]}{a}")
            elif (a, b) != (0, points[axis]):
                words.append(f"{AXES[axis]}{a}-{b - 1}")
        return "_".join(words)

    def overlap(self, low: Sequence[int], high: Sequence[int]) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
        """Intersect with a block of points low ≤ i < high: slices of the block, and slices of an array of `self.shape`.

        None if they do not intersect.
        """
        first = [max(a, s) for a, s in zip(low, self.start, strict=True)]
        last = [min(b, s) for b, s in zip(high, self.stop, strict=True)]
        if any(a >= b for a, b in zip(first, last, strict=True)):
            return None
        here = tuple(slice(a - l, b - l) for a, b, l in zip(first, last, low, strict=True))
        there = tuple(
            slice(a - s, b - s)
            for a, b, s, dropped in zip(first, last, self.start, self.dropped, strict=True)
            if not dropped
        )
        return here, there


def _read(part: str, text: str, grid: Grid) -> tuple[int, float, float | None]:
    """Axis, first and last position of one word such as `x = 0:1`."""
    match = PART.fullmatch(part)
    axes = AXES[: grid.dimensions]
    if match is None or match[1] not in axes:
        raise ValueError(f"{text!r}: words such as 'z = 0.5' or 'x = 0:1' with the axes {', '.join(axes)} are needed")
    try:
        return axes.index(match[1]), position(match[2]), None if match[3] is None else position(match[3])
    except ValueError:
        raise ValueError(
            f"{text!r}: {part.strip()!r} has no number [length] behind '=', and no multiple of pi such as '0.5 pi'"
        ) from None


def _points(axis: int, first: float, last: float | None, text: str, grid: Grid) -> tuple[int, int]:
    spacing, places = grid.spacing[axis], np.asarray(grid.coordinates()[axis], float).ravel()
    length = spacing * len(places)
    for value in (first, last):
        if value is not None and not 0 <= value <= length:
            raise ValueError(f"{text!r}: {AXES[axis]} = {value:g} lies outside 0 ≤ {AXES[axis]} < {length:g}")
    if last is None:
        apart = np.abs(places - first)
        at = int(np.argmin(np.minimum(apart, length - apart) if grid.periodic[axis] else apart))
        return at, at + 1
    start, stop = (int(np.searchsorted(places, value - 1e-9 * spacing)) for value in (first, last))
    if start >= stop:
        raise ValueError(
            f"{text!r}: no point lies in {first:g} ≤ {AXES[axis]} < {last:g}; they are {spacing:.3g} apart"
        )
    return start, stop
