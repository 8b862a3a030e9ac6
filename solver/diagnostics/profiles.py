"""Means around a point, and along an axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from solver.diagnostics.extremes import largest
from solver.diagnostics.increments import longest_separation
from solver.diagnostics.probability import ratio
from solver.diagnostics.sums import nearest_shell, of_blocks, sum_by_index
from solver.grid import Grid, distance_squared
from solver.mesh import over_auto_axes, split_axes

SCHIVE = 0.091  # ρ(r_c) = ρ_c/2: 1.091^−8 = ½


def profile_radii(grid: Grid) -> np.ndarray:
    """Centres of the shells, r = 0, h, 2h, … up to half of the shortest side, h the coarsest spacing [length]."""
    return np.arange(longest_separation(grid) + 1) * max(grid.spacing)


def radial_profile(
    values: Float[Array, ...], centre: tuple[Array, ...], grid: Grid
) -> tuple[Float[Array, r], Float[Array, r]]:
    """Mean of the values in each shell r ∈ [r_n − h/2, r_n + h/2) around a point or its nearest periodic image.

    Args:
        values: `grid.physical_shape`, split as fields are.
        centre: one coordinate for each axis [length].
        grid: the grid of the values.

    Returns:
        Means (0 in a shell without points) and numbers of points, at `profile_radii(grid)`, on every device. One
        all-reduce of the shells for each.
    """
    squared = distance_squared([jnp.asarray(x) for x in grid.coordinates()], centre, grid)
    shell = nearest_shell(jnp.sqrt(squared) / max(grid.spacing), grid)
    shells = len(profile_radii(grid))
    count = sum_by_index(jnp.ones(grid.physical_shape, grid.dtype), shell, shells, grid)
    return sum_by_index(values, shell, shells, grid) * ratio(1.0, count), count


def profile_around_peak(density: Float[Array, ...], grid: Grid) -> tuple[Array, Array, Array, tuple[Array, ...]]:
    """Radial profile of a density around its largest value: means, numbers of points, largest value and its place."""
    peak, place = largest(density, grid)
    return *radial_profile(density, place, grid), peak, place


def soliton_profile(r: np.ndarray, core_density: float, core_radius: float) -> np.ndarray:
    """ρ = ρ_c (1 + 0.091 (r/r_c)²)^−8: the core of a halo of fuzzy dark matter; half of ρ_c at r_c.

    Source: Schive, Chiueh & Broadhurst, Nature Phys. 10 (2014) 496, equation 3.
    """
    return core_density * (1 + SCHIVE * (np.asarray(r) / core_radius) ** 2) ** -8


def fit_soliton(r: np.ndarray, density: np.ndarray, reach: float = 3.0) -> tuple[float, float]:
    """ρ_c and r_c of the `soliton_profile` that fits a radial profile best; on the host.

    The fit minimises squares in ln ρ over r ≤ reach · r_h, where r_h is the radius at which the profile has fallen by
    half. For each r_c the best ρ_c is a mean; r_c is found by a golden-section search.

    Args:
        r: radii [length], the first of them 0.
        density: means at these radii.
        reach: largest radius of the fit over r_h; 3 as in Schive et al. (2014).

    Returns:
        ρ_c in the density's units and r_c [length].

    Raises:
        ValueError: there are fewer than three positive densities within reach, or the profile does not fall by half.
    """
    r, density = np.asarray(r, float), np.asarray(density, float)
    fallen = np.flatnonzero(density < 0.5 * density[0])
    if not len(fallen):
        raise ValueError(f"the profile falls from {density[0]:.3g} to {density.min():.3g}; below half of it is needed")
    at = fallen[0]
    half = np.interp(0.5 * density[0], density[[at, at - 1]], r[[at, at - 1]])
    used = (r <= reach * half * (1 + 1e-9)) & (density > 0)
    if used.sum() < 3:
        raise ValueError(f"{used.sum()} radii within {reach} half-radii of {half:.3g}; three or more are needed")

    def logarithm(core: float) -> tuple[float, float]:
        """Spread of the residuals of ln ρ, and their mean, ln ρ_c."""
        rest = np.log(density[used]) - np.log(soliton_profile(r[used], 1.0, core))
        return float(rest.var()), float(rest.mean())

    core = _golden(lambda c: logarithm(np.exp(c))[0], np.log(0.3 * half), np.log(3 * half))
    return float(np.exp(logarithm(np.exp(core))[1])), float(np.exp(core))


def _golden(fn: Callable[[float], float], low: float, high: float) -> float:
    """Position of the minimum of a function that has one minimum."""
    inner = (np.sqrt(5) - 1) / 2
    for _ in range(80):
        a, b = high - inner * (high - low), low + inner * (high - low)
        low, high = (low, b) if fn(a) < fn(b) else (a, high)
    return 0.5 * (low + high)


@partial(jax.jit, static_argnames="grid")
def plane_mean(u: Array, grid: Grid) -> Array:
    """Mean over all directions but the last of values at the points `(…, x, y, z)`: `(…, z)`, on every device.

    In two dimensions it is the mean over x. One all-reduce of the means.
    """
    axes = tuple(range(-grid.dimensions, -1))
    mean = lambda u: jnp.mean(u, axis=axes)  # noqa: E731
    return over_auto_axes(mean, grid.mesh, NamedSharding(grid.mesh, PartitionSpec()))(u)


@partial(jax.jit, static_argnames="grid")
def zonal_mean(u: Array, grid: Grid) -> Array:
    """Mean over x of values at the points `(…, x, y, z)`: `(…, y, z)`, on every device; two or three dimensions.

    Every device sums its own planes. One all-reduce of the means; with pencils a second one puts the parts of y
    together.

    Source: Vallis, Atmospheric and Oceanic Fluid Dynamics (2017), section 9.1 (zonal averages).
    """
    axes, lead, sides = split_axes(grid.mesh), u.ndim - grid.dimensions, grid.layout.padded_points

    def local(block: Array) -> Array:
        total = jax.lax.psum(block.sum(axis=lead), axes[0])
        if len(axes) == 1:
            return total
        whole = jnp.zeros((*total.shape[:lead], sides[1], *total.shape[lead + 1 :]), total.dtype)
        first = jax.lax.axis_index(axes[1]) * total.shape[lead]
        placed = jax.lax.dynamic_update_slice_in_dim(whole, total, first, axis=lead)
        return jax.lax.psum(placed, axes[1])

    total = of_blocks(local, u, sides, grid)
    return jax.lax.slice_in_dim(total, 0, grid.physical_shape[1], axis=lead) / grid.physical_shape[0]
