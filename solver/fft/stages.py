"""The steps that every distributed transform is made of: FFTs, dropping and restoring modes, the exchange.

They act on one device's block; axes are counted from the end, so that any leading axes are batched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.layout import Layout as ArrayLayout
from jax.experimental.layout import with_layout_constraint
from jaxtyping import Array

from solver.grid.layout import Layout

AnyArray: TypeAlias = Array | np.ndarray  # NumPy's may be passed outside of jit

# ---- transforms -------------------------------------------------------------------------------------------------


def to_modes(u: Array, layout: Layout, last: int) -> Array:
    """Σ_x u(x) exp(−i k·x) along the last `last` axes, which end with the last axis in space."""
    transform = jnp.fft.rfftn if layout.real else jnp.fft.fftn
    return _row_major(lambda v: transform(v, axes=range(-last, 0)), u)


def to_points(u_hat: Array, layout: Layout, last: int) -> Array:
    """Inverse of `to_modes`, with NumPy's 1/N."""
    axes, shape = range(-last, 0), layout.points[-last:]
    if layout.real:
        return _row_major(lambda v: jnp.fft.irfftn(v, shape, axes=axes), u_hat)
    return _row_major(lambda v: jnp.fft.ifftn(v, axes=axes), u_hat)


def fft(u: Array) -> Array:
    """Σ u exp(−i k x) along the last axis."""
    return _row_major(jnp.fft.fft, u)


def ifft(u_hat: Array) -> Array:
    """(1/N) Σ û exp(i k x) along the last axis."""
    return _row_major(jnp.fft.ifft, u_hat)


def unscaled_ifft(u_hat: Array) -> Array:
    """Σ û exp(i k x) along the last axis, without a factor: on GPUs an inverse FFT adds a pass that scales."""
    return jnp.conj(fft(jnp.conj(u_hat)))


def _row_major(transform: Callable[[Array], Array], u: Array) -> Array:
    """A transform with its operand and result held row-major.

    Left free, XLA (seen with jaxlib 0.12, batches on several devices) folds a neighbouring transposition into the
    layout of one of them, and its CPU kernel then fails at run time: "IsMonotonicWithDim0Major".
    """
    held = lambda v: with_layout_constraint(v, ArrayLayout(major_to_minor=tuple(range(v.ndim))))  # noqa: E731
    return held(transform(held(u)))


# ---- modes ------------------------------------------------------------------------------------------------------


def truncate(u_hat: Array, layout: Layout, axis: int, at: int) -> Array:
    """Keep the retained modes of physical axis `axis`, which lies at array axis `at`."""
    if layout.dealias == "none":
        return u_hat
    highest = layout.highest_mode(axis)
    low = _cut(u_hat, at, 0, highest + 1)
    if layout.is_half(axis):
        return low
    return jnp.concatenate([low, _cut(u_hat, at, u_hat.shape[at] - highest, None)], axis=at)


def extend(u_hat: Array, layout: Layout, axis: int, at: int) -> Array:
    """Put zeros where modes of physical axis `axis`, which lies at array axis `at`, were dropped."""
    if layout.dealias == "none":
        return u_hat
    points, highest = layout.points[axis], layout.highest_mode(axis)
    if layout.is_half(axis):
        return resize(u_hat, at, points // 2 + 1)
    low, high = _cut(u_hat, at, 0, highest + 1), _cut(u_hat, at, highest + 1, None)
    gap = jnp.zeros((*u_hat.shape[:at], points - 2 * highest - 1, *u_hat.shape[at:][1:]), u_hat.dtype)
    return jnp.concatenate([low, gap, high], axis=at)


def resize(u: AnyArray, at: int, length: int) -> AnyArray:
    """Cut array axis `at` off, or pad it with zeros, at its end."""
    if u.shape[at] >= length:
        return u if u.shape[at] == length else _cut(u, at, 0, length)
    widths = [(0, 0)] * u.ndim
    widths[at] = (0, length - u.shape[at])
    return jnp.pad(u, widths)


def fit(u: AnyArray, shape: Sequence[int]) -> AnyArray:
    """Cut the last axes off, or pad them with zeros, at their ends, to `shape`."""
    for at, length in zip(range(-len(shape), 0), shape, strict=True):
        u = resize(u, at, length)
    return u


def _cut(u: AnyArray, at: int, start: int, stop: int | None) -> AnyArray:
    return u[(..., slice(start, stop), *[slice(None)] * (-at - 1))]


def check_shape(what: str, given: Sequence[int], needed: tuple[int, ...]) -> None:
    """Raises ValueError where the last axes are not those needed."""
    if tuple(given[max(0, len(given) - len(needed)) :]) != needed:
        raise ValueError(f"{what} of shape {list(given)} on a grid that needs the last axes to be {list(needed)}")


def as_dtype(u: AnyArray, dtype: Any) -> AnyArray:
    """An array of this dtype. NumPy's stay NumPy's: they are not to pass through a single device."""
    return u if u.dtype == dtype else u.astype(dtype)


# ---- exchange ---------------------------------------------------------------------------------------------------


def exchange(u: Array, name: str | None, parts: int, *, cut: int, join: int, order: Sequence[int]) -> Array:
    """Split array axis `cut` over the devices of mesh axis `name`, and make axis `join`, split so far, whole.

    Sends part i of axis `cut` to device i. Packing carries the transposition.

    Args:
        u: one device's block.
        name: None keeps the array whole and only transposes.
        parts: number of devices.
        cut, join: negative axes of `u`.
        order: the axes of `u` in the order wanted.
    """
    lead = u.ndim - len(order)
    if name is None or parts == 1:
        return u.transpose(*range(lead), *(u.ndim + axis for axis in order))
    cut += u.ndim
    pieces = u.reshape(*u.shape[:cut], parts, -1, *u.shape[cut + 1 :])
    packed = jnp.moveaxis(pieces, cut, 0).transpose(*range(lead + 1), *(u.ndim + 1 + axis for axis in order))
    received = lax.all_to_all(packed, name, split_axis=0, concat_axis=0)
    at = lead + list(order).index(join)
    joined = jnp.moveaxis(received, 0, at)
    return joined.reshape(*joined.shape[:at], -1, *joined.shape[at + 2 :])
