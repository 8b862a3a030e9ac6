"""Coefficients that a stepper computes from the size of a step, stored while that size stays.

Storing them is worth the memory where the linear part couples fields: φ-functions of one small matrix per mode cost
several times as much as the rest of a step. A number per mode is computed again at each step: that costs less than to
read it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.driven import Driven
from solver.operators import Matrix


def unset_coefficients(stepper: Any, driven: Any, dt: Array) -> Any:
    """At the start of a chunk: arrays that belong to no size; `()` where storing them is not worth it.

    They are filled in the chunk, by the same code as all others, so that where a chunk ends changes no bit.
    """
    linear = driven.linear() if isinstance(driven, Driven) else None
    operator = getattr(linear, "operator", None)
    if not isinstance(operator, Matrix):
        return ()
    shapes = jax.eval_shape(stepper.coefficients, driven, dt)
    if not jax.tree.leaves(shapes):
        return ()
    modes = jnp.real(operator.entries[0, 0])  # split over the devices as the coefficients will be
    empty = lambda leaf: _like(leaf, modes)  # noqa: E731
    return jnp.full_like(dt, jnp.nan), jax.tree.map(empty, shapes)


def coefficients_for(stepper: Any, driven: Any, dt: Array, stored: Any) -> tuple[Any, Any]:
    """The stepper's coefficients for this size, and the arrays to store."""
    if not stored:
        return stepper.coefficients(driven, dt), stored
    size, known = stored
    coefficients = jax.lax.cond(dt == size, lambda: known, lambda: stepper.coefficients(driven, dt))
    return coefficients, (dt, coefficients)


def _like(leaf: Any, modes: Array) -> Array:
    """Zeros of a shape, made of an array of modes where the shape is one of them."""
    if leaf.shape[leaf.ndim - modes.ndim :] != modes.shape:
        return jnp.zeros(leaf.shape, leaf.dtype)
    return jnp.broadcast_to(0 * modes, leaf.shape).astype(leaf.dtype)
