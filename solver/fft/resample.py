"""The same field on another grid of the same box: spectral interpolation and truncation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.fft.stages import as_dtype, check_shape, fit
from solver.grid import Grid, Layout
from solver.mesh import constrained, over_auto_axes


def resample(u_hat: Array, source: Grid, target: Grid) -> Array:
    """Coefficients on another grid: those of the modes that both grids retain, and zero elsewhere.

    Values at the points of a finer grid are those of the trigonometric polynomial through the coarser one's. Nyquist
    modes, which stand for two waves, are dropped between grids of different shapes. Axes are taken one by one, each
    while it is whole on every device: an all-to-all before and after the split ones, no gather.

    Args:
        u_hat: coefficients `(…, *source.spectral_shape)`.
        source: where they live.
        target: of as many dimensions, for real or complex fields as `source` is, on the same mesh.

    Returns:
        Coefficients `(…, *target.spectral_shape)`.

    Raises:
        ValueError: another shape, or grids of different kinds or meshes.
    """
    check_shape("coefficients", u_hat.shape, source.spectral_shape)
    if (source.dimensions, source.real, source.mesh) != (target.dimensions, target.real, target.mesh):
        raise ValueError("resample between grids of different dimensions, kinds of fields or meshes")
    lead = u_hat.ndim - source.dimensions

    def onto_target(v: Array) -> Array:
        names = tuple(source.spectral_sharding().spec) + (None,) * source.dimensions
        names = names[: source.dimensions]
        for at, axis in enumerate(source.layout.order):
            moved = list(names)
            if moved[at] is not None:  # its devices take the last axis meanwhile, which nothing splits
                last = source.dimensions - 1
                moved[at], moved[last] = moved[last], moved[at]
            v = constrained(v, NamedSharding(source.mesh, PartitionSpec(*[None] * lead, *moved)))
            v = _on_axis(v, source.layout, target.layout, axis, at - source.dimensions)
        v = fit(v, target.spectral_shape)
        return constrained(v, target.spectral_sharding(v.ndim))

    placed = as_dtype(u_hat, target.complex_dtype)
    result = target.spectral_sharding(u_hat.ndim)
    return jax.jit(over_auto_axes(onto_target, source.mesh, result), out_shardings=result)(placed)


def _on_axis(v: Array, source: Layout, target: Layout, axis: int, at: int) -> Array:
    """One axis: cut to the modes of both layouts, and zeros where the target has more."""
    stored = source.retained[axis]
    v = jax.lax.slice_in_dim(v, 0, stored, axis=v.ndim + at)
    if (source.shape[axis], source.dealias) == (target.shape[axis], target.dealias):
        return v
    highest = min(source.highest_mode(axis), target.highest_mode(axis))
    highest = min(highest, (source.points[axis] - 1) // 2, (target.points[axis] - 1) // 2)
    low = jax.lax.slice_in_dim(v, 0, highest + 1, axis=v.ndim + at)
    high = [] if source.is_half(axis) else [jax.lax.slice_in_dim(v, stored - highest, stored, axis=v.ndim + at)]
    missing = target.retained[axis] - sum(part.shape[at] for part in (low, *high))
    shape = list(v.shape)
    shape[at] = missing
    return jnp.concatenate([low, jnp.zeros(shape, v.dtype), *high], axis=at)
