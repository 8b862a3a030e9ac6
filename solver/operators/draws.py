"""Random numbers that follow from a key alone: not from the environment, not from the number of devices.

`jax.random` draws otherwise where JAX_THREEFRY_PARTITIONABLE or JAX_DEFAULT_PRNG_IMPL say so, and a run that is resumed
under other variables would continue with other numbers. These functions give the numbers of JAX's own defaults, for any
variables: every number is a function of the key and of its index in the array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from solver.static import no_ambient_mesh

GENERATOR = "threefry2x32"
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))  # of the rounds of a group, by turns
PARITY = np.uint32(0x1BD11BDA)  # of the third word of the key


def random_key(seed: int) -> Array:
    """A key of the generator that all runs use, whatever JAX_DEFAULT_PRNG_IMPL says."""
    with no_ambient_mesh():
        return jax.random.key(seed, impl=GENERATOR)


def uniform(key: Array, shape: Sequence[int], dtype: Any) -> Array:
    """Independent numbers, uniform in [0, 1), of real `dtype`. No communication."""
    return _uniform(_words(key), tuple(shape), np.dtype(dtype), 0.0, 1.0)


def normal(key: Array, shape: Sequence[int], dtype: Any) -> Array:
    """Independent normal numbers of mean 0 and ⟨|n|²⟩ = 1, real or complex. No communication."""
    dtype, words, shape = np.dtype(dtype), _words(key), tuple(shape)
    if not jnp.issubdtype(dtype, jnp.complexfloating):
        return _normal(words, shape, dtype)
    real = np.zeros(0, dtype).real.dtype
    keys = threefry(words, jnp.zeros(2, jnp.uint32), jnp.arange(2, dtype=jnp.uint32))
    parts = [_normal((keys[0][i], keys[1][i]), shape, real) for i in (0, 1)]
    return lax.complex(*parts) / math.sqrt(2)


def two_words(key: Array) -> Array:
    """Two words of 32 random bits, from which more are drawn."""
    return _bits(_words(key), (2,), jnp.uint32)


@jax.jit  # traced once for each shape, and made part of the program that calls it
def threefry(key: tuple[Array, Array], x: Array, y: Array) -> tuple[Array, Array]:
    """Two words of 32 random bits from a key of two words and a counter of two words; all are broadcast.

    The numbers of JAX's own. Each piece of JAX's loop over the rounds is compiled by itself, which takes five times as
    long, and is stored.

    Source: Salmon, Moraes, Dror & Shaw, Proc. SC'11 (2011): Threefry-2x32 of 20 rounds.
    """
    x, y = x.astype(jnp.uint32), y.astype(jnp.uint32)
    words = (*key, key[0] ^ key[1] ^ PARITY)
    x, y = x + words[0], y + words[1]
    for group in range(5):
        for bits in ROTATIONS[group % 2]:
            x = x + y
            y = x ^ ((y << np.uint32(bits)) | (y >> np.uint32(32 - bits)))
        x = x + words[(group + 1) % 3]
        y = y + words[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def _words(key: Array) -> tuple[Array, Array]:
    """The two words of a key; of a key of another generator the first two."""
    data = jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
    return data[0], data[1]


def _normal(words: tuple[Array, Array], shape: tuple[int, ...], dtype: np.dtype) -> Array:
    u = _uniform(words, shape, dtype, np.nextafter(dtype.type(-1), dtype.type(0)), 1.0)
    return dtype.type(math.sqrt(2)) * lax.erf_inv(u)


def _uniform(words: tuple[Array, Array], shape: tuple[int, ...], dtype: np.dtype, low: Any, high: Any) -> Array:
    """Numbers in [low, high): random bits as the fraction of a number in [1, 2), less one, scaled."""
    bits, whole = (32, jnp.uint32) if dtype.itemsize == 4 else (64, jnp.uint64)
    fraction = jnp.finfo(dtype).nmant
    one = np.array(1, dtype).view(np.dtype(whole))
    drawn = (_bits(words, shape, whole) >> np.array(bits - fraction, whole)) | one
    numbers = lax.bitcast_convert_type(drawn, dtype) - dtype.type(1)
    low, high = dtype.type(low), dtype.type(high)
    return lax.max(low, numbers * (high - low) + low)


def _bits(words: tuple[Array, Array], shape: tuple[int, ...], whole: Any) -> Array:
    leading, last = threefry(words, *_counters(shape))
    if whole == jnp.uint32:
        return leading ^ last
    return (leading.astype(whole) << np.array(32, whole)) | last.astype(whole)


def _counters(shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The index of each number in the flat array, as its upper and its lower 32 bits."""
    if math.prod(shape) < 2**32:
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        parts = [lax.broadcasted_iota(jnp.uint32, shape, axis) * np.uint32(n) for axis, n in enumerate(strides)]
        lower = sum(parts, jnp.zeros(shape, jnp.uint32))
        return jnp.zeros(shape, jnp.uint32), lower
    leading, last = _counters(shape[1:])
    step = math.prod(shape[1:])
    row = lax.broadcasted_iota(jnp.uint32, shape, 0)
    low, carry = _product(row, step)
    lower = low + last
    return carry + leading + (lower < low).astype(jnp.uint32), lower


def _product(a: Array, b: int) -> tuple[Array, Array]:
    """Lower and upper 32 bits of a · b, modulo 2⁶⁴."""
    b0, b1 = np.uint32(b & 0xFFFF), np.uint32((b >> 16) & 0xFFFF)
    a0, a1 = a & np.uint32(0xFFFF), a >> 16
    middle = a0 * b1 + ((a0 * b0) >> 16)
    other = a1 * b0 + (middle & np.uint32(0xFFFF))
    upper = a1 * b1 + (middle >> 16) + (other >> 16) + a * np.uint32(b >> 32)
    return a * np.uint32(b & 0xFFFFFFFF), upper
