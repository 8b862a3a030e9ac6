"""Square roots that may be differentiated at zero."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array


def root(square: Array) -> Array:
    """√ of numbers that are zero or more, with the derivative 0 at zero. No communication."""
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
