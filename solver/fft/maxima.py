"""The largest value over all points: of a whole array, with its derivative; and on one device and over all devices."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from solver.fft.local import AxisNames, mesh_names
from solver.grid.layout import Layout

MARGIN = 64  # roundings by which a value may differ from itself, computed in another place


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def max_over_points(values: Array, dimensions: int | None = None) -> Array:
    """The largest of real values `(…, x, y, z)` over the points, `(…)`; one all-reduce.

    The derivative of `jnp.max` is the derivative of the entries that equal the maximum. XLA may compute the entries
    once more for the comparison, and round them differently: then no entry is equal, and a part of the derivative, or
    all of it, is lost without a word. Here the place of the maximum is found as whole numbers, which do not round.
    Where several entries are equal to round-off, the derivative is the first one's.

    Args:
        values: at the points, behind any other axes.
        dimensions: number of last axes that are axes of space; all if None.
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


# ---- inside a transform -----------------------------------------------------------------------------------------


def largest_on_device(
    values: Array, layout: Layout, axis_name: AxisNames, first_plane: Any = 0, apart: int = 1
) -> Array:
    """The largest of values `(…, x, y, z)` at this device's points, without padding.

    Args:
        values: at all planes of x of this device's block, or at some of them.
        layout: layout of the whole grid.
        axis_name: mesh axes that split it; None for a whole array.
        first_plane: number in the block of the first plane of x in `values`.
        apart: step from the number of one plane of x in `values` to the number of the next.
    """
    names = mesh_names(axis_name, layout)
    space = tuple(range(values.ndim - layout.dimensions, values.ndim))
    for axis, name in zip(space, names, strict=False):
        i = axis - space[0]
        points, padded = layout.points[i], layout.padded_points[i]
        if points < padded:
            block = padded // (layout.slabs, layout.pencils)[i]
            start = (0 if name is None else lax.axis_index(name) * block) + (first_plane if i == 0 else 0)
            index = start + (apart if i == 0 else 1) * lax.broadcasted_iota(np.int32, values.shape, axis)
            values = jnp.where(index < points, values, -jnp.inf)
    return jnp.max(values, axis=space)


def largest_of_devices(largest: Array, layout: Layout, axis_name: AxisNames) -> Array:
    """The largest over all devices, from the largest value on each of them."""
    axes = tuple(name for name in mesh_names(axis_name, layout) if name is not None)
    return lax.pmax(largest, axes) if axes else largest
