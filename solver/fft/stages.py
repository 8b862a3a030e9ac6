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
from jax.experimental.layout import Layout as ArrayLayout, with_layout_constraint
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxtyping import Array

from solver.fft.wire import all_to_all
from solver.grid.layout import Layout

AnyArray: TypeAlias = Array | np.ndarray  # NumPy's may be passed outside of jit
EXPORTING: ContextVar[bool] = ContextVar("EXPORTING", default=False)  # whether the program is for `jax.export`
LARGEST_CALL = 2**31  # elements: XLA left GPU FFTs of as many unscaled, without an error (openxla/xla issue 45009)
_table = Primitive("table")

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


def _in_calls(transform: Callable[[Array], Array], u: Array, last: int) -> Array:
    """A transform along the last axes, in calls whose arrays each have fewer than `LARGEST_CALL` elements.

    A batch that has no size yet, as `jax.export` may have it, is one call.

    Raises:
        ValueError: a single transform has `LARGEST_CALL` elements or more.
    """
    lead = u.shape[: u.ndim - last]
    if not has_sizes(lead):
        return _row_major(transform, u)
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


def has_sizes(shape: Sequence[Any]) -> bool:
    """True if each side of a shape is a number, and none a symbol of `jax.export`."""
    return all(isinstance(side, int) for side in shape)


def _row_major(transform: Callable[[Array], Array], u: Array) -> Array:
    """A transform with its operand and result row-major in memory.

    Without the constraint XLA (seen with jaxlib 0.12, batches on several devices) folds a neighbouring transposition
    into the layout of one of them, and its CPU kernel then fails at run time: "IsMonotonicWithDim0Major".
    """
    return _pin_row_major(transform(_pin_row_major(u)))


def _pin_row_major(u: Array) -> Array:
    """The same array, row-major in memory.

    An exported program may not hold constraints of layouts; there a barrier keeps u apart from its neighbours.
    """
    if EXPORTING.get():
        return jax.lax.optimization_barrier(u)
    return with_layout_constraint(u, ArrayLayout(major_to_minor=tuple(range(u.ndim))))


# ---- modes ------------------------------------------------------------------------------------------------------


def truncate(u_hat: Array, layout: Layout, axis: int, array_axis: int, *, gather: bool = False) -> Array:
    """Keep the retained modes of physical axis `axis`, which lies at array axis `array_axis`.

    `gather` takes each kept mode from its place; otherwise two parts are joined. XLA's GPU compiler merges gathered
    modes into the kernel that reads them; joined parts stay a kernel of their own. Parts that are sent one after
    the other must not be merged, so there `gather` is False.
    """
    if layout.dealias == "none":
        return u_hat
    highest = layout.highest_mode(axis)
    if layout.is_half(axis):
        return _slice(u_hat, array_axis, 0, highest + 1)
    length = u_hat.shape[array_axis]
    if gather:
        places = table(np.r_[0 : highest + 1, length - highest : length].astype(np.int32))
        where = (..., places, *[slice(None)] * (-array_axis - 1))
        return u_hat.at[where].get(mode="promise_in_bounds", indices_are_sorted=True, unique_indices=True)
    low, high = _slice(u_hat, array_axis, 0, highest + 1), _slice(u_hat, array_axis, length - highest, None)
    return jnp.concatenate([low, high], axis=array_axis)


