"""Cross-spectra of two fields, and the transfer and flux of quadratic invariants, by shell."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from solver.diagnostics.spectra import sum_over_shells
from solver.grid import Grid


def co_spectrum(a_hat: Complex[Array, ...], b_hat: Complex[Array, ...], grid: Grid) -> Float[Array, shells]:
    """C(k) = Σ Re(â* b̂) over each shell |k| ∈ [k − Δk/2, k + Δk/2), not divided by Δk.

    The sum of all shells is ⟨a·b⟩ (its real part). Leading axes (components) are summed.

    Args:
        a_hat, b_hat: coefficients `(…, *grid.spectral_shape)` of one shape, any sharding.
        grid: the grid of the coefficients.

    Returns:
        One value per entry of `shell_wavenumbers(grid)` [a·b], on every device. One all-reduce of the shells.

    Source: Bendat & Piersol, Random Data (2010), section 5.2.
    """
    return sum_over_shells(_summed(a_hat.real * b_hat.real + a_hat.imag * b_hat.imag, grid), grid)


def quadrature_spectrum(a_hat: Complex[Array, ...], b_hat: Complex[Array, ...], grid: Grid) -> Float[Array, shells]:
    """Q(k) = Σ Im(â* b̂) over each shell; for real fields twice the sum over half of the modes, k_last > 0.

    For real fields, Im(â* b̂) is odd in k, so a sum over both signs would vanish. For complex fields the sum is over
    all modes. a = cos(k·x) and b = cos(k·x + φ) have C = ½ cos φ and Q = ½ sin φ.

    Args:
        a_hat, b_hat: coefficients `(…, *grid.spectral_shape)` of one shape, any sharding.
        grid: the grid of the coefficients.

    Returns:
        One value per entry of `shell_wavenumbers(grid)` [a·b], on every device. One all-reduce of the shells.

    Source: Bendat & Piersol, Random Data (2010), section 5.2.
    """
    return sum_over_shells(_summed(a_hat.real * b_hat.imag - a_hat.imag * b_hat.real, grid), grid)


def shell_flux(transfer: Float[Array, shells]) -> Float[Array, shells]:
    """Π(k) = −Σ_{k' ≤ k} T(k'): rate at which the nonlinear term takes the invariant out of the shells up to k.

    It is zero in the last shell if the nonlinear term conserves the invariant.

    Source: Frisch, Turbulence (1995), section 2.4.
    """
    return -jnp.cumsum(transfer)


def _summed(density: Array, grid: Grid) -> Array:
    """Sum over components, times the weight of each stored mode."""
    return density.reshape(-1, *grid.spectral_shape).sum(axis=0) * grid.mode_weights()
