"""Numbers on the wire of an exchange: the pieces as they are, or rounded to fewer bits.

==============  ============================  =====================================================================
precision       bytes of a complex number     what is sent
==============  ============================  =====================================================================
`grid`          16, in float32 8              the numbers as they are
`float32`       8                             float32, without a scale
`float16`       4                             float16, with a power of two for each block that the block is divided by
==============  ============================  =====================================================================

A block is one field of what goes from one device to one other in one message. Fields differ in size by orders of
magnitude, and so do the rows of modes that different devices hold. Members of an ensemble are fields here, so none
depends on the others. A finer block would add bytes for rows that float16 holds anyway: its normal numbers reach from
2^-14 to 2^15, a factor of 5e8.

The scale takes the largest real or imaginary part of a block to between 2^14 and 2^15, so that all of the small numbers
that float16 has are used. It is a power of two: dividing by it does not round. Infinities and NaN do not count for it
and arrive as they are, and their neighbours arrive unharmed.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

PRECISIONS = ("grid", "float32", "float16")
_SENT_BYTES = {"float32": 8, "float16": 4}  # of a complex number
LARGEST = 15  # float16 holds numbers up to 65504: the largest of a block comes to less than 2 to this power


def sent_bytes(precision: str, itemsize: int) -> int:
    """Bytes that a complex number of `itemsize` bytes takes on the wire."""
    return min(itemsize, _SENT_BYTES.get(precision, itemsize))


def all_to_all(pieces: Array, name: str, precision: str, dimensions: int) -> Array:
    """Send piece i to device i; piece i of the result came from device i.

    Derivatives in reverse are rounded in the same way; `float16` has no derivatives forward.

    Args:
        pieces: complex, `(devices, …, x, y, z)`.
        name: mesh axis of the devices.
        precision: one of `PRECISIONS`; one that is not below the precision of the pieces leaves them as they are.
        dimensions: number of axes, the last ones, that share a scale.
    """
    if sent_bytes(precision, pieces.dtype.itemsize) == pieces.dtype.itemsize:
        return _swap(pieces, name)
    if precision == "float32":
        return _swap(pieces.astype(np.complex64), name).astype(pieces.dtype)
    return _through_float16(pieces, name, dimensions)


def _swap(pieces: Array, name: str) -> Array:
    return lax.all_to_all(pieces, name, split_axis=0, concat_axis=0)


# ---- float16 ----------------------------------------------------------------------------------------------------


@functools.partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def _through_float16(pieces: Array, name: str, dimensions: int) -> Array:
    """`all_to_all` in float16. JAX takes what passes through whole numbers as constant: hence a rule of its own."""
    shape = pieces.shape
    exponents = _exponents(pieces, dimensions)
    words = _to_words(_scaled(pieces, LARGEST - exponents)).reshape(shape[0], -1)
    # the exponents travel in the same message, so that there are no more messages than without
    message = jnp.concatenate([words, exponents.astype(np.uint32).reshape(shape[0], -1)], axis=1)
    message = _swap(message, name)
    words, sent = message[:, : words.shape[1]], message[:, words.shape[1] :]
    exponents = sent.astype(np.int32).reshape(exponents.shape)
    return _scaled(_from_words(words.reshape(shape), pieces.dtype), exponents - LARGEST)


def _through_float16_forward(pieces: Array, name: str, dimensions: int) -> tuple[Array, None]:
    return _through_float16(pieces, name, dimensions), None


def _through_float16_backward(name: str, dimensions: int, _: None, cotangent: Array) -> tuple[Array]:
    """Piece i of device j goes to piece j of device i: the exchange is its own transpose."""
    return (_through_float16(cotangent, name, dimensions),)


_through_float16.defvjp(_through_float16_forward, _through_float16_backward)


def _exponents(pieces: Array, dimensions: int) -> Array:
    """The least n with all finite parts of a block below 2^n, within bounds whose powers are normal numbers.

    A block of zeros alone takes the lowest. Numbers below the lowest bound, 1e-33 in float32, are sent with fewer bits.
    """
    parts = jnp.maximum(_finite(jnp.abs(pieces.real)), _finite(jnp.abs(pieces.imag)))
    largest = jnp.max(parts, axis=tuple(range(pieces.ndim - dimensions, pieces.ndim)), keepdims=True)
    highest = np.finfo(largest.dtype).maxexp
    return jnp.clip(jnp.frexp(largest)[1], LARGEST + 1 - highest + 1, highest)


def _finite(values: Array) -> Array:
    return jnp.where(jnp.isfinite(values), values, 0)


def _scaled(pieces: Array, exponents: Array) -> Array:
    """The pieces times 2^exponents, part by part: as a complex product an infinity would turn the other part to NaN."""
    power = _power_of_two(exponents, pieces.real.dtype)
    return lax.complex(pieces.real * power, pieces.imag * power)


def _power_of_two(exponents: Array, dtype: np.dtype) -> Array:
    """2^exponents by its bits: `exp2` is not exact on every processor, and the two ends must agree."""
    kind = np.finfo(dtype)
    whole = {4: np.int32, 8: np.int64}[np.dtype(dtype).itemsize]
    return lax.bitcast_convert_type((exponents.astype(whole) + (kind.maxexp - 1)) << kind.nmant, dtype)


def _to_words(pieces: Array) -> Array:
    """Complex numbers as two float16 each, in one word of 32 bits.

    XLA may widen small floating-point numbers for a collective: on a CPU it sends bfloat16 as float32 (jaxlib 0.10.2).
    Whole numbers it sends as they are. One word for both parts, with room for the exponents, is made by one kernel
    that reads each number once.
    """
    real, imag = (_bits(part).astype(np.uint32) for part in (pieces.real, pieces.imag))
    return real | (imag << 16)


def _bits(part: Array) -> Array:
    return lax.bitcast_convert_type(part.astype(np.float16), np.uint16)


def _from_words(words: Array, dtype: np.dtype) -> Array:
    """The complex numbers of `_to_words`."""
    real_dtype = np.empty(0, dtype).real.dtype
    halves = (words & 0xFFFF, words >> 16)
    real, imag = (lax.bitcast_convert_type(h.astype(np.uint16), np.float16).astype(real_dtype) for h in halves)
    return lax.complex(real, imag)
