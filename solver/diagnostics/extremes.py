"""Largest and smallest values, and where they are."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from solver.grid import Grid


def largest(values: Float[Array, ...], grid: Grid) -> tuple[Array, tuple[Array, ...]]:
    """max v and the point (x, y, z) where it is; of several points the first, in the order of x, then y, then z.

    Args:
        values: `grid.physical_shape`, split as fields are.
        grid: where they live.

    Returns:
        The value, and one coordinate for each axis [length], on every device; infinite where no value is a number.
        One all-reduce of a number for the value and one for each coordinate.
    """
    top = jnp.max(values)
    there, place = values == top, []
    for x in map(jnp.asarray, grid.coordinates()):
        nearest = jnp.min(jnp.where(there, x, jnp.inf))
        there &= x == nearest
        place.append(nearest)
    return top, tuple(place)


def smallest(values: Float[Array, ...], grid: Grid) -> tuple[Array, tuple[Array, ...]]:
    """min v and the point where it is; see `largest`."""
    top, place = largest(-values, grid)
    return -top, place
