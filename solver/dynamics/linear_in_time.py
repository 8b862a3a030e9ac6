"""Λ(t), the linear part of an equation of a text that depends on time, on the modes of its grid."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from solver.dynamics.at_points import AtPoints
from solver.dynamics.text_dynamics import TextDynamics
from solver.operators import LinearOperator
from solver.written.in_time import LinearInTime, linear_in_time

NODES, WEIGHTS = (each.tolist() for each in np.polynomial.legendre.leggauss(4))  # for polynomials to the degree 7


class VaryingLinear:
    """Λ(t), diagonal as L is, so that exp ∫Λ dt is exact but for the quadrature in time.

    Args:
        equation: equation of a text.
        found: Λ in the text.
    """

    def __init__(self, equation: Any, found: LinearInTime) -> None:
        self.dynamics, self.found = TextDynamics(equation), found

    def at(self, t: ArrayLike) -> LinearOperator:
        """Λ(t) [1/time]."""
        on_grid, names = self.dynamics.on_grid, tuple(self.found.numbers)
        function = AtPoints.of_text(on_grid.text, self.found.numbers.values())
        t = jnp.asarray(t, self.dynamics.equation.grid.dtype)
        values = function.made({}, on_grid.numbers(on_grid.modes(t), function), {}, ())
        return self.dynamics.operator(self.found.linear, dict(zip(names, values, strict=True)))

    def exp(self, t: ArrayLike, dt: ArrayLike) -> LinearOperator:
        """exp ∫Λ dt from t to t + dt, by Gauss and Legendre's quadrature with four nodes."""
        parts = [self.at(t + 0.5 * (1 + node) * dt) for node in NODES]
        mean = lambda *entries: sum(0.5 * w * entry for w, entry in zip(WEIGHTS, entries, strict=True))  # noqa: E731
        return jax.tree.map(mean, *parts).exp(jnp.asarray(dt, self.dynamics.equation.grid.dtype))


def varying_linear(equation: Any) -> VaryingLinear | None:
    """Λ(t) of an equation of a text in a periodic box; None without one that is diagonal."""
    if equation.grid.walls:
        return None
    found = linear_in_time(equation.plain_text, equation.grid.dimensions)
    return None if found is None else VaryingLinear(equation, found)
