"""Further functions: frequencies in their layout, shifts and stencils with halo exchange, natural mode order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from solver.fft.stages import fit
from solver.grid import Grid, Layout
from solver.mesh import split_axes, unpadded_sharding

# ---- frequencies ------------------------------------------------------------------------------------------------


def fftfreq(shape: Sequence[int], d: float | Sequence[float] = 1.0) -> tuple[np.ndarray, ...]:
    """Frequencies fx, fy, fz [cycles per unit of d] of `fftn`'s result, as vectors that broadcast against it.

    Args:
        shape: points of the field.
        d: spacing of the points, one for all axes or one each.

    Returns:
        For each axis x, y, z the numbers of `numpy.fft.fftfreq`, as a vector along that axis of (ky, kz, kx).
    """
    return _frequencies(shape, d, real=False)


def rfftfreq(shape: Sequence[int], d: float | Sequence[float] = 1.0) -> tuple[np.ndarray, ...]:
    """As `fftfreq`, for the result of `rfftn`: the last axis in space has the numbers of `numpy.fft.rfftfreq`."""
    return _frequencies(shape, d, real=True)


def _frequencies(shape: Sequence[int], d: float | Sequence[float], *, real: bool) -> tuple[np.ndarray, ...]:
    layout = Layout(tuple(shape), "none", real)
    spacing = d if isinstance(d, Sequence) else [d] * len(shape)
    if len(spacing) != len(shape):
        raise ValueError(f"d={list(spacing)} for the shape {list(shape)}: one spacing, or one for each axis, is needed")
    vectors = []
    for axis, (n, step) in enumerate(zip(shape, spacing, strict=True)):
        frequencies = (np.fft.rfftfreq if layout.is_half(axis) else np.fft.fftfreq)(n, step)
        vector_shape = [1] * len(shape)
        vector_shape[layout.order.index(axis)] = len(frequencies)
        vectors.append(frequencies.reshape(vector_shape))
    return tuple(vectors)


# ---- neighbouring planes ----------------------------------------------------------------------------------------


def roll(u: Array, shift: int, grid: Grid, axis: int = 0) -> Array:
    """The field shifted by `shift` points along an axis in space, periodically, as by `jnp.roll`.

    Along a split axis every device sends planes to at most two other devices; nothing is gathered.

    Args:
        u: `(..., *grid.physical_shape)`.
        shift: any whole number.
        grid: grid of u.
        axis: 0 for x, 1 for y, 2 for z.

    Raises:
        ValueError: an axis that the grid does not have.
    """
    if not 0 <= axis < grid.dimensions:
        raise ValueError(f"roll along axis {axis}: 0 to {grid.dimensions - 1} are the axes in space")
    split = _split_names(grid)
    array_axis = axis - grid.dimensions
    if axis >= len(split) or grid.mesh.shape[split[axis]] == 1:
        return jnp.roll(u, shift, array_axis)
    parts = grid.mesh.shape[split[axis]]

    def local(block: Array) -> Array:
        blocks, planes = divmod(shift, block.shape[array_axis])
        received = _from_previous(block, split[axis], parts, blocks)
        if planes == 0:
            return received
        kept = block.shape[array_axis] - planes
        last_planes = lax.slice_in_dim(block, kept, None, axis=array_axis + block.ndim)
        before = _from_previous(last_planes, split[axis], parts, blocks + 1)
        return jnp.concatenate([before, lax.slice_in_dim(received, 0, kept, axis=array_axis + block.ndim)], array_axis)

    return _on_blocks(local, u, grid)


def apply_stencil(fn: Callable[[Array], Array], u: Array, grid: Grid, width: int = 1) -> Array:
    """A local function of neighbouring points, periodically: halo exchange, then `fn` on each device's block.

    Args:
        fn: takes a block `(..., x + 2w, y + 2w, z + 2w)` and returns one `(..., x, y, z)` with as many axes.
        u: `(..., *grid.physical_shape)`.
        grid: grid of u.
        width: w, planes from either side; at most as many as each device has.

    Returns:
        `(..., *grid.physical_shape)`, split as u. Each device sends w planes twice per split axis.

    Raises:
        ValueError: a width that reaches beyond the next device, or a grid that the devices do not divide.
    """
    split = _split_names(grid)
    fewest_planes = min(n // p for n, p in zip(grid.physical_shape, grid.layout.parts, strict=True))
    if not 0 < width <= fewest_planes:
        raise ValueError(f"width {width}: from 1 to {fewest_planes} planes are there on each device")

    def local(block: Array) -> Array:
        for axis in range(grid.dimensions):
            array_axis = axis - grid.dimensions + block.ndim
            first = lax.slice_in_dim(block, 0, width, axis=array_axis)
            last = lax.slice_in_dim(block, block.shape[array_axis] - width, None, axis=array_axis)
            if axis < len(split):
                parts = grid.mesh.shape[split[axis]]
                first, last = _from_previous(first, split[axis], parts, -1), _from_previous(last, split[axis], parts, 1)
            block = jnp.concatenate([last, block, first], array_axis)
        return fn(block)

    return _on_blocks(local, u, grid)


def _from_previous(block: Array, name: str, parts: int, steps: int) -> Array:
    """The block of the device `steps` before this one, around the ring."""
    if steps % parts == 0:
        return block
    return lax.ppermute(block, name, [(i, (i + steps) % parts) for i in range(parts)])


def _split_names(grid: Grid) -> tuple[str, ...]:
    """Mesh axes that split x (and y).

    Raises:
        ValueError: the devices do not divide a split side.
    """
    if grid.layout.padded_points != grid.layout.points:
        raise ValueError(
            f"{list(grid.physical_shape)} points on {grid.layout.slabs} × {grid.layout.pencils} devices: planes are "
            "passed on where the devices divide the split sides"
        )
    return split_axes(grid.mesh) if grid.dimensions > 1 else ()


def _on_blocks(local: Callable[[Array], Array], u: Array, grid: Grid) -> Array:
    """`local` of each device's block of u."""
    u = jnp.asarray(u)
    spec = grid.physical_sharding(u.ndim).spec
    mapped = jax.shard_map(local, mesh=grid.mesh, in_specs=spec, out_specs=spec)
    return jax.jit(mapped)(u)


