"""Products of real and complex numbers, as few as they take."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def times(a: Any, b: Any) -> Any:
    """a · b, for arrays and numbers of any kinds that broadcast.

    Where one is real and the other a complex array, each part is multiplied: two products. XLA makes the real one
    complex first, which takes four and two sums, since compilers must not leave out what is multiplied by zero.
    """
    if jnp.iscomplexobj(a) is jnp.iscomplexobj(b):
        return a * b
    real, other = (b, a) if jnp.iscomplexobj(a) else (a, b)
    return jax.lax.complex(real * other.real, real * other.imag) if isinstance(other, jax.Array) else a * b


def times_i(a: Any) -> Any:
    """i a."""
    if isinstance(a, jax.Array) and jnp.iscomplexobj(a):
        return jax.lax.complex(-a.imag, a.real)
    return 1j * a
