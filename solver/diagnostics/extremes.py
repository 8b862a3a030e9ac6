"""Largest and smallest values, and their positions."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from solver.grid import Grid


def largest(values: Float[Array, ...], grid: Grid) -> tuple[Array, tuple[Array, ...]]:
    """The largest value and its point (x, y, z); of several points the first in the order of x, then y, then z.

    Args:
        values: `grid.physical_shape`, split as fields are.
        grid: the grid of the values.

    Returns:
        The value, and one coordinate for each axis [length], on every device; the coordinates are infinite if a value
        is NaN. One all-reduce of a number for the value and one for each coordinate.
    """
    top = jnp.max(values)
    is_largest, place = values == top, []
    for x in map(jnp.asarray, grid.coordinates()):
        nearest = jnp.min(jnp.where(is_largest, x, jnp.inf))
        is_largest &= x == nearest
        place.append(nearest)
    return top, tuple(place)


def smallest(values: Float[Array, ...], grid: Grid) -> tuple[Array, tuple[Array, ...]]:
    """The smallest value and its point; see `largest`."""
    top, place = largest(-values, grid)
    return -top, place
