"""Smallest eddies of a grid: their width and wavenumber, of which a closure is made."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from solver.grid import Grid


class Resolution(NamedTuple):
    """Smallest eddies of a grid: numbers, or between walls one of each plane `(z,)`.

    Args:
        width: w [length], geometric mean of π/k over the axes with waves, k the largest retained wavenumber of each.
        k_squared: largest k² [1/length²].
        middles: last coordinate in the middle between each plane and the next one [length].
    """

    width: Any
    k_squared: Any
    middles: Any


def resolution_of(grid: Grid) -> Resolution:
    """The resolution of a grid. N polynomials between walls have the wavenumber N/√(z(H − z)) at the height z."""
    modes = lambda own: [own.fundamental[axis] * own.layout.highest_mode(axis) for axis in own.varying_axes]  # noqa: E731
    z = grid.coordinates()[-1].ravel()
    middles = (z[1:] + z[:-1]) / 2
    if not grid.walls:
        highest = modes(grid) or [1.0]
        return Resolution(math.pi / math.prod(highest) ** (1 / len(highest)), grid.k_corner**2, middles)
    along = [] if grid.horizontal is None else modes(grid.horizontal)
    across = grid.spectral_shape[-1] / np.sqrt(z * (grid.lengths[-1] - z))  # type: ignore[index]
    width = math.pi / (math.prod(along) * across) ** (1 / (len(along) + 1))
    return Resolution(width, sum(k**2 for k in along) + across**2, middles)
