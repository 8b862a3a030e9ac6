"""Differences of a field over a distance, and their moments: structure functions."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from solver.fft import Transform
from solver.grid import Grid
from solver.mesh import split_axes


def longest_separation(grid: Grid) -> int:
    """Largest separation within half of the shortest side, as a number of the coarsest spacing."""
    h = max(grid.spacing)
    return int(0.5 * min(n * dx for n, dx in zip(grid.physical_shape, grid.spacing, strict=True)) / h * (1 + 1e-9))


def separations(grid: Grid) -> np.ndarray:
    """Separations 1, 2, 4, … of the coarsest spacing within half of the shortest side; 1 where that is further, too."""
    return 2 ** np.arange(max(longest_separation(grid), 1).bit_length())


def shifted(u_hat: Complex[Array, ...], u: Array, axis: int, steps: Array | int, transform: Transform) -> Array:
    """Values at x + r e_j, where r is a number of the coarsest spacing: r = steps · max Δx.

    If the axis is not split over devices and r is a multiple of its spacing, the values are rolled, without
    communication. Otherwise û exp(i k_j r) is transformed, which is exact, by one inverse transform of as many
    components.

    Args:
        u_hat: coefficients `(…, *grid.spectral_shape)`.
        u: the same field at the points, `transform.inverse(u_hat)`.
        axis: j.
        steps: an integer, which may be traced.
        transform: between points and coefficients.
    """
    grid = transform.grid
    ratio = max(grid.spacing) / grid.spacing[axis]
    if not _is_split(grid, axis) and abs(ratio - round(ratio)) < 1e-9:
        return jnp.roll(u, -jnp.asarray(steps) * round(ratio), axis - grid.dimensions)
    distance = jnp.asarray(steps, grid.dtype) * max(grid.spacing)
    cosine = jnp.cos(jnp.asarray(grid.wavenumbers()[axis]) * distance)
    sine = jnp.sin(jnp.asarray(grid.derivative_wavenumbers()[axis]) * distance)  # a Nyquist mode is a cosine
    return transform.inverse(u_hat * jax.lax.complex(cosine, sine))


def structure_functions(
    u_hat: Complex[Array, "d ..."], steps: Sequence[int], orders: Sequence[int], transform: Transform
) -> tuple[Float[Array, "r order"], Float[Array, "r order"] | None]:
    """S_p(r) = ⟨(u_i(x + r e_j) − u_i(x))^p⟩ along the axes j: longitudinal (i = j) and transverse (i ≠ j).

    Odd orders keep their sign. Averages are over the box, over the axes j, and over the components i.

    Args:
        u_hat: coefficients of a vector field, one component for each dimension [u], any sharding.
        steps: separations, as numbers of the coarsest spacing.
        orders: the orders p.
        transform: between points and coefficients.

    Returns:
        Both `(len(steps), len(orders))` [u^p], on every device; None for the transverse one in one dimension. One
        inverse transform of the field, one more for each separation and each axis that is split over devices (or whose
        spacing does not divide the separation), and all-reduces of numbers.

    Source: Monin & Yaglom, Statistical Fluid Mechanics 2 (1975), section 13; Frisch, Turbulence (1995), chapter 5.
    """
    grid, powers = transform.grid, tuple(orders)
    u = transform.inverse(u_hat)

    def at(step: Array) -> tuple[Array, Array]:
        along, across = [], []
        for axis in range(grid.dimensions):
            moments = _moments(shifted(u_hat, u, axis, step, transform) - u, powers)
            along.append(moments[axis])
            across += [moments[i] for i in range(grid.dimensions) if i != axis]
        return jnp.mean(jnp.stack(along), axis=0), jnp.mean(jnp.stack(across or along), axis=0)

    longitudinal, transverse = jax.lax.map(at, jnp.asarray(np.asarray(steps, np.int32)))
    return longitudinal, transverse if grid.dimensions > 1 else None


def scalar_structure_functions(
    c_hat: Complex[Array, "1 ..."], steps: Sequence[int], orders: Sequence[int], transform: Transform
) -> Float[Array, "r order"]:
    """S_p(r) = ⟨(c(x + r e_j) − c(x))^p⟩ of a scalar, averaged over the box and the axes j.

    Args, cost and source as for `structure_functions`; `(len(steps), len(orders))` [c^p], on every device.
    """
    c, powers = transform.inverse(c_hat), tuple(orders)

    def at(step: Array) -> Array:
        axes = range(transform.grid.dimensions)
        moments = [_moments(shifted(c_hat, c, axis, step, transform) - c, powers)[0] for axis in axes]
        return jnp.mean(jnp.stack(moments), axis=0)

    return jax.lax.map(at, jnp.asarray(np.asarray(steps, np.int32)))


def longitudinal_increments(u_hat: Complex[Array, "d ..."], u: Array, steps: int, transform: Transform) -> Array:
    """u_j(x + r e_j) − u_j(x) at the points for each axis j, `(d, *points)`; see `shifted` for r and the cost."""
    moved = [shifted(u_hat[j], u[j], j, steps, transform) for j in range(transform.grid.dimensions)]
    return jnp.stack(moved) - u


def _moments(difference: Array, orders: Sequence[int]) -> Array:
    """Moments `(component, order)` of a difference."""
    space = tuple(range(1, difference.ndim))
    return jnp.stack([jnp.mean(difference**p, axis=space) for p in orders], axis=-1)


def _is_split(grid: Grid, axis: int) -> bool:
    names = split_axes(grid.mesh) if grid.dimensions > 1 else ()
    return axis < len(names) and grid.mesh.shape[names[axis]] > 1