# ---- natural order of modes -------------------------------------------------------------------------------------


def to_natural_order(u_hat: Array, grid: Grid) -> Array:
    """Coefficients `(..., kx, ky, kz)`, split along kx as fields are along x, from the transposed, padded layout.

    For output and other libraries; the solver itself never restores this order. It takes one all-to-all where the
    devices divide the retained kx; elsewhere, outside of `jit`, the result is whole on every device.
    """
    return _reordering(True, grid, u_hat.ndim)(u_hat)


def from_natural_order(u_hat: Array, grid: Grid) -> Array:
    """Inverse of `to_natural_order`: `(..., ky, kz, kx)` as `Transform` takes it, with its padding."""
    return _reordering(False, grid, u_hat.ndim)(u_hat)


def _reordering(to_natural: bool, grid: Grid, ndim: int) -> Callable[[Array], Array]:
    """The compiled function behind `to_natural_order` and `from_natural_order`."""
    layout, d = grid.layout, grid.dimensions
    lead = ndim - d
    leading = tuple(range(lead))
    shape = (1,) * lead + tuple(layout.retained)

    def reorder(v: Array) -> Array:
        if to_natural:
            v = fit(v, layout.logical_spectral_shape)
            return v.transpose(*leading, *(lead + layout.order.index(axis) for axis in range(d)))
        v = v.transpose(*leading, *(lead + axis for axis in layout.order))
        return fit(v, layout.spectral_shape)

    out = unpadded_sharding(grid.mesh, shape, d) if to_natural else grid.spectral_sharding(ndim)
    return jax.jit(reorder, out_shardings=out)
