"""The steps that every distributed transform is made of: FFTs, dropping and restoring modes, the exchange.

They act on one device's block; axes are counted from the end, so that any leading axes are batched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.layout import Layout as ArrayLayout
from jax.experimental.layout import with_layout_constraint
from jaxtyping import Array

from solver.grid.layout import Layout

AnyArray: TypeAlias = Array | np.ndarray  # NumPy's may be passed outside of jit
EXPORTING: ContextVar[bool] = ContextVar("EXPORTING", default=False)  # whether `jax.export` lowers what is traced
LARGEST_CALL = 2**31  # elements: from here on XLA left GPU FFTs unscaled, without a word (openxla/xla issue 45009)

# ---- transforms -------------------------------------------------------------------------------------------------


def to_modes(u: Array, layout: Layout, last: int) -> Array:
    """Σ_x u(x) exp(−i k·x) along the last `last` axes, which end with the last axis in space."""
    transform = jnp.fft.rfftn if layout.real else jnp.fft.fftn
    return _in_calls(lambda v: transform(v, axes=range(-last, 0)), u, last)


def to_points(u_hat: Array, layout: Layout, last: int) -> Array:
    """Inverse of `to_modes`, with NumPy's 1/N."""
    axes, shape = range(-last, 0), layout.points[-last:]
    if layout.real:
        return _in_calls(lambda v: jnp.fft.irfftn(v, shape, axes=axes), u_hat, last)
    return _in_calls(lambda v: jnp.fft.ifftn(v, axes=axes), u_hat, last)


def fft(u: Array, last: int = 1) -> Array:
    """Σ u exp(−i k·x) along the last `last` axes."""
    return _in_calls(lambda v: jnp.fft.fftn(v, axes=range(-last, 0)), u, last)


def ifft(u_hat: Array) -> Array:
    """(1/N) Σ û exp(i k x) along the last axis."""
    return _row_major(jnp.fft.ifft, u_hat)


def _in_calls(transform: Callable[[Array], Array], u: Array, last: int) -> Array:
    """A transform along the last axes, in as many calls as keep each array of a call below `LARGEST_CALL` elements.

    Raises:
        ValueError: one transform alone has as many.
    """
    lead = u.shape[: u.ndim - last]
    result = jax.eval_shape(transform, u)
    elements = max(u.size, result.size)
    if elements < LARGEST_CALL:
        return _row_major(transform, u)
    batch = math.prod(lead)
    rows = (LARGEST_CALL - 1) * batch // elements
    if rows < 1:
        raise ValueError(
            f"a transform of {elements // batch} points in one call; below {LARGEST_CALL} is needed: take more devices"
        )
    flat = u.reshape(batch, *u.shape[u.ndim - last :])
    parts = [_row_major(transform, flat[i : i + rows]) for i in range(0, batch, rows)]
    return jnp.concatenate(parts).reshape(result.shape)


def _row_major(transform: Callable[[Array], Array], u: Array) -> Array:
    """A transform with its operand and result held row-major.

    Left free, XLA (seen with jaxlib 0.12, batches on several devices) folds a neighbouring transposition into the
    layout of one of them, and its CPU kernel then fails at run time: "IsMonotonicWithDim0Major".
    """
    return _held(transform(_held(u)))


def _held(u: Array) -> Array:
    """The same array, row-major in memory; while a program is exported, which may not hold constraints of layouts, only
    apart from what surrounds it."""
    if EXPORTING.get():
        return jax.lax.optimization_barrier(u)
    return with_layout_constraint(u, ArrayLayout(major_to_minor=tuple(range(u.ndim))))


# ---- modes ------------------------------------------------------------------------------------------------------


def truncate(u_hat: Array, layout: Layout, axis: int, at: int, *, select: bool = False) -> Array:
    """Keep the retained modes of physical axis `axis`, which lies at array axis `at`.

    `select` makes each kept mode a choice between two places instead of joining two parts. XLA's GPU compiler merges
    such choices into one kernel with their neighbours, and with each other, which parts that are to be sent one after
    the other must not be.
    """
    if layout.dealias == "none":
        return u_hat
    highest = layout.highest_mode(axis)
    if layout.is_half(axis):
        return _cut(u_hat, at, 0, highest + 1)
    kept, length = 2 * highest + 1, u_hat.shape[at]
    if select:
        low, high = _cut(u_hat, at, 0, kept), _cut(u_hat, at, length - kept, None)
        return jnp.where(_places(low, at) <= highest, low, high)
    low, high = _cut(u_hat, at, 0, highest + 1), _cut(u_hat, at, length - highest, None)
    return jnp.concatenate([low, high], axis=at)


def extend(u_hat: Array, layout: Layout, axis: int, at: int, *, select: bool = False) -> Array:
    """Put zeros where modes of physical axis `axis`, which lies at array axis `at`, were dropped; `select` as above."""
    if layout.dealias == "none":
        return u_hat
    points, highest = layout.points[axis], layout.highest_mode(axis)
    if layout.is_half(axis):
        return resize(u_hat, at, points // 2 + 1)
    gap = points - 2 * highest - 1
    if select:
        low, high = _padded(u_hat, at, 0, gap), _padded(u_hat, at, gap, 0)
        place = _places(low, at)
        return jnp.where(place <= highest, low, jnp.where(place >= points - highest, high, 0))
    low, high = _cut(u_hat, at, 0, highest + 1), _cut(u_hat, at, highest + 1, None)
    zeros = jnp.zeros((*u_hat.shape[:at], gap, *u_hat.shape[at:][1:]), u_hat.dtype)
    return jnp.concatenate([low, zeros, high], axis=at)


def _places(u: Array, at: int) -> Array:
    """0, 1, … along array axis `at`, in the shape of `u`."""
    return lax.broadcasted_iota(np.int32, u.shape, u.ndim + at)


def _padded(u: Array, at: int, before: int, after: int) -> Array:
    """Zeros before and after, along array axis `at`."""
    widths = [(0, 0, 0)] * u.ndim
    widths[at] = (before, after, 0)
    return lax.pad(u, jnp.zeros((), u.dtype), widths)


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


def real_dtype(dtype: Any) -> np.dtype:
    """Dtype of the real part of numbers of this dtype."""
    return np.empty(0, dtype).real.dtype


# ---- exchange ---------------------------------------------------------------------------------------------------


def exchange(u: Array, name: str | None, parts: int, *, cut: int, join: int) -> Array:
    """Split array axis `cut` over the devices of mesh axis `name`, and make axis `join`, split so far, whole.

    Sends part i of axis `cut` to device i. Axes keep their order: what is sent lies as it did, and a transposition is
    one pass over what arrives, together with the zeros that are put in.

    Args:
        u: one device's block.
        name: None leaves the array as it is.
        parts: number of devices.
        cut, join: negative axes of `u`.
    """
    if name is None or parts == 1:
        return u
    cut, join = cut + u.ndim, join + u.ndim
    pieces = jnp.moveaxis(u.reshape(*u.shape[:cut], parts, -1, *u.shape[cut + 1 :]), cut, 0)
    received = jnp.moveaxis(lax.all_to_all(pieces, name, split_axis=0, concat_axis=0), 0, join)
    return received.reshape(*received.shape[:join], -1, *received.shape[join + 2 :])


def reorder(u: Array, order: Sequence[int]) -> Array:
    """The last axes in the order given, as negative numbers."""
    lead = u.ndim - len(order)
    return _held(u).transpose(*range(lead), *(u.ndim + axis for axis in order))
