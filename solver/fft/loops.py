"""Loops over blocks of an array, each small enough to stay in a core's cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

BLOCK_BYTES = 2**19  # of complex numbers in a block, about: half of a core's second-level cache, or less


def block_length(dtype: Any, *sides: int) -> int:
    """Number of planes with these sides in a block."""
    return max(1, BLOCK_BYTES // (jnp.dtype(dtype).itemsize * math.prod(sides)))


def length_with_least_overlap(total: int, blocks: int) -> int:
    """Length of blocks: of those from half to one and a half times `total / blocks`, one that computes least twice."""
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


def loop(total: int, length: int, body: Callable[[Any, int, Any], Any], carry: Any) -> Any:
    """`carry = body(start, length, carry)` for blocks of this length, which together cover 0, …, total − 1.

    The last block ends at `total`; where it overlaps the block before, the overlap is computed twice.
    """
    return loop_over_batch(1, total, length, lambda _, start, length, carry: body(start, length, carry), carry)


def loop_over_batch(batch: int, total: int, length: int, body: Callable[[Any, Any, int, Any], Any], carry: Any) -> Any:
    """As `loop`, for each b = 0, …, batch − 1: `carry = body(b, start, length, carry)`."""
    blocks = math.ceil(total / length)
    if batch * blocks == 1:
        return body(0, 0, total, carry)

    def turn(i: Array, carry: Any) -> Any:
        start = jnp.minimum(lax.rem(i, blocks) * length, total - length)
        return body(lax.div(i, blocks), start, length, carry)

    return lax.fori_loop(0, batch * blocks, turn, carry)


def take(u: Array, start: Any, count: int, axis: int) -> Array:
    """`count` entries of an axis from `start`; the array itself where these are the whole axis."""
    return u if count == u.shape[axis] else lax.dynamic_slice_in_dim(u, start, count, axis)


def put(u: Array, block: Array, start: Any, axis: int) -> Array:
    """The array with the entries of an axis from `start` replaced by `block`; `block` itself if it replaces all."""
    return block if block.shape == u.shape else lax.dynamic_update_slice_in_dim(u, block, start, axis)
