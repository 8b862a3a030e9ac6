"""Values and derivatives of a snapshot's fields on a plane of it, for which no more is read than is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.io import Snapshot
from solver.walls.legendre import derivative_at_points, height_of


@dataclass(frozen=True)
class Cut:
    """A plane of a snapshot, or all of it.

    Args:
        snapshot: the file.
        index: an entry for each axis: a whole slice, or the number of a point.
    """

    snapshot: Snapshot
    index: tuple[Any, ...]

    def values(self, name: str, component: int | None = None) -> np.ndarray:
        """Values of a scalar, or of a component of a vector."""
        return self._read(name, self.index, component)

    def derivative(self, name: str, axis: int, component: int | None = None) -> np.ndarray:
        """Derivative along an axis of the box: of the Fourier series, where the derivative of the Nyquist mode is 0, or
        between walls of the polynomial through all points."""
        side, points = list(self.snapshot.axes.items())[axis]
        spacing = float(points[1] - points[0]) if len(points) > 1 else 1.0
        kept = self.index[axis]
        place = sum(isinstance(entry, slice) for entry in self.index[:axis])
        along = (*self.index[:axis], slice(None), *self.index[axis + 1 :])
        if side in self.snapshot.bounded and (across := _between_walls(points)) is not None:
            made = np.tensordot(across[kept], self._read(name, along, component), axes=(-1, place))
            return np.moveaxis(made, 0, place) if isinstance(kept, slice) else made
        if isinstance(kept, slice):
            return spectral_derivative(self.values(name, component), place, spacing)
        of_one = np.zeros(len(points))
        of_one[0] = 1.0
        column = spectral_derivative(of_one, 0, spacing)
        weights = column[(kept - np.arange(len(points))) % len(points)]
        return np.tensordot(self._read(name, along, component), weights, axes=(place, 0))

    def gradient(self, name: str, component: int | None = None) -> list[np.ndarray]:
        """The derivatives along all axes of the box."""
        return [self.derivative(name, axis, component) for axis in range(len(self.snapshot.axes))]

    def _read(self, name: str, index: tuple[Any, ...], component: int | None) -> np.ndarray:
        return self.snapshot.values(name, index if component is None else (*index, component))


def _between_walls(points: np.ndarray) -> np.ndarray | None:
    """The matrix of the derivative at Gauss–Legendre points, `(point, point)`; None for other points."""
    height = height_of(points)
    return None if height is None else derivative_at_points(len(points)) * (2 / height)


def spectral_derivative(values: np.ndarray, axis: int, spacing: float) -> np.ndarray:
    """Derivative of periodic values along an axis of the array."""
    n = values.shape[axis]
    factor = 2j * np.pi * np.fft.rfftfreq(n, spacing)
    if n % 2 == 0:
        factor[-1] = 0
    shape = [-1 if a == axis else 1 for a in range(values.ndim)]
    return np.fft.irfft(factor.reshape(shape) * np.fft.rfft(values, axis=axis), n, axis=axis)
