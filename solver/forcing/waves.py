"""Coefficients of products of sines and cosines, written down mode by mode: no transform is needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.grid import Grid

Wave = tuple[str, int]  # "sin" or "cos", and the number of periods: the factor along one axis


def wave_coefficients(waves: Sequence[Wave], grid: Grid) -> Array:
    """Coefficients `grid.spectral_shape` of Π_axis sin or cos(2π n x/L), zero in the padding. No communication.

    Args:
        waves: one factor for each axis; `("cos", 0)` is 1.
        grid: grid of real or complex fields.
    """
    factors = [
        _along(kind, n, k, f) for (kind, n), k, f in zip(waves, grid.wavenumbers(), grid.fundamental, strict=True)
    ]
    # the factor of an axis without periods has its one in the padding too, where wavenumbers are zero
    return grid.on_modes(lambda: math.prod(map(jnp.asarray, factors)) * grid.is_kept())


def _along(kind: str, n: int, k: np.ndarray, fundamental: float) -> np.ndarray:
    """Coefficients of one factor as a vector that broadcasts against spectral arrays, of the precision of k."""
    numbers = np.round(k / fundamental)
    ahead, behind = (numbers == n).astype(k.dtype), (numbers == -n).astype(k.dtype)
    return 0.5 * (ahead + behind) if kind == "cos" else -0.5j * (ahead - behind)


def need_periods(name: str, wavenumber: float, what: str = "wavenumber") -> None:
    """Raises ValueError unless a whole number of periods of a force, one or more, fits the box."""
    if not (1 <= wavenumber < math.inf) or wavenumber != int(wavenumber):
        raise ValueError(f"{name} with {what} {wavenumber}: a whole number of one or more is needed")


def need_kept(name: str, numbers: Sequence[int], grid: Grid) -> None:
    """Raises ValueError where the dealiasing rule does not keep the modes (±n, ±m, …) of a product of waves.

    A Nyquist mode counts as not kept: it cannot tell a sine from nothing.
    """
    layout = grid.layout
    for axis, n in enumerate(numbers):
        highest = layout.highest_told_apart(axis)
        if abs(n) > highest:
            raise ValueError(f"{name} with wavenumber {abs(n)}: this grid resolves at most {highest} along axis {axis}")
    if layout.shifts_phase and sum((n / side) ** 2 for n, side in zip(numbers, grid.shape, strict=True)) >= 2 / 9:
        raise ValueError(f"{name} with modes {list(numbers)}: dealias {grid.dealias!r} keeps Σ (n/N)² < 2/9")
