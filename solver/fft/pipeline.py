"""What one device does in a transform: local FFTs, pruning, and the exchange in between.

Forward, in three dimensions, on a slab of x:

    (…, x/P, y, z) ──FFT z, keep kz──▶ (…, x/P, kz, y) ──FFT y, keep ky──▶ (…, x/P, kz, ky)
                   ──exchange──▶ (…, ky/P, kz, x) ──FFT x, keep kx──▶ (…, ky/P, kz, kx)

Modes that are not retained are dropped as soon as their axis is transformed, so the exchange moves
16·Nx·Ky·Kz·(P-1)/P bytes in float64. Every FFT runs along the last, contiguous axis: XLA's kernels demand it.
The inverse goes back the same way. `axis_name=None` runs the same pipeline on a whole array, without exchange.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
from jax import lax
from jax.experimental.layout import Layout as ArrayLayout
from jax.experimental.layout import with_layout_constraint
from jaxtyping import Array

from solver.grid.layout import Layout


def forward_local(u: Array, layout: Layout, axis_name: str | None) -> Array:
    """Coefficients û(k) = (1/N) Σ_x u(x) exp(-i k·x) of this device's ky, from its slab of x."""
    last = layout.dimensions - 1
    u_hat = _truncate(_fft(jnp.fft.rfft, u) if layout.real else _fft(jnp.fft.fft, u), layout, last)
    if layout.dimensions == 3:
        u_hat = _truncate(_fft(jnp.fft.fft, jnp.swapaxes(u_hat, -1, -2)), layout, 1)
    u_hat = u_hat * (1 / math.prod(layout.points))
    if layout.dimensions == 1:
        return u_hat
    u_hat = _exchange(_pad_end(u_hat, layout.padded), layout, axis_name)
    return _truncate(_fft(jnp.fft.fft, u_hat), layout, 0)


def inverse_local(u_hat: Array, layout: Layout, axis_name: str | None) -> Array:
    """Field u(x) = Σ_k û(k) exp(i k·x) on this device's slab of x, from its ky."""
    # jnp's inverse transforms divide by each length; one factor puts all of them back
    scale = math.prod(layout.points)
    if layout.dimensions == 1:
        return _inverse_last(u_hat * scale, layout)
    u = _fft(jnp.fft.ifft, _extend(u_hat, layout, 0)) * scale
    u = _exchange(u, layout, axis_name)[..., : layout.retained[layout.order[0]]]
    if layout.dimensions == 3:
        u = jnp.swapaxes(_fft(jnp.fft.ifft, _extend(u, layout, 1)), -1, -2)
    return _inverse_last(u, layout)


def _inverse_last(u_hat: Array, layout: Layout) -> Array:
    last = layout.dimensions - 1
    full = _extend(u_hat, layout, last)
    if not layout.real:
        return _fft(jnp.fft.ifft, full)
    return _fft(partial(jnp.fft.irfft, n=layout.points[last]), full)


def _fft(transform: Callable[[Array], Array], u: Array) -> Array:
    """A transform along the last axis, its operand and result held row-major.

    Left free, XLA (seen with jaxlib 0.12, batches on several devices) folds a neighbouring transposition into the
    layout of one of them, and its CPU kernel then fails at run time: "IsMonotonicWithDim0Major".
    """
    return _row_major(transform(_row_major(u)))


def _row_major(u: Array) -> Array:
    return with_layout_constraint(u, ArrayLayout(major_to_minor=tuple(range(u.ndim))))


def _truncate(u_hat: Array, layout: Layout, axis: int) -> Array:
    """Keep the retained modes of physical axis `axis`, which lies last."""
    if layout.dealias == "none":
        return u_hat
    highest = layout.highest_mode(axis)
    if layout.is_half(axis):
        return u_hat[..., : highest + 1]
    return jnp.concatenate([u_hat[..., : highest + 1], u_hat[..., u_hat.shape[-1] - highest :]], axis=-1)


def _extend(u_hat: Array, layout: Layout, axis: int) -> Array:
    """Put zeros where modes of physical axis `axis`, which lies last, were dropped."""
    if layout.dealias == "none":
        return u_hat
    points, highest = layout.points[axis], layout.highest_mode(axis)
    if layout.is_half(axis):
        return _pad_end(u_hat, points // 2 + 1)
    gap = jnp.zeros((*u_hat.shape[:-1], points - 2 * highest - 1), u_hat.dtype)
    return jnp.concatenate([u_hat[..., : highest + 1], gap, u_hat[..., highest + 1 :]], axis=-1)


def _pad_end(u_hat: Array, length: int) -> Array:
    if u_hat.shape[-1] == length:
        return u_hat
    return jnp.pad(u_hat, [(0, 0)] * (u_hat.ndim - 1) + [(0, length - u_hat.shape[-1])])


def _exchange(u: Array, layout: Layout, axis_name: str | None) -> Array:
    """Swap the split axis with the last one: (…, x/P, [kz,] ky) → (…, ky/P, [kz,] x), and the same way back.

    Every device sends each other one that one's part of the last axis, and gets their parts of the split axis.
    """
    if axis_name is None:
        return jnp.swapaxes(u, -1, -layout.dimensions)
    parts = u.reshape(*u.shape[:-1], layout.slabs, -1)
    # packing carries the transposition: the axis that comes to lie last is contiguous in what is sent
    packed = jnp.swapaxes(jnp.moveaxis(parts, -2, 0), -1, -layout.dimensions)
    received = lax.all_to_all(packed, axis_name, split_axis=0, concat_axis=0)
    joined = jnp.moveaxis(received, 0, -2)
    return joined.reshape(*joined.shape[:-2], -1)
