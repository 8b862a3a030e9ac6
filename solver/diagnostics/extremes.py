"""Largest and smallest values, and their positions."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from solver.fft.maxima import MARGIN
from solver.grid import Grid


def largest(values: Float[Array, ...], grid: Grid) -> tuple[Array, tuple[Array, ...]]:
    """The largest value and its point (x, y, z).

    Of several points whose values are equal to round-off it is the first in the order of x, then y, then z. XLA may
    compute the values once more for each comparison and round them differently, so that none of them need equal the
    largest to the last bit.

    Args:
        values: `grid.physical_shape`, split as fields are.
        grid: the grid of the values.

    Returns:
        The value, and one coordinate for each axis [length], on every device; the coordinates are infinite if a value
        is NaN. One all-reduce of a number for the value and one for each coordinate.
    """
    top = jnp.max(values)
    rounding = MARGIN * jnp.finfo(values.dtype).eps * jnp.abs(top)
    chosen, place = jnp.ones((), bool), []
    for count, x in enumerate(map(jnp.asarray, grid.coordinates()), start=1):
        # a wider margin for each axis: the plane that was chosen holds such a value, however it is rounded now
        near = chosen & (values >= top - count * rounding)
        nearest = jnp.min(jnp.where(near, x, jnp.inf))
        chosen &= x == nearest
        place.append(nearest)
    return top, tuple(place)


def smallest(values: Float[Array, ...], grid: Grid) -> tuple[Array, tuple[Array, ...]]:
    """The smallest value and its point; see `largest`."""
    top, place = largest(-values, grid)
    return -top, place
