"""A field at chosen places, also between points of the grid."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Inexact

from solver.grid import Grid


def at_places(u_hat: Complex[Array, "c ..."], places: Sequence[Sequence[float]], grid: Grid) -> Inexact[Array, "n c"]:
    """u(x) = Σ_k û(k) exp(i k·x) at any x: the Fourier series itself, without interpolation.

    Args:
        u_hat: coefficients `(c, *grid.spectral_shape)` [u].
        places: for each place, one position [length] for each direction.
        grid: the grid of the coefficients.

    Returns:
        `(n, c)` [u], on every device; real if the grid is for real fields. One pass over the modes and one all-reduce
        for each place. Nyquist modes, if kept, represent +N/2 and −N/2 alike: their waves are cosines.
    """
    weights = grid.mode_weights() if grid.real else np.ones([1] * grid.dimensions)
    at_each = []
    for place in np.asarray(places, float):
        values = u_hat * jnp.asarray(weights, grid.dtype)
        # axis by axis, so that waves are short vectors; the split axis is summed last
        for axis in reversed(grid.layout.order):
            k, without_nyquist = grid.wavenumbers()[axis], grid.derivative_wavenumbers()[axis]
            wave = np.cos(k * place[axis]) + 1j * np.sin(without_nyquist * place[axis])
            position = 1 + list(grid.layout.order).index(axis)
            values = jnp.sum(values * jnp.asarray(wave, grid.complex_dtype), axis=position, keepdims=True)
        at_each.append(values.reshape(-1))
    values = jnp.stack(at_each)
    return values.real if grid.real else values
