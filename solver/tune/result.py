"""Compares the fields of two candidates, which hold them in different layouts.

Moving a field from one split to another could need all of it on each device. Instead each candidate sums its field with
random signs, which depend only on the index of a mode or point: the sums of equal fields are equal in any layout. The
difference of such sums has the mean square Σ|a − b|², so sums with several sets of signs also measure the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.operators import Fields

SETS = 16  # of random signs
ROUND_OFF = 100.0  # machine epsilons by which each step may let two results differ


@dataclass(frozen=True)
class Result:
    """Sums that represent the fields after some steps.

    Args:
        sums: for each field, its sum with each set of signs.
        sizes: for each field, the root of the sum of squares.
        tolerances: for each field, by which part of its size each step may let two results differ: the round-off of its
            precision, or one rounding of exchanges where these have less.
    """

    sums: dict[str, np.ndarray]
    sizes: dict[str, float]
    tolerances: dict[str, float]

    @classmethod
    def of(cls, fields: Fields, equation: AnyEquation) -> Result:
        """Compute the sums of fields on devices. Communication: all-reduces only."""
        sent = equation.method.sent_epsilon
        computed = {name: _signed_sums(field, _logical_shape(equation, name)) for name, field in fields.items()}
        return cls(
            {name: np.asarray(sums) for name, (sums, _) in computed.items()},
            {name: float(size) for name, (_, size) in computed.items()},
            {name: max(ROUND_OFF * float(jnp.finfo(u.dtype).eps), sent) for name, u in fields.items()},
        )

    def differs(self, other: Result, steps: int) -> str:
        """Text on a difference beyond what rounding allows for `steps` steps; empty without one."""
        for name, sums in self.sums.items():
            apart = float(np.sqrt(np.mean(np.abs(sums - other.sums[name]) ** 2)))
            allowed = self.tolerances[name] * steps * other.sizes[name]
            if not apart <= allowed:  # written so that NaN counts as a difference
                relative = apart / other.sizes[name] if other.sizes[name] else np.inf
                return f"{name} differs by {relative:.2g} of its size after {steps} steps"
        return ""


def _logical_shape(equation: AnyEquation, name: str) -> tuple[int, ...]:
    """Shape of a field's array, without components and padding."""
    return equation.field_storage()[name].logical_axes(equation.grid)


@partial(jax.jit, static_argnames="shape")
def _signed_sums(field: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Sums of a field with each set of signs, and the root of the sum of its squares; padding is left out."""
    leading = field.ndim - len(shape)
    index = [lax.broadcasted_iota(jnp.uint32, field.shape, axis) for axis in range(field.ndim)]
    inside = jnp.full(field.shape, True)
    for i, n in zip(index[leading:], shape, strict=True):
        inside &= i < n
    values = jnp.where(inside, field, 0).astype(jnp.result_type(field, jnp.float64))
    number = jnp.zeros(field.shape, jnp.uint32)
    for i in index:
        number = _scrambled(number ^ i)
    signs = [1.0 - 2.0 * ((number >> n) & 1) for n in range(SETS)]
    return jnp.stack([jnp.sum(values * sign) for sign in signs]), jnp.sqrt(jnp.sum(jnp.abs(values) ** 2))


def _scrambled(n: Array) -> Array:
    """A mapping of 32-bit words in which every input bit reaches about half of the output bits (MurmurHash3)."""
    n = (n + jnp.uint32(0x9E3779B9)) * jnp.uint32(0xCC9E2D51)
    n = (n ^ (n >> 16)) * jnp.uint32(0x85EBCA6B)
    n = (n ^ (n >> 13)) * jnp.uint32(0xC2B2AE35)
    return n ^ (n >> 16)
