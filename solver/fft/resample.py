"""The same field on another grid of the same box: spectral interpolation and truncation."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.fft.stages import as_dtype, check_shape, fit
from solver.grid import Grid, Layout
from solver.mesh import constrained, over_auto_axes


def resample(u_hat: Array, source: Grid, target: Grid) -> Array:
    """Coefficients on another grid: copied for the modes that both grids retain, and zero elsewhere.

    Values at the points of a finer grid are values of the trigonometric polynomial through the values on the coarser
    grid. Nyquist modes, which represent two waves, are dropped between grids of different shapes. Axes are cut one by
    one, each while it is whole on every device: one all-to-all before and one after each split axis, no gather.

    Args:
        u_hat: coefficients `(…, *source.spectral_shape)`.
        source: grid of the coefficients.
        target: grid with the same number of dimensions, box, kind of fields (real or complex) and mesh.

    Returns:
        Coefficients `(…, *target.spectral_shape)`.

    Raises:
        ValueError: another shape, or grids of different boxes, kinds or meshes.
    """
    check_shape("coefficients", u_hat.shape, source.spectral_shape)
    if (source.dimensions, source.real, source.mesh) != (target.dimensions, target.real, target.mesh):
        raise ValueError("resample between grids of different dimensions, kinds of fields or meshes")
    if not np.allclose(source.box.lengths, target.box.lengths, rtol=1e-6, atol=0):
        raise ValueError(
            f"resample between boxes of {source.box.lengths} and {target.box.lengths}: equal ones are needed"
        )
    return _onto_target(as_dtype(u_hat, target.complex_dtype), source, target)


@partial(jax.jit, static_argnames=("source", "target"))  # else each call would make, and compile, a program of its own
def _onto_target(u_hat: Array, source: Grid, target: Grid) -> Array:
    """`resample` after its checks."""
    lead = u_hat.ndim - source.dimensions

    def onto_target(v: Array) -> Array:
        names = tuple(source.spectral_sharding().spec) + (None,) * source.dimensions
        names = names[: source.dimensions]
        for array_axis, axis in enumerate(source.layout.order):
            mesh_axes = list(names)
            if mesh_axes[array_axis] is not None:  # split the last axis instead, which is whole, while this axis is cut
                last = source.dimensions - 1
                mesh_axes[array_axis], mesh_axes[last] = mesh_axes[last], mesh_axes[array_axis]
            v = constrained(v, NamedSharding(source.mesh, PartitionSpec(*[None] * lead, *mesh_axes)))
            v = _on_axis(v, source.layout, target.layout, axis, array_axis - source.dimensions)
        v = fit(v, target.spectral_shape)
        if target.layout.shifts_phase:  # which keeps an ellipsoid of modes, not a box
            v = jnp.where(target.is_kept(), v, 0)
        return constrained(v, target.spectral_sharding(v.ndim))

    result = target.spectral_sharding(u_hat.ndim)
    return jax.jit(over_auto_axes(onto_target, source.mesh, result), out_shardings=result)(u_hat)


def _on_axis(v: Array, source: Layout, target: Layout, axis: int, array_axis: int) -> Array:
    """Coefficients with one axis cut to the modes that both layouts retain, and zeros for further modes of the target.

    `axis` is the axis in space, `array_axis` its place in the array.
    """
    stored = source.retained[axis]
    v = jax.lax.slice_in_dim(v, 0, stored, axis=v.ndim + array_axis)
    if (source.shape[axis], source.dealias) == (target.shape[axis], target.dealias):
        return v
    highest = min(source.highest_mode(axis), target.highest_mode(axis))
    highest = min(highest, (source.points[axis] - 1) // 2, (target.points[axis] - 1) // 2)
    low = jax.lax.slice_in_dim(v, 0, highest + 1, axis=v.ndim + array_axis)
    high = [] if source.is_half(axis) else [jax.lax.slice_in_dim(v, stored - highest, stored, axis=v.ndim + array_axis)]
    missing = target.retained[axis] - sum(part.shape[array_axis] for part in (low, *high))
    shape = list(v.shape)
    shape[array_axis] = missing
    return jnp.concatenate([low, jnp.zeros(shape, v.dtype), *high], axis=array_axis)