def extend(u_hat: Array, layout: Layout, axis: int, array_axis: int) -> Array:
    """Inverse of `truncate`: zeros where modes were dropped. The arguments are the same as in `truncate`."""
    if layout.dealias == "none":
        return u_hat
    points, highest = layout.points[axis], layout.highest_mode(axis)
    if layout.is_half(axis):
        return resize(u_hat, array_axis, points // 2 + 1)
    gap = points - 2 * highest - 1
    low, high = _slice(u_hat, array_axis, 0, highest + 1), _slice(u_hat, array_axis, highest + 1, None)
    zeros = jnp.zeros((*u_hat.shape[:array_axis], gap, *u_hat.shape[array_axis:][1:]), u_hat.dtype)
    return jnp.concatenate([low, zeros, high], axis=array_axis)


def resize(u: AnyArray, array_axis: int, length: int) -> AnyArray:
    """Array axis `array_axis` cut, or padded with zeros, at its end to `length`."""
    if u.shape[array_axis] >= length:
        return u if u.shape[array_axis] == length else _slice(u, array_axis, 0, length)
    widths = [(0, 0)] * u.ndim
    widths[array_axis] = (0, length - u.shape[array_axis])
    return jnp.pad(u, widths)


def fit(u: AnyArray, shape: Sequence[int]) -> AnyArray:
    """The last axes cut, or padded with zeros, at their ends to `shape`."""
    for array_axis, length in zip(range(-len(shape), 0), shape, strict=True):
        u = resize(u, array_axis, length)
    return u


def _slice(u: AnyArray, array_axis: int, start: int, stop: int | None) -> AnyArray:
    """Entries `start` to `stop` of array axis `array_axis`."""
    return u[(..., slice(start, stop), *[slice(None)] * (-array_axis - 1))]


def check_shape(name: str, shape: Sequence[Any], last_axes: tuple[int, ...]) -> None:
    """Raises ValueError where a shape does not end in `last_axes`; `name` is what the message calls the array."""
    if tuple(shape[max(0, len(shape) - len(last_axes)) :]) != last_axes:
        raise ValueError(f"{name} of shape {list(shape)} on a grid that needs the last axes to be {list(last_axes)}")


def as_dtype(u: AnyArray, dtype: Any) -> AnyArray:
    """The array with this dtype. NumPy arrays stay NumPy arrays, so that they do not pass through a single device."""
    return u if u.dtype == dtype else u.astype(dtype)


def real_dtype(dtype: Any) -> np.dtype:
    """Dtype of the real part of numbers of this dtype."""
    return np.empty(0, dtype).real.dtype


# ---- exchange ---------------------------------------------------------------------------------------------------


def exchange(
    u: Array, name: str | None, parts: int, *, split_axis: int, concat_axis: int, dimensions: int, precision: str
) -> Array:
    """Split array axis `split_axis` over the devices of mesh axis `name`, and make the split axis `concat_axis` whole.

    Sends part i of axis `split_axis` to device i. Axes keep their order, so that the sent array is not transposed. A
    later transposition is one pass over the received array, together with the zeros that are put in.

    Args:
        u: one device's block.
        name: mesh axis; None returns the array as it is.
        parts: number of devices on the mesh axis.
        split_axis, concat_axis: negative axes of `u`.
        dimensions: number of axes in space, the last ones of `u`.
        precision: precision of the numbers that are sent, one of `solver.fft.wire.PRECISIONS`.
    """
    if name is None or parts == 1:
        return u
    split_axis, concat_axis = split_axis + u.ndim, concat_axis + u.ndim
    pieces = jnp.moveaxis(u.reshape(*u.shape[:split_axis], parts, -1, *u.shape[split_axis + 1 :]), split_axis, 0)
    received = jnp.moveaxis(all_to_all(pieces, name, precision, dimensions), 0, concat_axis)
    return received.reshape(*received.shape[:concat_axis], -1, *received.shape[concat_axis + 2 :])


def reorder(u: Array, order: Sequence[int]) -> Array:
    """The last axes in another order, given as negative numbers, of an array that is row-major before."""
    lead = u.ndim - len(order)
    return _pin_row_major(u).transpose(*range(lead), *(u.ndim + axis for axis in order))


def transposed(u: Array, order: Sequence[int]) -> Array:
    """The axes in space in another order. XLA decides whether the elements move in memory."""
    lead = u.ndim - len(order)
    return u.transpose(*range(lead), *(lead + axis for axis in order))


def table(numbers: np.ndarray) -> Array:
    """The numbers as an array of the program that is traced.

    JAX makes an array that a function closes over an input of its program, and `custom_partitioning` takes no function
    with such inputs. A table is an operation without operands, which holds its numbers itself.
    """
    return _table.bind(content=numbers.tobytes(), shape=numbers.shape, dtype=numbers.dtype)


def _numbers(content: bytes, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.frombuffer(content, dtype).reshape(shape)


def _lower(context: Any, **numbers: Any) -> Any:
    return [mlir.ir_constant(_numbers(**numbers))]


_table.def_impl(lambda **numbers: jnp.asarray(_numbers(**numbers)))
_table.def_abstract_eval(lambda content, shape, dtype: jax.core.ShapedArray(shape, dtype))
mlir.register_lowering(_table, _lower)
