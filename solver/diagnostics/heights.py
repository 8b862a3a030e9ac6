"""Statistics of planes z = constant (lines y = constant in two dimensions), against the height: spectra, densities."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from solver.diagnostics.probability import Moments, bins_of, ratio
from solver.diagnostics.profiles import plane_mean
from solver.diagnostics.sums import of_blocks, sum_by_index
from solver.grid import Grid
from solver.mesh import split_axes


@partial(jax.jit, static_argnames="grid")
def line_spectra_by_height(u: Float[Array, "c ..."], grid: Grid) -> tuple[Array, ...]:
    """E_i(k_j, z) = ½ Σ |û_i(k, z)|² over the modes of a plane with this |k_j|, of u less its mean over the plane.

    û(k, z) are coefficients of the Fourier series along the directions of the plane. The sum over k_j ≥ 0 is half of
    the variance in the plane, for each direction j along it.

    Args:
        u: real values at the points `(component, x, y, z)` or `(component, x, y)`, split as fields are.
        grid: the grid of the values, in a periodic box or between walls, of two or three dimensions.

    Returns:
        For each direction along the planes `(component, k, z)` [u²], at `line_wavenumbers(grid, j)`, on every device.
        One all-to-all of the values, in which each device gets whole planes, and an all-reduce of the spectra.

    Source: Pope, Turbulent Flows (2000), section 6.5; Kim, Moin & Moser, J. Fluid Mech. 177 (1987) 133 (by height).
    """
    axes, d, planes = split_axes(grid.mesh), grid.dimensions, u.shape[-1]
    parts = np.cumprod([grid.mesh.shape[name] for name in axes])
    padded = -(-planes // int(parts[-1])) * int(parts[-1])

    def local(block: Array) -> Array:
        for axis, name in enumerate(axes):  # the last direction is split instead of x, and of y
            block = jax.lax.all_to_all(block, name, split_axis=d, concat_axis=1 + axis, tiled=True)
        whole = block[(slice(None), *(slice(n) for n in grid.physical_shape[:-1]))]
        first = sum(jax.lax.axis_index(name) * (padded // of) for name, of in zip(axes, parts, strict=True))
        spectra = jnp.concatenate(_spectra(whole, grid), axis=1)
        rows = jnp.zeros((*spectra.shape[:-1], padded), spectra.dtype)
        return jax.lax.psum(jax.lax.dynamic_update_slice_in_dim(rows, spectra, first, axis=-1), axes)

    made = of_blocks(local, u, (*grid.layout.padded_points[:-1], padded), grid)[..., :planes]
    ends = np.cumsum([grid.layout.highest_mode(axis) + 1 for axis in range(d - 1)])
    return tuple(jnp.split(made, ends[:-1], axis=1))


def _spectra(u: Array, grid: Grid) -> list[Array]:
    """Spectra along each direction of whole planes `(component, x, [y,] z)`: `(component, k, z)`."""
    along = tuple(range(1, u.ndim - 1))
    u_hat = jnp.fft.rfftn(u, axes=along) / np.prod(u.shape[1:-1])
    last = np.arange(u_hat.shape[along[-1]])
    weights = np.where((last == 0) | (2 * last == u.shape[along[-1]]), 0.5, 1.0)
    energy = (u_hat.real**2 + u_hat.imag**2) * weights[:, None].astype(grid.dtype)
    energy = energy.at[(slice(None), *[0] * len(along))].set(0)  # the mean over the plane
    return [_folded(energy.sum(axis=tuple(a for a in along if a != axis)), u.shape[axis], grid, axis) for axis in along]


def _folded(lines: Array, points: int, grid: Grid, axis: int) -> Array:
    """Sums over n and −n of a line `(component, n, z)`."""
    numbers = np.arange(lines.shape[1])
    numbers = np.minimum(numbers, points - numbers)  # of the half axis no number is above half of the points
    count = grid.layout.highest_mode(axis - 1) + 1
    kept = np.flatnonzero(numbers < count)
    return jnp.zeros((len(lines), count, lines.shape[-1]), lines.dtype).at[:, numbers[kept]].add(lines[:, kept])


def density_by_height(
    values: Float[Array, ...], grid: Grid, bins: int, reach: float
) -> tuple[Float[Array, "z bins"], Float[Array, " z"], Moments]:
    """Probability density of (v − μ)/σ between −reach and reach, with the moments of each plane.

    Args:
        values: `grid.physical_shape`, split as fields are.
        grid: the grid of the values.
        bins: number of bins.
        reach: the largest deviation in units of σ.

    Returns:
        The density `(z, bin)`, the fraction of the plane's values outside, and the moments, each `(z,)`, on every
        device. All-reduces of the moments and of the counts.
    """
    numbers = plane_moments(values, grid)
    scaled = (values - numbers.mean) * ratio(1.0, numbers.std)
    shares, outside = _shares_by_height(scaled, -reach, reach, bins, grid)
    return shares, outside, numbers


def log_density_by_height(
    values: Float[Array, ...], grid: Grid, bins: int, decades: float
) -> tuple[Float[Array, "z bins"], Float[Array, " z"], Moments]:
    """Probability density of log₁₀(v/μ) between −decades and decades, as `density_by_height`."""
    numbers = plane_moments(values, grid)
    relative = values * ratio(1.0, numbers.mean)
    logarithm = jnp.where(relative > 0, jnp.log10(jnp.where(relative > 0, relative, 1)), -jnp.inf)
    shares, outside = _shares_by_height(logarithm, -decades, decades, bins, grid)
    return shares, outside, numbers


def plane_moments(values: Float[Array, ...], grid: Grid) -> Moments:
    """Mean, standard deviation, skewness and flatness of each plane, `(z,)` each, on every device."""
    mean = plane_mean(values, grid)
    apart = values - mean
    std = jnp.sqrt(plane_mean(apart**2, grid))
    scaled = apart * ratio(1.0, std)
    return Moments(mean, std, plane_mean(scaled**3, grid), plane_mean(scaled**4, grid))


def _shares_by_height(values: Array, low: float, high: float, bins: int, grid: Grid) -> tuple[Array, Array]:
    planes, of_plane = values.shape[-1], int(np.prod(values.shape[:-1]))
    index = bins_of(values, low, high, bins)
    index = jnp.where(index < bins, index + bins * jnp.arange(planes, dtype=jnp.int32), bins * planes)
    counts = sum_by_index(jnp.ones(values.shape, jnp.uint32), index, bins * planes, grid)
    shares = counts.astype(grid.dtype).reshape(planes, bins) / of_plane
    return shares * (bins / (high - low)), 1 - jnp.sum(shares, axis=1)


def correlation_by_height(spectrum: np.ndarray, k: np.ndarray, r: Sequence[float] | np.ndarray) -> np.ndarray:
    """R(r, z) = ⟨u'(x) u'(x + r)⟩ = Σ_k 2 E(k, z) cos(k r) of fluctuations about the mean of a plane.

    Args:
        spectrum: E `(…, k, z)`, as of `line_spectra_by_height`.
        k: wavenumbers [1/length].
        r: separations [length].

    Returns:
        `(…, r, z)` [u²]; at r = 0 the variance.

    Source: Pope, Turbulent Flows (2000), section 6.5 (Wiener and Khinchin).
    """
    made: np.ndarray = 2 * np.einsum("...kz,kr->...rz", spectrum, np.cos(np.outer(k, r)))
    return made
