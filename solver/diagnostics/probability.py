"""Probability densities and moments of values at the points."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from solver.diagnostics.sums import sum_by_index
from solver.grid import Grid


class Moments(NamedTuple):
    """Mean μ, standard deviation σ = ⟨(v − μ)²⟩^½, skewness ⟨(v − μ)³⟩/σ³ and flatness ⟨(v − μ)⁴⟩/σ⁴.

    A Gaussian has skewness 0 and flatness 3. If σ = 0, both are 0.
    """

    mean: Array
    std: Array
    skewness: Array
    flatness: Array


def moments(values: Float[Array, ...]) -> Moments:
    """Mean, standard deviation, skewness and flatness over all entries: components and points. All-reduces only.

    Source: Pope, Turbulent Flows (2000), section 3.2 (standardised moments).
    """
    mean = jnp.mean(values)
    apart = values - mean
    std = jnp.sqrt(jnp.mean(apart**2))
    scaled = apart * ratio(1.0, std)
    return Moments(mean, std, jnp.mean(scaled**3), jnp.mean(scaled**4))


def ratio(a: Array | float, b: Array) -> Array:
    """a/b, and 0 where b = 0."""
    return jnp.where(b == 0, 0, a / jnp.where(b == 0, 1, b))


def bin_centres(low: float, high: float, bins: int) -> np.ndarray:
    """Centres of equal bins between `low` and `high`."""
    return low + (np.arange(bins) + 0.5) * (high - low) / bins


def probability_density(
    values: Float[Array, ...], low: float, high: float, bins: int, grid: Grid
) -> tuple[Float[Array, bins], Array]:
    """Probability density in equal bins: the count of a bin, divided by the number of all values and the bin's width.

    The integral over the bins and the fraction outside add up to 1. A value on an edge belongs to the bin above.

    Args:
        values: `(…, *grid.physical_shape)`, split as fields are; leading axes (components) are counted together.
        low, high: ends of the range; values that are not finite count as outside.
        bins: number of bins.
        grid: the grid of the values.

    Returns:
        The density [1/value], and the fraction of the values outside, on every device. One all-reduce of the counts.
    """
    index = bins_of(values, low, high, bins)
    index = index.reshape(-1, *grid.physical_shape)
    ones = jnp.ones(grid.physical_shape, jnp.uint32)  # integers, since 2²⁴ + 1 = 2²⁴ in float32
    counts = (sum_by_index(ones, index[i], bins, grid) for i in range(len(index)))
    shares = sum(count.astype(grid.dtype) for count in counts) / values.size
    return shares * (bins / (high - low)), 1 - jnp.sum(shares)


def bins_of(values: Array, low: float, high: float, bins: int) -> Array:
    """The number of the bin of each value; `bins` outside of them all, and for values that are not finite."""
    place = jnp.floor((values - low) * (bins / (high - low)))
    return jnp.where((place >= 0) & (place < bins), place, bins).astype(jnp.int32)


def deviation_density(values: Float[Array, ...], reach: float, bins: int, grid: Grid) -> tuple[Array, Array, Moments]:
    """Density of (v − μ)/σ between −reach and reach, the fraction of values outside, and the moments."""
    numbers = moments(values)
    deviations = (values - numbers.mean) * ratio(1.0, numbers.std)
    shares, outside = probability_density(deviations, -reach, reach, bins, grid)
    return shares, outside, numbers


def log_density(
    values: Float[Array, ...], low: float, high: float, bins: int, grid: Grid
) -> tuple[Array, Array, Moments]:
    """Density of log₁₀(v/μ) between `low` and `high`, the fraction of values outside (zeros too), and the moments of v.

    Source: Frisch, Turbulence (1995), section 8.6 (log-normal dissipation).
    """
    numbers = moments(values)
    relative = values * ratio(1.0, numbers.mean)
    logarithm = jnp.where(relative > 0, jnp.log10(jnp.where(relative > 0, relative, 1)), -jnp.inf)
    shares, outside = probability_density(logarithm, low, high, bins, grid)
    return shares, outside, numbers
