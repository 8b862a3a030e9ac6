"""The largest value over all points: on one device, whose padding does not count, and over all devices."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from solver.fft.local import AxisNames, mesh_names
from solver.grid.layout import Layout


def largest_on_device(values: Array, layout: Layout, axis_name: AxisNames, first_plane: Any = 0) -> Array:
    """The largest of values `(…, x, y, z)` at this device's points, without padding.

    Args:
        values: at all planes of x of this device's block, or at some of them.
        layout: of the whole grid.
        axis_name: mesh axes that split it; None for a whole array.
        first_plane: number in the block of the first plane of x in `values`.
    """
    names = mesh_names(axis_name, layout)
    space = tuple(range(values.ndim - layout.dimensions, values.ndim))
    for axis, name in zip(space, names, strict=False):
        i = axis - space[0]
        points, padded = layout.points[i], layout.padded_points[i]
        if points < padded:
            block = padded // (layout.slabs, layout.pencils)[i]
            start = (0 if name is None else lax.axis_index(name) * block) + (first_plane if i == 0 else 0)
            index = start + lax.broadcasted_iota(np.int32, values.shape, axis)
            values = jnp.where(index < points, values, -jnp.inf)
    return jnp.max(values, axis=space)


def largest_of_devices(largest: Array, layout: Layout, axis_name: AxisNames) -> Array:
    """The largest over all devices, from the largest value on each of them."""
    axes = tuple(name for name in mesh_names(axis_name, layout) if name is not None)
    return lax.pmax(largest, axes) if axes else largest
