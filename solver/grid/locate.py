"""Which device holds a mode or a point, and at which index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.grid.grid import Grid


@dataclass(frozen=True)
class Place:
    """Device and index of one entry of an array.

    Args:
        device: the device that holds the entry; the first one if several hold copies.
        index: its index in the global array, without leading axes.
        local_index: its index in that device's block.
        conjugate: True if the stored entry is the complex conjugate, since real fields keep half of the modes.
    """

    device: Any
    index: tuple[int, ...]
    local_index: tuple[int, ...]
    conjugate: bool = False


def find_mode(grid: Grid, n: Sequence[int]) -> Place:
    """Find the coefficient û(n), n = (n_x, n_y, n_z) integers.

    Raises:
        ValueError: the number of integers is not the number of dimensions, or the grid does not retain the mode.
    """
    index, conjugate = mode_index(grid, n)
    return _place(grid.spectral_sharding(), grid.spectral_shape, index, conjugate)


def mode_index(grid: Grid, n: Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """Index of û(n) in a spectral array, and whether its conjugate is stored there; needs no device.

    Raises:
        ValueError: the number of integers is not the number of dimensions, or the grid does not retain the mode.
    """
    layout = grid.layout
    if len(n) != grid.dimensions:
        raise ValueError(f"mode {list(n)}: {grid.dimensions} whole numbers are needed")
    for conjugate in (False, True) if grid.real else (False,):
        mode = [-m if conjugate else m for m in n]
        stored = [np.flatnonzero(_matches(layout.mode_numbers(a), m, layout.nyquist(a))) for a, m in enumerate(mode)]
        if all(len(indices) for indices in stored):
            return tuple(int(stored[axis][0]) for axis in layout.order), conjugate
    limits = ", ".join(f"|n_{'xyz'[a]}| ≤ {layout.highest_mode(a)}" for a in range(grid.dimensions))
    raise ValueError(f"mode {list(n)} is not retained; this grid has {limits}")


def _matches(numbers: np.ndarray, n: int, nyquist: int | None) -> np.ndarray:
    """Mask of the stored mode numbers equal to `n`; +N/2 and −N/2 are the same mode."""
    matches = numbers == n
    if nyquist is not None and abs(n) == nyquist:
        matches = np.abs(numbers) == nyquist
    return matches


def find_point(grid: Grid, index: Sequence[int]) -> Place:
    """Find the value at the grid point with index (i, j, k). To find a plane x, give (i, 0, 0).

    Raises:
        ValueError: the grid has no such point.
    """
    if len(index) != grid.dimensions or not all(0 <= i < n for i, n in zip(index, grid.physical_shape, strict=True)):
        raise ValueError(f"point {list(index)}: indices below {list(grid.physical_shape)} are needed")
    return _place(grid.physical_sharding(), grid.physical_shape, tuple(index), False)


def _place(sharding: Any, shape: tuple[int, ...], index: tuple[int, ...], conjugate: bool) -> Place:
    holding = []
    for device, block in sharding.devices_indices_map(shape).items():
        starts = [s.indices(n)[0] for s, n in zip(block, shape, strict=True)]
        stops = [s.indices(n)[1] for s, n in zip(block, shape, strict=True)]
        if all(a <= i < b for a, i, b in zip(starts, index, stops, strict=True)):
            holding.append((device, tuple(i - a for i, a in zip(index, starts, strict=True))))
    device, local = min(holding, key=lambda entry: entry[0].id)
    return Place(device, index, local, conjugate)
