"""Spectra in bins of a chosen width of |k|, or of equal width of log |k|: for long boxes, whose shells are wide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from solver.diagnostics.spectra import energy_of_modes
from solver.diagnostics.sums import nearest_shell, sum_by_index
from solver.grid import Grid


@dataclass(frozen=True)
class Bins:
    """Bins of |k|, without the mean k = 0.

    Args:
        width: width of each bin [1/length], with the centres 0, Δ, 2Δ, …; the smallest 2π/L of the axes if None.
        per_decade: instead: bins for each factor of ten of |k|, with the centres k_1, k_1 10^(1/n), …, k_1 the smallest
            |k| of the grid.

    Raises:
        ValueError: a width or a number that is not positive, or both.
    """

    width: float | None = None
    per_decade: int | None = None

    def __post_init__(self) -> None:
        if self.width is not None and self.per_decade is not None:
            raise ValueError(f"width = {self.width:g} and per_decade = {self.per_decade}: one of them is needed")
        if self.width is not None and not (self.width > 0 and math.isfinite(self.width)):
            raise ValueError(f"width = {self.width:g}: a positive number is needed")
        if self.per_decade is not None and self.per_decade < 1:
            raise ValueError(f"per_decade = {self.per_decade}: one or more is needed")

    def centres(self, grid: Grid) -> np.ndarray:
        """Centres of the bins [1/length], up to the largest |k| of the grid."""
        smallest, largest = grid.k_min, grid.k_corner
        if self.per_decade is None:
            width = self._width(grid)
            return np.arange(int(largest / width + 0.5 + 1e-9) + 1) * width
        count = int(self.per_decade * math.log10(largest / smallest) + 0.5 + 1e-9) + 1
        return smallest * 10 ** (np.arange(count) / self.per_decade)

    def index(self, grid: Grid) -> Array:
        """The bin of each stored mode; a number that no bin has for k = 0."""
        last, k = len(self.centres(grid)) - 1, jnp.sqrt(grid.k_squared())
        if self.per_decade is None:
            place = k / self._width(grid)
        else:
            place = self.per_decade * jnp.log10(jnp.where(k > 0, k, 1) / grid.k_min)
        return jnp.where(k > 0, jnp.minimum(nearest_shell(place, grid), last), last + 1)

    def _width(self, grid: Grid) -> float:
        return grid.k_min if self.width is None else self.width


@partial(jax.jit, static_argnames=("grid", "bins"))  # outside of `jit` each operation would be compiled by itself
def binned_spectrum(u_hat: Complex[Array, ...], grid: Grid, bins: Bins) -> Float[Array, bins]:
    """E(k) = ½ Σ |û|² over the modes in each bin of |k|, but for k = 0; not divided by the bin's width.

    The sum of all bins is ½⟨|u − ⟨u⟩|²⟩. Narrow bins of small |k| may hold no mode. Leading axes are summed.

    Args:
        u_hat: coefficients `(…, *grid.spectral_shape)` [u], any sharding.
        grid: the grid of the coefficients.
        bins: the bins.

    Returns:
        One value [u²] per entry of `bins.centres(grid)`, on every device. One all-reduce of the bins.
    """
    return sum_by_index(energy_of_modes(u_hat, grid), bins.index(grid), len(bins.centres(grid)), grid)
