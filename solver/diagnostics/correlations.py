"""Two-point correlations along the axes, from spectra."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from solver.diagnostics.increments import longest_separation
from solver.diagnostics.line_spectra import line_spectrum, line_wavenumbers
from solver.diagnostics.probability import ratio
from solver.grid import Grid


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
