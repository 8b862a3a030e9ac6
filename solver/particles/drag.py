"""The linear part of particles that drag slows, and functions of it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.operators import Fields, LinearOperator
from solver.operators.phi import phi_functions


class Drag(LinearOperator):
    """L of dx/dt = v, dv/dt = −v/τ, or a function f of it; other rows have L = 0.

        L = [[0, 1], [0, −1/τ]],   f(L) = [[f(0), (f(0) − f(−1/τ)) τ], [0, f(−1/τ)]]

    The divided difference of φ_k(tL) is t φ_{k+1}(−t/τ), which keeps its digits for every τ.

    Args:
        at_zero: f(0); 0 of L itself.
        coupling: divided difference, by which the velocity changes the position; 1 of L itself.
        at_rate: f(−1/τ); −1/τ of L itself.
        rows: number of rows of the position, which come first; first row of the velocity, and the row after its last;
            static.
    """

    at_zero: ArrayLike
    coupling: ArrayLike
    at_rate: ArrayLike
    rows: tuple[int, int, int] = eqx.field(static=True)

    def apply(self, fields: Fields) -> Fields:
        return {name: self._applied(y) for name, y in fields.items()}

    def _applied(self, y: Array) -> Array:
        at_zero, coupling, at_rate = (jnp.asarray(f, y.dtype) for f in (self.at_zero, self.coupling, self.at_rate))
        d, begin, end = self.rows
        v, scaled = y[begin:end], at_zero * y
        return jnp.concatenate([scaled[:d] + coupling * v, scaled[d:begin], at_rate * v, scaled[end:]])

    def exp(self, t: ArrayLike) -> Drag:
        z = jnp.asarray(t * self.at_rate)
        return Drag(1.0, t * phi_functions(z)[0], jnp.exp(z), self.rows)

    def phi(self, weights: Mapping[int, float], t: ArrayLike) -> Drag:
        phi = phi_functions(jnp.asarray(t * self.at_rate), max(weights) + 1)
        add_up = lambda values: sum(weight * values[k] for k, weight in weights.items())  # noqa: E731
        at_zero = sum(weight / math.factorial(k) for k, weight in weights.items())
        return Drag(at_zero, t * add_up((None, *phi[1:])), add_up((None, *phi)), self.rows)

    def solve(self, a: ArrayLike, b: ArrayLike) -> Drag:
        at_rate = 1 / (a - b * self.at_rate)
        return Drag(1 / a, b * at_rate / a, at_rate, self.rows)

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        return

    @property
    def spectrum(self) -> str:
        return "real"
