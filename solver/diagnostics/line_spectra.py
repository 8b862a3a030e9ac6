"""Spectra along one axis and on planes across one axis, and the two-point correlations that follow from them."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from solver.diagnostics.increments import longest_separation
from solver.diagnostics.probability import ratio
from solver.diagnostics.spectra import energy_of_modes, shell_index, shell_wavenumbers
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
    energy = 0.5 * (u_hat.real**2 + u_hat.imag**2) * grid.mode_weights()
    return sum_by_index(energy, _mode_number(grid, axis), len(line_wavenumbers(grid, axis)), grid)


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
    energy = energy_of_modes(u_hat, grid)
    return sum_by_index(energy, _mode_number(grid, axis) * shape[1] + shell, math.prod(shape), grid).reshape(shape)


def _mode_number(grid: Grid, axis: int) -> Array:
    """|n| along an axis, as a vector that broadcasts against spectral arrays."""
    return jnp.asarray(np.rint(np.abs(grid.wavenumbers()[axis]) / grid.fundamental[axis]).astype(np.int32))


def _across(grid: Grid, axis: int) -> tuple[int, ...]:
    return tuple(a for a in range(grid.dimensions) if a != axis)


def correlation_distances(grid: Grid) -> np.ndarray:
    """r = 0, h, 2h, … up to half of the shortest side, h the coarsest spacing [length]."""
    return np.arange(longest_separation(grid) + 1) * max(grid.spacing)


def correlations(u_hat: Complex[Array, "c ..."], grid: Grid) -> Float[Array, "axis c r"]:
    """R_i(r e_j) = Re ⟨u_i*(x) u_i(x + r e_j)⟩ for every axis j and component i, of u without its mean.

    By the theorem of Wiener and Khinchin it is Σ 2 E_i(k_j) cos(k_j r), where E_i(k_j) is the spectrum along axis j.

    Args:
        u_hat: coefficients `(component, *grid.spectral_shape)` [u], any sharding.
        grid: the grid of the coefficients.

    Returns:
        [u²] at `correlation_distances(grid)`, on every device. No transform; one all-reduce of a spectrum per axis.

    Source: Monin & Yaglom, Statistical Fluid Mechanics 2 (1975), section 11; Bendat & Piersol, Random Data (2010).
    """
    varying = jnp.where(grid.k_squared() == 0, 0, u_hat)
    r = correlation_distances(grid)
    along = []
    for axis in range(grid.dimensions):
        cosines = np.cos(np.outer(line_wavenumbers(grid, axis), r)).astype(grid.dtype)
        along.append(2 * jnp.matmul(line_spectrum(varying, grid, axis), cosines, precision="highest"))
    return jnp.stack(along)


def longitudinal_and_transverse(values: Float[Array, "d d r"]) -> tuple[Array, Array | None, Array]:
    """f(r), g(r) and the variance ⟨|u|²⟩, from the `correlations` of a vector field; g is None in one dimension.

    f is the mean of R_j(r e_j) over axes j, and g the mean of R_i(r e_j) over i ≠ j, each divided by its value at r =
    0.

    Source: Pope, Turbulent Flows (2000), section 6.3.
    """
    d = len(values)
    along = sum(values[j, j] for j in range(d))
    variance = along[0]
    if d == 1:
        return along * ratio(1.0, variance), None, variance
    across = sum(values[j, i] for j in range(d) for i in range(d) if i != j) / (d - 1)
    return along * ratio(1.0, variance), across * ratio(1.0, variance), variance
