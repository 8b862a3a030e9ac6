"""Sums of a field's entries that have the same index: over shells, bins, lines or planes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.grid import Grid
from solver.mesh import is_explicit, over_auto_axes, split_axes


def nearest_shell(radius: Array, grid: Grid) -> Array:
    """The number of the shell [n − ½, n + ½) that a radius lies in; in rounding of an edge, that outside of it."""
    edge = 1 + 8 * float(jnp.finfo(grid.dtype).eps)
    return jnp.floor((radius + 0.5) * edge).astype(jnp.int32)


@partial(jax.jit, static_argnames=("count", "grid"))  # outside of `jit` a `shard_map` compiles each operation by itself
def sum_by_index(values: Array, index: Array, count: int, grid: Grid) -> Array:
    """Σ of all values with index n, for n = 0 … count − 1; values with other indices are left out.

    Every device sums its own part, and one all-reduce of the sums adds the parts up. Sides that the devices do not
    divide are padded with entries that no sum contains.

    Args:
        values: `(…, *space)`, where space is `grid.spectral_shape` or `grid.physical_shape`; any sharding.
        index: integers that broadcast against `space`.
        count: number of sums.
        grid: the grid of the values.

    Returns:
        `(…, count)` of the values' dtype, on every device.
    """
    lead = values.ndim - grid.dimensions
    index = jnp.broadcast_to(index, values.shape[lead:])
    if grid.layout.devices == grid.dimensions == 1:
        return _sums(values, index, count, grid.dimensions)
    axes = split_axes(grid.mesh, grid.dimensions)
    space, parts = PartitionSpec(*axes), PartitionSpec(*[None] * lead, *axes)

    def local(values: Array, index: Array) -> Array:
        return jax.lax.psum(_sums(values, index, count, grid.dimensions), axes)

    def run(values: Array, index: Array) -> Array:
        whole = [-n % p for n, p in zip(index.shape, grid.layout.parts, strict=True)]
        values = jnp.pad(values, [(0, 0)] * lead + [(0, n) for n in whole])
        index = jnp.pad(index, [(0, n) for n in whole], constant_values=count)
        return on_parts(local, grid, (parts, space))(values, index)

    return on_all_alike(run, grid)(values, index)


@partial(jax.jit, static_argnames="grid")
def on_every_device(values: Array, grid: Grid) -> Array:
    """Values at the points `(…, *grid.physical_shape)`, small enough for it, whole on every device. One all-reduce."""
    if grid.layout.devices == grid.dimensions == 1:
        return values
    axes, lead = split_axes(grid.mesh, grid.dimensions), values.ndim - grid.dimensions
    sides = grid.layout.padded_points

    def local(block: Array) -> Array:
        places = [jax.lax.axis_index(name) * block.shape[lead + i] for i, name in enumerate(axes)]
        first = (*[jnp.int32(0)] * lead, *places, *[jnp.int32(0)] * (grid.dimensions - len(axes)))
        whole = jnp.zeros((*block.shape[:lead], *sides), block.dtype)
        return jax.lax.psum(jax.lax.dynamic_update_slice(whole, block, first), axes)

    return of_blocks(local, values, sides, grid)[(..., *(slice(n) for n in grid.physical_shape))]


def of_blocks(local: Callable[[Array], Array], values: Array, sides: Sequence[int], grid: Grid) -> Array:
    """A function of each device's part of values at the points, whose result is the same on every device.

    Args:
        local: function of a part `(…, x, y, z)`, which adds up over the mesh axes that split the grid.
        values: `(…, *grid.physical_shape)`.
        sides: sides to which the values are padded with zeros before they are split.
        grid: the grid of the values.
    """
    lead = values.ndim - grid.dimensions

    def run(values: Array) -> Array:
        padding = [(0, padded - n) for n, padded in zip(grid.physical_shape, sides, strict=True)]
        parts = PartitionSpec(*[None] * lead, *split_axes(grid.mesh, grid.dimensions))
        return on_parts(local, grid, parts)(jnp.pad(values, [(0, 0)] * lead + padding))

    return on_all_alike(run, grid)(values)


def on_parts(local: Callable[..., Array], grid: Grid, parts: Any, **options: Any) -> Callable[..., Array]:
    """A function of each device's parts of arrays, split as `parts` says, whose result is the same on every device.

    For use inside of `on_all_alike`; `jax.shard_map` takes `options`.
    """
    # with Explicit axes this runs inside `auto_axes`, whose mesh is then the current one
    mesh = None if is_explicit(grid.mesh) else grid.mesh
    return jax.shard_map(local, mesh=mesh, in_specs=parts, out_specs=PartitionSpec(), **options)


def on_all_alike(run: Callable[..., Array], grid: Grid) -> Callable[..., Array]:
    """A function whose result is the same on every device, also on a mesh with Explicit axes."""
    return over_auto_axes(run, grid.mesh, NamedSharding(grid.mesh, PartitionSpec()))


def _sums(values: Array, index: Array, count: int, dimensions: int) -> Array:
    """Sums of one device's part. An additional sum collects all other indices and is dropped."""
    place = jnp.where((index >= 0) & (index < count), index, count).ravel()
    total = lambda v: jax.ops.segment_sum(v, place, num_segments=count + 1)[:count]  # noqa: E731
    lead = values.shape[: values.ndim - dimensions]
    if not lead:
        return total(values.ravel())
    return jax.vmap(total)(values.reshape(-1, place.size)).reshape(*lead, count)
