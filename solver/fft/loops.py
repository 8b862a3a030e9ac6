"""Loops over blocks of an array, each small enough to stay in a core's cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

BLOCK_BYTES = 2**19  # of complex numbers that a turn of a loop works on: half of a core's second-level cache, or less


def block_length(dtype: Any, *sides: int) -> int:
    """How many planes with these sides a block holds."""
    return max(1, BLOCK_BYTES // (jnp.dtype(dtype).itemsize * math.prod(sides)))


def blank(shape: tuple[int, ...], dtype: Any, data: Array, i: int = 0) -> Array:
    """An array for a loop to fill.

    It repeats number i of `data`, on which it so depends: XLA takes constants out of a surrounding loop over steps,
    and would keep each for the whole run and copy it at every turn. Arrays of one shape for the same loop need
    different i: XLA would fill one and copy it to the others.
    """
    number = data.ravel()[i % data.size]
    return jnp.full(shape, number if jnp.iscomplexobj(jnp.zeros(0, dtype)) else number.real, dtype)


def loop(total: int, blocks: int, body: Callable[[Any, int, Any], Any], carry: Any) -> Any:
    """`carry = body(start, count, carry)` for as many blocks that cover `total`.

    All blocks are of one length; the last one starts early enough to end in time, and repeats what overlaps.
    """
    return loop_over_batch(1, total, blocks, lambda _, start, count, carry: body(start, count, carry), carry)


def loop_over_batch(batch: int, total: int, blocks: int, body: Callable[[Any, Any, int, Any], Any], carry: Any) -> Any:
    """The same for each b: `carry = body(b, start, count, carry)`."""
    count = math.ceil(total / blocks)
    blocks = math.ceil(total / count)
    if batch * blocks == 1:
        return body(0, 0, total, carry)

    def turn(i: Array, carry: Any) -> Any:
        return body(lax.div(i, blocks), jnp.minimum(lax.rem(i, blocks) * count, total - count), count, carry)

    return lax.fori_loop(0, batch * blocks, turn, carry)


def take(u: Array, start: Any, count: int, axis: int) -> Array:
    """Part of an axis; the array itself where that is the whole axis."""
    return u if count == u.shape[axis] else lax.dynamic_slice_in_dim(u, start, count, axis)


def put(u: Array, block: Array, start: Any, axis: int) -> Array:
    """The array with a part of an axis replaced; the block itself where that is the whole axis."""
    return block if block.shape == u.shape else lax.dynamic_update_slice_in_dim(u, block, start, axis)
