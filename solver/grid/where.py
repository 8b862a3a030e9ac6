"""Which device holds a mode or a point, and at which index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.grid.grid import Grid


@dataclass(frozen=True)
class Place:
    """Where one entry of an array lives.

    Args:
        device: that holds it (the first of them, where several hold copies).
        index: in the global array, without leading axes.
        local_index: in that device's block.
        conjugate: the entry stored is the complex conjugate: of real fields half of the modes is kept.
    """

    device: Any
    index: tuple[int, ...]
    local_index: tuple[int, ...]
    conjugate: bool = False


def find_mode(grid: Grid, n: Sequence[int]) -> Place:
    """Where the coefficient û(n) lives, n = (n_x, n_y, n_z) whole numbers.

    Raises:
        ValueError: another number of integers than dimensions, or a mode that the grid does not retain.
    """
    index, conjugate = mode_index(grid, n)
    return _place(grid.spectral_sharding(), grid.spectral_shape, index, conjugate)


def mode_index(grid: Grid, n: Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """Index of û(n) in a spectral array, and whether what is stored there is its conjugate; needs no device.

    Raises:
        ValueError: another number of integers than dimensions, or a mode that the grid does not retain.
    """
    layout = grid.layout
    if len(n) != grid.dimensions:
        raise ValueError(f"mode {list(n)}: {grid.dimensions} whole numbers are needed")
    for conjugate in (False, True) if grid.real else (False,):
        wanted = [-m if conjugate else m for m in n]
        found = [np.flatnonzero(_same(layout.mode_numbers(a), m, layout.nyquist(a))) for a, m in enumerate(wanted)]
        if all(len(f) for f in found):
            return tuple(int(found[axis][0]) for axis in layout.order), conjugate
    limits = ", ".join(f"|n_{'xyz'[a]}| ≤ {layout.highest_mode(a)}" for a in range(grid.dimensions))
    raise ValueError(f"mode {list(n)} is not retained; this grid has {limits}")


def _same(numbers: np.ndarray, n: int, nyquist: int | None) -> np.ndarray:
    """Where a mode number is stored; +N/2 and −N/2 are the same."""
    matches = numbers == n
    if nyquist is not None and abs(n) == nyquist:
        matches = np.abs(numbers) == nyquist
    return matches


def find_point(grid: Grid, index: Sequence[int]) -> Place:
    """Where the value at the grid point with this index (i, j, k) lives; of a plane x, give (i, 0, 0).

    Raises:
        ValueError: no such point.
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
