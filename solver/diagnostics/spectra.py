"""Shell spectra, cross-spectra and fluxes by shell, and sums over modes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Inexact

from solver.diagnostics.mode_sums import one_axis, product, summed
from solver.diagnostics.sums import nearest_shell, sum_by_index
from solver.grid import Grid, Modes
from solver.operators.derivatives import components


def mean_square(u_hat: Inexact[Array, ...], modes: Modes) -> Float[Array, ""]:
    """⟨|u|²⟩ over the box, summed over components, by Parseval: Σ_k |û|² on a grid. One all-reduce."""
    return mean_product(u_hat, u_hat, modes)


def mean_product(a_hat: Inexact[Array, ...], b_hat: Inexact[Array, ...], modes: Modes) -> Float[Array, ""]:
    """⟨a · b⟩ over the box (its real part), summed over components, by Parseval: Σ_k Re(â* b̂) on a grid. One
    all-reduce."""
    return summed([product(a_hat, b_hat, modes)], modes.dtype)[0]


def weighted_mean_square(u_hat: Inexact[Array, ...], weight: Array, modes: Modes) -> Float[Array, ""]:
    """Σ_k weight(k) |û|², summed over components; `weight` broadcasts against coefficients."""
    return summed([product(u_hat, u_hat, modes, weight)], modes.dtype)[0]


def shell_width(grid: Grid, axes: Sequence[int] | None = None) -> float:
    """Thickness Δk of the spectrum's shells: the largest 2π/L of some axes, all by default [1/length]."""
    return max(grid.fundamental[a] for a in _axes(grid, axes))


def shell_wavenumbers(grid: Grid, axes: Sequence[int] | None = None) -> np.ndarray:
    """Centres of the shells, k = 0, Δk, 2Δk, … up to the largest retained |k| (a corner of the box of modes)."""
    squares = (s * grid.layout.highest_mode(a) ** 2 for a, s in _shares(grid, axes))
    return np.arange(int(math.sqrt(sum(squares)) + 0.5) + 1) * shell_width(grid, axes)


def shell_index(grid: Grid, axes: Sequence[int] | None = None) -> Array:
    """For each stored mode the number of its shell.

    It comes from whole numbers, which tell modes near the edges of shells apart where wavenumbers are rounded: exactly,
    where lengths have ratios of small whole numbers.

    Args:
        grid: supplies the wavenumbers.
        axes: along which wavenumbers count, all by default.
    """
    numbers, last = grid.mode_numbers(), len(shell_wavenumbers(grid, axes)) - 1
    whole = _whole_ratios(grid, axes)

    def fill() -> Array:
        squared = sum(share * jnp.asarray(numbers[a], grid.dtype) ** 2 for a, share in _shares(grid, axes))
        shell = nearest_shell(jnp.sqrt(squared), grid)
        if whole is not None:  # (2n − 1)² D² ≤ 4 Σ (w_a n_a)² < (2n + 1)² D²
            ratios, unit = whole
            four = 4 * sum((w * jnp.asarray(numbers[a], np.int32)) ** 2 for a, w in ratios.items())
            below = jnp.maximum(2 * shell - 1, 0)  # there is no shell below the first
            shell = shell + (four >= ((2 * shell + 1) * unit) ** 2) - (four < (below * unit) ** 2)
        return jnp.minimum(shell, last)

    return grid.on_modes(fill)


def _whole_ratios(grid: Grid, axes: Sequence[int] | None) -> tuple[dict[int, int], int] | None:
    """Whole numbers w_a of each axis and D with (w_a/D)² = `_shares`; None where they, or their sums, are too large."""
    lengths = [grid.box.lengths[a] for a in _axes(grid, axes)]
    exact = [Fraction(min(lengths) / length).limit_denominator(64) for length in lengths]
    unit = math.lcm(*(ratio.denominator for ratio in exact))
    whole = {a: int(ratio * unit) for a, ratio in zip(_axes(grid, axes), exact, strict=True)}
    is_exact = all(
        abs(float(ratio) * length / min(lengths) - 1) < 1e-14 for ratio, length in zip(exact, lengths, strict=True)
    )
    largest = 4 * sum((w * grid.layout.highest_mode(a)) ** 2 for a, w in whole.items())
    return (whole, unit) if is_exact and largest + 8 * unit * math.sqrt(largest) < 2**31 else None


def _axes(grid: Grid, axes: Sequence[int] | None) -> Sequence[int]:
    """Some axes, all by default, but for axes of one point, which have no wavenumber."""
    given = range(grid.dimensions) if axes is None else axes
    return [axis for axis in given if axis in grid.varying_axes] or given


def _shares(grid: Grid, axes: Sequence[int] | None) -> list[tuple[int, float]]:
    """Some axes, and (2π/L)² of each over the largest of them: the ratio of lengths is rounded once."""
    lengths = {a: grid.box.lengths[a] for a in _axes(grid, axes)}
    return [(a, (min(lengths.values()) / length) ** 2) for a, length in lengths.items()]


def shell_spectrum(u_hat: Complex[Array, ...], grid: Grid) -> Float[Array, shells]:
    """E(k) = ½ Σ |û|² over each shell |k| ∈ [k − Δk/2, k + Δk/2), not divided by Δk.

    The sum of all shells is the energy ½⟨|u|²⟩: multiply by 1/Δk for a density. Leading axes are summed.

    Args:
        u_hat: coefficients `(..., *grid.spectral_shape)`.
        grid: the grid of the coefficients.

    Returns:
        One value per entry of `shell_wavenumbers(grid)`, on every device. One all-reduce of the shells.
    """
    return sum_over_shells(energy_of_modes(u_hat, grid), grid)


@partial(jax.jit, static_argnames="grid")  # else each call would make, and compile, programs of its own
def sum_over_shells(density: Float[Array, ...], grid: Grid) -> Float[Array, shells]:
    """Σ of a mode density over each shell; the density must already carry `grid.mode_weights()`."""
    return sum_by_index(density, shell_index(grid), len(shell_wavenumbers(grid)), grid)


def energy_of_modes(u_hat: Complex[Array, ...], grid: Grid) -> Float[Array, ...]:
    """½ |û|² of each stored mode, summed over components and times its weight: the sum of all is ½⟨|u|²⟩."""
    return 0.5 * _summed(u_hat.real**2 + u_hat.imag**2, grid)


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
    # component by component, as `mode_sums.product`
    return sum(components(one_axis(density, grid))) * grid.mode_weights()
