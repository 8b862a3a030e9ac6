"""B-splines: their weights at the points around a position, their slopes, and the filter that makes them exact.

    u(x) = Σ_j c_j B_m(x/h − j),   ĉ(k) = û(k) / sinc^m(k h/2)

in each direction: B_m is the B-spline of order m, which is nonzero at m points. The filter undoes what the spline does
to a wave, so that the spline and the wave agree up to the images of the wave at k + 2πj/h:

    relative error = √Σ_{j≠0} |k/(k + 2πj/h)|^2m

Source: van Hinsberg, Thije Boonkkamp, Toschi & Clercx, SIAM J. Sci. Comput. 34 (2012) B479.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from solver.grid import Grid

ORDERS = (4, 6, 8)


def spline_weights(f: Float[Array, " n"], order: int) -> Float[Array, "m n"]:
    """B_m at the m points around each position.

    Args:
        f: place in its cell, from 0 to 1.
        order: m.
    """
    weights: list[Array] = [jnp.ones_like(f)]
    for k in range(2, order + 1):
        last = [jnp.zeros_like(f), *weights, jnp.zeros_like(f)]
        weights = [((f + (k - 1 - j)) * last[j] + (1 - f + j) * last[j + 1]) / (k - 1) for j in range(k)]
    return jnp.stack(weights)


def spline_slopes(f: Float[Array, " n"], order: int) -> Float[Array, "m n"]:
    """Derivatives of B_m with respect to x/h at the same points: differences of B_{m−1}."""
    lower = spline_weights(f, order - 1)
    nothing = jnp.zeros_like(lower[:1])
    return jnp.concatenate([nothing, lower]) - jnp.concatenate([lower, nothing])


def first_point(cells: Float[Array, " n"], order: int) -> tuple[Array, Array]:
    """The first of the m points around each position, a whole number, and the place in the cell.

    Args:
        cells: positions in units of the spacing.
        order: m.
    """
    below = jnp.floor(cells)
    return below.astype(jnp.int32) - (order // 2 - 1), cells - below


def prefilter(grid: Grid, order: int) -> Array:
    """1/Π_d sinc^m(k_d h_d/2) at each mode of a grid, by which coefficients are multiplied; broadcasts against them."""
    response = np.ones([1] * grid.dimensions)
    for axis, n in enumerate(grid.mode_numbers()):
        response = response * np.sinc(np.asarray(n) / grid.layout.points[axis]) ** order
    return jnp.asarray(1 / response, grid.dtype)


def spline_error(kh: float, order: int) -> float:
    """Relative error of one wave in one direction, kh its wavenumber times the spacing."""
    images = kh + 2 * np.pi * np.array([j for j in range(-50, 51) if j])
    return float(np.sqrt(np.sum(np.abs(kh / images) ** (2 * order))))
