"""Values between the points of a periodic box, from their Fourier series, for pictures that are not blocky."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

ENOUGH = 400  # points of the longer side that need no finer ones
TARGET = 512  # finer points of the longer side, at least
ROUGH = 1e-3  # part of the variance in the last quarter of the modes of an axis above which a series would overshoot


class Side(NamedTuple):
    """An axis of a plane.

    Args:
        name: name of the axis.
        points: coordinates [length], equally spaced unless two walls bound the axis.
        periodic: True if they are all points of a side of the box.
    """

    name: str
    points: np.ndarray
    periodic: bool = True

    @property
    def spacing(self) -> float:
        """Distance of two points, its mean between walls; 1 if there is only one point."""
        return float(self.points[-1] - self.points[0]) / (len(self.points) - 1) if len(self.points) > 1 else 1.0

    @property
    def is_even(self) -> bool:
        """True if the points are equally spaced."""
        return len(self.points) < 3 or bool(np.ptp(np.diff(self.points)) < 1e-3 * self.spacing)

    @property
    def length(self) -> float:
        """Length of the box, or of the cells of a part of it."""
        return self.spacing * len(self.points)


def factors(sides: Sequence[Side]) -> list[int]:
    """Intervals of the finer points in each interval of the points, by side; 1 where there are enough."""
    longest = max(side.length for side in sides)
    return [1 if side.spacing * ENOUGH <= longest else int(np.ceil(side.spacing * TARGET / longest)) for side in sides]


def finer_side(side: Side, factor: int) -> Side:
    """The finer points of a side: to the end of the period, or from the first point to the last."""
    intervals = len(side.points) - (not side.periodic)
    fine = side.points[0] + side.spacing * np.arange(factor * intervals + 1) / factor
    return side._replace(points=fine)


def on_finer_points(arrays: Sequence[np.ndarray], sides: Sequence[Side], *, cyclic: bool = False) -> list[np.ndarray]:
    """Arrays `(x, y)` or `(x,)` on the finer points, equal to the given values at the points.

    Each is the Fourier series of its points. If one of them is so rough that its series would overshoot, as that of a
    step, or on a part of the box, it is linear between the points instead.

    Args:
        arrays: values at the points.
        sides: their axes.
        cyclic: True if they are angles, between which there is no line: each finer point gets the nearest value.
    """
    counts = factors(sides)
    periodic = [axis for axis, side in enumerate(sides) if side.periodic]
    smooth = all(side.periodic or not side.is_even for side in sides)
    smooth = smooth and not any(is_rough(values, periodic) for values in arrays)
    made = []
    for values in arrays:
        fine = values
        for axis, (factor, side) in enumerate(zip(counts, sides, strict=True)):
            if not side.is_even:
                fine = _at_even_points(fine, axis, side, finer_side(side, factor).points, cyclic=cyclic)
            elif smooth and factor > 1:
                fine = _closed(fourier_series(fine, axis, factor), axis)
            else:
                points = _closed(fine, axis) if side.periodic else fine
                fine = _between(points, axis, factor, cyclic=cyclic)
        made.append(fine)
    return made


def is_rough(values: np.ndarray, axes: Sequence[int]) -> bool:
    """True if the last quarter of the modes of one of these axes holds a noticeable part of the variance."""
    if not np.isfinite(values).all():
        return True
    for axis in axes:
        n = values.shape[axis]
        size = np.abs(np.fft.rfft(values, axis=axis)) ** 2
        of_modes = size.sum(axis=tuple(a for a in range(values.ndim) if a != axis))
        if n > 4 and of_modes[1 + 3 * (n // 2) // 4 :].sum() > ROUGH * of_modes[1:].sum():
            return True
    return False


def fourier_series(values: np.ndarray, axis: int, factor: int) -> np.ndarray:
    """The Fourier series on finer points. Of an even number of points, the Nyquist mode is a cosine."""
    n = values.shape[axis]
    hat = np.fft.rfft(values, axis=axis)
    if n % 2 == 0:
        last = [slice(None)] * values.ndim
        last[axis] = slice(-1, None)
        hat[tuple(last)] *= 0.5
    return np.fft.irfft(factor * hat, factor * n, axis=axis)


def _at_even_points(values: np.ndarray, axis: int, side: Side, places: np.ndarray, *, cyclic: bool) -> np.ndarray:
    """Values at other points of an axis: of a cubic spline, or each the nearest one."""
    if cyclic:
        nearest = np.argmin(np.abs(places[:, None] - side.points), axis=1)
        return values.take(nearest, axis=axis)
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(side.points, values, axis=axis)(places))


def _closed(values: np.ndarray, axis: int) -> np.ndarray:
    """Values with the first one once more at the end of the period."""
    return np.concatenate([values, values.take([0], axis=axis)], axis=axis)


def _between(values: np.ndarray, axis: int, factor: int, *, cyclic: bool) -> np.ndarray:
    """Values that are linear, or constant, between the points."""
    last = values.shape[axis] - 1
    place = np.arange(factor * last + 1) / factor
    if cyclic:
        return values.take(np.round(place).astype(int), axis=axis)
    left = np.minimum(place.astype(int), max(last - 1, 0))
    shape = [-1 if a == axis else 1 for a in range(values.ndim)]
    share = (place - left).reshape(shape)
    return (1 - share) * values.take(left, axis=axis) + share * values.take(np.minimum(left + 1, last), axis=axis)
