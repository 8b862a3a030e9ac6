"""A field at chosen places, which need be no points of the grid."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Inexact

from solver.grid import Grid


def at_places(u_hat: Complex[Array, "c ..."], places: Sequence[Sequence[float]], grid: Grid) -> Inexact[Array, "n c"]:
    """u(x) = Σ_k û(k) exp(i k·x) at any x: the series itself, no interpolation.

    Args:
        u_hat: coefficients `(c, *grid.spectral_shape)` [u].
        places: one position [length] for each direction, of each place.
        grid: where the coefficients live.

    Returns:
        `(n, c)` [u], on every device; real where the grid is for real fields. One pass over the modes and one
        all-reduce for each place. Where Nyquist modes are kept, they stand for the waves of the points.
    """
    weights = grid.mode_weights() if grid.real else np.ones([1] * grid.dimensions)
    found = []
    for place in np.asarray(places, float):
        values = u_hat * jnp.asarray(weights, grid.dtype)
        # axis by axis, the whole ones first: their waves are short vectors, and the split axis is summed over last
        for axis in reversed(grid.layout.order):
            wave = np.exp(1j * grid.wavenumbers()[axis] * place[axis])
            position = 1 + list(grid.layout.order).index(axis)
            values = jnp.sum(values * jnp.asarray(wave, grid.complex_dtype), axis=position, keepdims=True)
        found.append(values.reshape(-1))
    values = jnp.stack(found)
    return values.real if grid.real else values
