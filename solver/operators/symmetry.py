"""Hermitian symmetry, which stored coefficients of a real field must have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from solver.grid import Grid
from solver.mesh import split_axes


@partial(jax.jit, static_argnames="grid")
def hermitian(u_hat: Any, grid: Grid) -> Any:
    """Replace coefficients by the coefficients of the real field that transforms to points read from them.

    A real field has û(−k) = conj û(k). Half of the last axis in space is stored, so k and −k are both stored on the
    plane n = 0 of that axis, and on its Nyquist plane if it is kept. Transforms to points see only
    ½(û(k) + conj û(−k)) there. The rest is invisible to every product, so that nothing damps it, but sums over modes
    count it, and a forcing or a linear part may amplify it.

    Args:
        u_hat: coefficients `(…, *grid.spectral_shape)`, or a tree of such arrays, which share one exchange.
        grid: grid of real fields; on a grid of complex fields nothing is changed.

    Returns:
        The same shapes, dtypes and shardings; modes outside of these planes keep their bits. In three dimensions each
        device sends its part of the plane, in one or two pieces, to the devices that hold the mirrored modes; in one
        and two dimensions nothing is sent. Nothing is gathered.
    """
    if not grid.real:
        return u_hat
    blocks, tree = jax.tree.flatten(u_hat)
    if grid.layout.devices == 1:
        symmetric = _symmetric_blocks(blocks, grid)
    else:
        specs = [grid.spectral_sharding(block.ndim).spec for block in blocks]
        local = lambda blocks: _symmetric_blocks(blocks, grid)  # noqa: E731
        symmetric = jax.shard_map(local, mesh=grid.mesh, in_specs=(specs,), out_specs=specs)(blocks)
    return jax.tree.unflatten(tree, symmetric)


def _symmetric_blocks(blocks: Sequence[Array], grid: Grid) -> list[Array]:
    """`hermitian` for the part of each array that one device holds."""
    d, half = grid.dimensions, grid.dimensions - 1
    position = grid.layout.order.index(half)
    flat = [block.reshape(-1, *block.shape[block.ndim - d :]) for block in blocks]
    for plane in _self_conjugate_planes(grid):
        owner, index = divmod(plane, flat[0].shape[1 + position])
        at = (slice(None),) * (1 + position) + (index,)
        stored = jnp.concatenate([block[at] for block in flat])
        symmetric = 0.5 * (stored + jnp.conj(_mirrored(stored, grid)))
        if grid.layout.parts[position] > 1:  # the same index is another plane on the other devices
            here = lax.axis_index(split_axes(grid.mesh)[position]) == owner
            symmetric = jnp.where(here, symmetric, stored)
        parts = jnp.split(symmetric, np.cumsum([len(block) for block in flat])[:-1])
        flat = [block.at[at].set(part) for block, part in zip(flat, parts, strict=True)]
    return [new.reshape(block.shape) for new, block in zip(flat, blocks, strict=True)]


def _self_conjugate_planes(grid: Grid) -> list[int]:
    """Positions along the half axis at which k and −k are both stored."""
    nyquist = grid.layout.nyquist(grid.dimensions - 1)
    return [0] if nyquist is None else [0, nyquist]


def _mirrored(plane: Array, grid: Grid) -> Array:
    """û(−k) of a plane `(component, …)`: all axes except the half axis are mirrored; n = 0 stays in place."""
    axes = [axis for axis in grid.layout.order if axis != grid.dimensions - 1]
    for at, axis in enumerate(axes, start=1):
        position = grid.layout.order.index(axis)
        parts = grid.layout.parts[position]
        if parts == 1:
            plane = _reversed_but_first(plane, at)
        else:
            name = split_axes(grid.mesh)[position]
            plane = _mirrored_over_devices(plane, at, grid.layout.retained[axis], parts, name)
    return plane


def _reversed_but_first(plane: Array, at: int) -> Array:
    first, rest = jnp.split(plane, [1], axis=at)
    return jnp.concatenate([first, jnp.flip(rest, at)], at)


def _mirrored_over_devices(block: Array, at: int, modes: int, parts: int, name: str) -> Array:
    """Mirror an axis split over the mesh axis `name`: entry j becomes entry (modes − j) mod modes; padding stays.

    Device p needs the entries modes − pb − b + 1 … modes − pb, b its number of entries: the end of the block of device
    q − p and the beginning of the one after it. So each of the two devices sends just the entries that are needed.
    """
    b = block.shape[at]
    q, r = divmod(modes - b + 1, b)
    end = _sent(lax.slice_in_dim(block, r, b, axis=at), q, parts, name)
    pieces = [end]
    if r:
        pieces.append(_sent(lax.slice_in_dim(block, 0, r, axis=at), q + 1, parts, name))
    arrived = jnp.flip(jnp.concatenate(pieces, at), at)
    place = lax.axis_index(name) * b + lax.broadcasted_iota(int, block.shape, at)
    return jnp.where((place == 0) | (place >= modes), block, arrived)


def _sent(piece: Array, total: int, parts: int, name: str) -> Array:
    """The piece of device `total` − p on each device p; zeros where there is no such device."""
    pairs = [(total - p, p) for p in range(parts) if 0 <= total - p < parts]
    return lax.ppermute(piece, name, pairs)
