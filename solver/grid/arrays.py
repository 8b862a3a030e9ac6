"""Makes fields that span processes from data outside of JAX, in three ways, and gathers fields.

========================  =====================================  ==============================================
function                  each process passes                     take it when
========================  =====================================  ==============================================
`from_global`             the whole field (or a reader of it)     it fits in every host's memory, or can be read
                                                                  by index
`from_process_local`      its own block, as `local_slices` says   each process has computed or read its own part
`from_device_pieces`      one piece for each of its devices       the pieces already lie on the devices
========================  =====================================  ==============================================

All three make the same array: values at the grid points, split over the mesh. They do not communicate; only `gather`
brings a whole field to every host.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jaxtyping import Array

from solver.grid.grid import Grid

Index = tuple[slice, ...]


def from_global(values: np.ndarray | Callable[[Index], np.ndarray], grid: Grid, components: int | None = None) -> Array:
    """Field from the whole array, or from a function that reads any block of it.

    Args:
        values: `(…, *grid.physical_shape)`, the same on every process; or `read(index)`, called once for each of
            this process's devices with the block's slices, so that nothing else is ever read.
        grid: the grid of the field.
        components: leading size, needed with a function only; None for a scalar field.

    Returns:
        Array of the values' dtype on the grid's mesh.

    Raises:
        ValueError: the shape differs from the grid's, or the shape of a block does not fit its slices.
        TypeError: values that are not an array of numbers, or no grid.
    """
    if callable(values):
        _check_grid(grid)
        shape = (*([] if components is None else [components]), *grid.physical_shape)
        read = functools.partial(_block, values, shape)
        return jax.make_array_from_callback(shape, grid.physical_sharding(len(shape)), read)
    _check("a global array", values, lambda: grid.physical_shape, grid)
    return jax.make_array_from_callback(values.shape, grid.physical_sharding(values.ndim), lambda index: values[index])


def local_slices(grid: Grid) -> Index:
    """Slices of x, y, z of the part of a field that this process's devices hold.

    Raises:
        ValueError: this process's devices are not neighbours in the mesh, so their part is not one block.
    """
    shape = grid.physical_shape
    indices = grid.physical_sharding().addressable_devices_indices_map(shape).values()
    blocks = {tuple(s.indices(n)[:2] for s, n in zip(index, shape, strict=True)) for index in indices if index}
    spans = [sorted({block[axis] for block in blocks}) for axis in range(grid.dimensions)]
    apart = any(before[1] != after[0] for along in spans for before, after in pairwise(along))
    if apart or len(blocks) != math.prod(map(len, spans)):
        raise ValueError(f"this process holds {sorted(blocks)}, which is not one block; use from_device_pieces")
    return tuple(slice(along[0][0], along[-1][1]) for along in spans)


def from_process_local(block: np.ndarray, grid: Grid) -> Array:
    """Field from each process's own block, `whole[..., *local_slices(grid)]`.

    Raises:
        ValueError: the block does not have the shape of this process's part.
    """
    _check("a process's block", block, lambda: [s.stop - s.start for s in local_slices(grid)], grid)
    shape = (*block.shape[: block.ndim - grid.dimensions], *grid.physical_shape)
    return jax.make_array_from_process_local_data(grid.physical_sharding(len(shape)), block, shape)


def from_device_pieces(pieces: Sequence[np.ndarray | Array], grid: Grid) -> Array:
    """Field from one piece per device of this process, in the mesh's order of devices.

    Where the devices do not divide an axis, several of them hold the same part, and their pieces are copies.

    Raises:
        ValueError: there are not as many pieces as devices, a piece does not have the shape of a device's part, or
            leading axes or a dtype unlike the first piece's; or copies differ.
    """
    _check_grid(grid)
    mine = [d for d in grid.mesh.devices.flat if d.process_index == jax.process_index()]
    if len(pieces) != len(mine):
        raise ValueError(f"{len(pieces)} pieces for the {len(mine)} devices of process {jax.process_index()}")
    part = grid.physical_sharding().shard_shape(grid.physical_shape)
    for piece in pieces:
        _check("a device's piece", piece, lambda: part, grid)
    for i, piece in enumerate(pieces):
        if (piece.shape, piece.dtype) != (pieces[0].shape, pieces[0].dtype):
            raise ValueError(
                f"piece {i} is {piece.dtype}{list(piece.shape)}, the first one {pieces[0].dtype}"
                f"{list(pieces[0].shape)}: pieces of one kind are needed"
            )
    leading = pieces[0].shape[: pieces[0].ndim - grid.dimensions]
    shape = (*leading, *grid.physical_shape)
    _refuse_unlike_copies(pieces, [grid.physical_sharding(len(shape)).devices_indices_map(shape)[d] for d in mine])
    placed = [jax.device_put(piece, device) for piece, device in zip(pieces, mine, strict=True)]
    return jax.make_array_from_single_device_arrays(shape, grid.physical_sharding(len(shape)), placed)


def _refuse_unlike_copies(pieces: Sequence[np.ndarray | Array], parts: Sequence[Index]) -> None:
    """Raises ValueError where two pieces of the same part of the field have other values."""
    first: dict[str, int] = {}
    for i, part in enumerate(map(repr, parts)):
        copy_of = first.setdefault(part, i)
        if copy_of != i and not np.array_equal(pieces[i], pieces[copy_of], equal_nan=True):
            raise ValueError(f"pieces {copy_of} and {i} are of the same part of the field: equal values are needed")


def gather(array: Array) -> np.ndarray:
    """The whole array as NumPy array on every process. Communication: an all-gather; each host needs a full copy.

    Raises:
        TypeError: not an array of JAX.
    """
    if not isinstance(array, jax.Array):
        raise TypeError(f"gather of a {type(array).__name__}: an array of JAX is needed")
    if array.is_fully_addressable or array.is_fully_replicated:
        return np.asarray(array)
    return np.asarray(multihost_utils.process_allgather(array, tiled=True))


def _block(read: Callable[[Index], np.ndarray], shape: Sequence[int], index: Index) -> np.ndarray:
    """The block that a user's function reads; raises ValueError where it has another shape than its slices."""
    block, needed = read(index), [len(range(*s.indices(n))) for s, n in zip(index, shape, strict=True)]
    if list(np.shape(block)) != needed:
        raise ValueError(f"the function gives a block of shape {list(np.shape(block))}; {needed} is needed for {index}")
    return block


def _check(what: str, given: np.ndarray | Array, needed: Callable[[], Sequence[int]], grid: Grid) -> None:
    _check_grid(grid)
    dtype = getattr(given, "dtype", None)
    if not hasattr(given, "shape") or not (jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_)):
        kind = type(given).__name__ if dtype is None else f"{type(given).__name__} of {dtype}"
        raise TypeError(f"{what} that is a {kind}: an array of numbers is needed")
    shape, last = list(given.shape), list(needed())
    if shape[len(shape) - grid.dimensions :] != last or len(shape) < grid.dimensions:
        raise ValueError(f"{what} of shape {shape}; its last axes must be {last} on this grid")


def _check_grid(grid: Grid) -> None:
    if not isinstance(grid, Grid):
        raise TypeError(f"a {type(grid).__name__} as grid: a Grid is needed")
