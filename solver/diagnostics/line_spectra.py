"""Spectra along one axis, and on planes across one axis."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from solver.diagnostics.spectra import shell_index, shell_wavenumbers
from solver.diagnostics.sums import sum_by_index
from solver.grid import Grid


def line_wavenumbers(grid: Grid, axis: int) -> np.ndarray:
    """|k| along one axis: 0, Δ, 2Δ, … up to the largest retained, Δ = 2π/L [1/length]."""
    return np.arange(grid.layout.highest_mode(axis) + 1) * grid.fundamental[axis]


def line_spectrum(u_hat: Complex[Array, ...], grid: Grid, axis: int) -> Float[Array, ...]:
    """E_i(k_j) = ½ Σ |û_i|² over the modes with this |k_j|, for each component i: a 1-D spectrum.

    Both signs of k_j are counted, so that the sum over k_j ≥ 0 is ½⟨|u_i|²⟩.

    Args:
        u_hat: coefficients `(…, *grid.spectral_shape)` [u], any sharding.
        grid: the grid of the coefficients.
        axis: the axis j: 0 for x, 1 for y, 2 for z.

    Returns:
        `(…, n)` [u²], one value per entry of `line_wavenumbers(grid, axis)`, on every device. One all-reduce of them.

    Source: Pope, Turbulent Flows (2000), section 6.5 (with half of the mean square, one-sided).
    """
    return sum_by_index(_energy(u_hat, grid), _mode_number(grid, axis), len(line_wavenumbers(grid, axis)), grid)


def across_wavenumbers(grid: Grid, axis: int) -> np.ndarray:
    """Centres of the shells in k_⊥: 0, Δk, 2Δk, … up to the largest retained, Δk the largest 2π/L of the other axes."""
    return shell_wavenumbers(grid, _across(grid, axis))


def plane_spectrum(u_hat: Complex[Array, ...], grid: Grid, axis: int) -> Float[Array, "along across"]:
    """E(k_∥, k_⊥) = ½ Σ |û|² over the modes with this |k_∥|, along `axis`, and k_⊥ ∈ [k − Δk/2, k + Δk/2) across it.

    The sum of all entries is ½⟨|u|²⟩. Leading axes (components) are summed.

    Args:
        u_hat: coefficients `(…, *grid.spectral_shape)` [u], any sharding; two or three dimensions.
        grid: the grid of the coefficients.
        axis: the axis of k_∥: 0 for x, 1 for y, 2 for z.

    Returns:
        [u²], on `line_wavenumbers(grid, axis)` and `across_wavenumbers(grid, axis)`, on every device. One all-reduce.

    Source: Cambon & Jacquin, J. Fluid Mech. 202 (1989) 295 (axisymmetric spectra of rotating turbulence).
    """
    shape = len(line_wavenumbers(grid, axis)), len(across_wavenumbers(grid, axis))
    shell = shell_index(grid, _across(grid, axis))
    energy = _energy(u_hat, grid).reshape(-1, *grid.spectral_shape).sum(axis=0)
    return sum_by_index(energy, _mode_number(grid, axis) * shape[1] + shell, math.prod(shape), grid).reshape(shape)


def _energy(u_hat: Array, grid: Grid) -> Array:
    return 0.5 * (u_hat.real**2 + u_hat.imag**2) * grid.mode_weights()


def _mode_number(grid: Grid, axis: int) -> Array:
    """|n| along an axis, as a vector that broadcasts against spectral arrays."""
    return jnp.asarray(np.rint(np.abs(grid.wavenumbers()[axis]) / grid.fundamental[axis]).astype(np.int32))


def _across(grid: Grid, axis: int) -> tuple[int, ...]:
    return tuple(a for a in range(grid.dimensions) if a != axis)
