"""The largest value over the points, with a derivative that XLA cannot lose."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

MARGIN = 64  # roundings by which a value may differ from itself, computed in another place


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def max_over_points(values: Array, dimensions: int | None = None) -> Array:
    """The largest of real values `(…, x, y, z)` over the points, `(…)`; one all-reduce.

    The derivative of `jnp.max` is that of the entries that equal the maximum. XLA may compute the entries once more for
    the comparison, and round them differently: then no entry is equal, and a part of the derivative, or all of it, is
    lost without a word. Here the place of the maximum is found as whole numbers, which do not round. Where several
    entries are equal to round-off, the derivative is that of the first.

    Args:
        values: at the points, behind any other axes.
        dimensions: how many of its last axes are those of space; all if None.
    """
    return jnp.max(values, axis=_space(values, dimensions))


@max_over_points.defjvp
def _derivative(dimensions: int | None, primals: tuple[Array], tangents: tuple[Any]) -> tuple[Array, Array]:
    values, change = primals[0], tangents[0]
    most = jnp.max(values, axis=_space(values, dimensions))
    return most, jnp.sum(jnp.where(_place(values, dimensions), change, 0), axis=_space(values, dimensions))


def _place(values: Array, dimensions: int | None) -> Array:
    """A flag at the one point at which the largest value stands."""
    values, space = lax.stop_gradient(values), _space(values, dimensions)
    most = jnp.max(values, axis=space, keepdims=True)
    rounding = MARGIN * jnp.finfo(values.dtype).eps * jnp.abs(most)
    chosen = jnp.ones((), bool)
    for count, axis in enumerate(space, start=1):
        # a wider margin for each axis: the plane that was chosen holds such a value, however it is rounded now
        index = lax.broadcasted_iota(jnp.int32, values.shape, axis)
        near = chosen & (values >= most - count * rounding)
        first = jnp.min(jnp.where(near, index, values.shape[axis]), axis=space, keepdims=True)
        chosen = chosen & (index == first)
    return chosen


def _space(values: Array, dimensions: int | None) -> tuple[int, ...]:
    return tuple(range(0 if dimensions is None else values.ndim - dimensions, values.ndim))
