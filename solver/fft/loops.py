"""Loops over blocks of an array, each small enough to stay in a core's cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

BLOCK_BYTES = 2**19  # of complex numbers in a block: half of a core's second-level cache, or less


def block_length(dtype: Any, *sides: int) -> int:
    """Number of planes with these sides in a block."""
    return max(1, BLOCK_BYTES // (jnp.dtype(dtype).itemsize * math.prod(sides)))


def length_without_overlap(total: int, blocks: int) -> int:
    """Length of blocks of which about `blocks` cover `total`: of those near it, one with the least computed twice."""
    near = math.ceil(total / blocks)
    return min(
        range(math.ceil(near / 2), min(total, near + near // 2) + 1),
        key=lambda length: (math.ceil(total / length) * length, abs(length - near)),
    )


def blank(shape: tuple[int, ...], dtype: Any, data: Array, i: int = 0) -> Array:
    """An array for a loop to fill. Each of its elements is element i of `data`.

    The array depends on `data` because XLA takes constants out of a surrounding loop over steps, keeps them for the
    whole run, and copies them at every turn. Arrays of one shape for the same loop need different i, since XLA would
    fill one array and copy it to the others.
    """
    number = data.ravel()[i % data.size]
    return jnp.full(shape, number if jnp.iscomplexobj(jnp.zeros(0, dtype)) else number.real, dtype)


def loop(total: int, blocks: int, body: Callable[[Any, int, Any], Any], carry: Any) -> Any:
    """`carry = body(start, count, carry)` for about so many blocks, which together cover 0, …, total − 1.

    All blocks have one length, `length_without_overlap`. The last block ends at `total`; where it overlaps the block
    before, the overlap is computed twice.
    """
    return loop_over_batch(1, total, blocks, lambda _, start, count, carry: body(start, count, carry), carry)


def loop_over_batch(batch: int, total: int, blocks: int, body: Callable[[Any, Any, int, Any], Any], carry: Any) -> Any:
    """As `loop`, for each b = 0, …, batch − 1: `carry = body(b, start, count, carry)`."""
    count = length_without_overlap(total, blocks)
    blocks = math.ceil(total / count)
    if batch * blocks == 1:
        return body(0, 0, total, carry)

    def turn(i: Array, carry: Any) -> Any:
        return body(lax.div(i, blocks), jnp.minimum(lax.rem(i, blocks) * count, total - count), count, carry)

    return lax.fori_loop(0, batch * blocks, turn, carry)


def take(u: Array, start: Any, count: int, axis: int) -> Array:
    """`count` entries of an axis from `start`; the array itself where these are the whole axis."""
    return u if count == u.shape[axis] else lax.dynamic_slice_in_dim(u, start, count, axis)


def put(u: Array, block: Array, start: Any, axis: int) -> Array:
    """The array with the entries of an axis from `start` replaced by `block`; `block` itself if it replaces all."""
    return block if block.shape == u.shape else lax.dynamic_update_slice_in_dim(u, block, start, axis)
