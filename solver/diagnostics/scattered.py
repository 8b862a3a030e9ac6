"""Statistics of numbers at particles, which are split over the devices by particle: counts in boxes, densities."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, Int

from solver.diagnostics.probability import Moments, bins_of, ratio
from solver.diagnostics.sums import on_all_alike, on_parts
from solver.grid import Grid
from solver.mesh import split_axes


@partial(jax.jit, static_argnames=("count", "grid"))  # outside of `jit` a `shard_map` compiles each operation by itself
def count_by_index(index: Int[Array, "... particle"], count: int, grid: Grid) -> Int[Array, " count"]:
    """The number of entries with index n, for n = 0 … count − 1; entries with other indices are left out.

    Args:
        index: whole numbers, split over the devices by particle.
        count: number of counts.
        grid: the grid of the devices.

    Returns:
        Whole numbers `(count,)`, on every device. One all-reduce.
    """

    def local(index: Array) -> Array:
        place = jnp.where((index >= 0) & (index < count), index, count).ravel()
        return jnp.zeros(count + 1, jnp.int32).at[place].add(1)[:count]

    if grid.dimensions == 1:  # nothing is split over devices
        return local(index)
    names = tuple(split_axes(grid.mesh))
    parts = PartitionSpec(*[None] * (index.ndim - 1), names)

    summed = lambda index: jax.lax.psum(local(index), names)  # noqa: E731
    return on_all_alike(on_parts(summed, grid, parts, check_vma=False), grid)(index)


def counts_in_boxes(
    positions: Float[Array, "direction particle"], seen: Bool[Array, " particle"], boxes: int, grid: Grid
) -> Int[Array, ...]:
    """The number of particles in each of n boxes along each direction, [i L/n, (i + 1) L/n).

    Args:
        positions: positions in the box [length], split over the devices by particle.
        seen: False for padding, which is not counted.
        boxes: n.
        grid: has the sides L of the box.

    Returns:
        Whole numbers `(n,) * directions`, on every device. One all-reduce.
    """
    index = jnp.zeros(positions.shape[1], jnp.int32)
    for x, length in zip(positions, grid.box.lengths, strict=True):
        index = index * boxes + jnp.clip(jnp.floor(x * (boxes / length)).astype(jnp.int32), 0, boxes - 1)
    index = jnp.where(seen, index, -1)
    return count_by_index(index, boxes**grid.dimensions, grid).reshape((boxes,) * grid.dimensions)


def particle_density(
    values: Float[Array, "... particle"], seen: Bool[Array, " particle"], reach: float, bins: int, grid: Grid
) -> tuple[Array, Array, Moments]:
    """Density of (v − μ)/σ between −reach and reach, the fraction of values outside, and the moments.

    As `deviation_density`, of numbers at particles, all components together.

    Args:
        values: numbers, split over the devices by particle.
        seen: False for padding, which does not count.
        reach, bins: ends of the range, and number of its bins.
        grid: the grid of the devices.
    """
    number = jnp.sum(seen) * (values.size // values.shape[-1])
    mean_of = lambda v: jnp.sum(jnp.where(seen, v, 0)) / number  # noqa: E731
    mean = mean_of(values)
    apart = values - mean
    std = jnp.sqrt(mean_of(apart**2))
    scaled = apart * ratio(1.0, std)
    index = jnp.where(seen, bins_of(scaled, -reach, reach, bins), bins)
    shares = count_by_index(index, bins, grid).astype(values.dtype) / number
    moments = Moments(mean, std, mean_of(scaled**3), mean_of(scaled**4))
    return shares * (bins / (2 * reach)), 1 - jnp.sum(shares), moments
