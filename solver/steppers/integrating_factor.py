"""Integrating-factor Runge–Kutta methods: the linear part exactly, the rest by a classical scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.equations.base import Equation
from solver.steppers.base import Stepper


@dataclass(frozen=True)
class IFRK4(Stepper):
    """Classical four-stage Runge–Kutta on v = exp(−L t) û: order 4, four evaluations of N.

    Exact where N = 0, for any complex L. Good where L is not stiff against N (viscosity); for stiff, forced
    balances take `etdrk4`, whose error does not grow with L. With a changing dt its one factor is recomputed.

    Source: Canuto, Hussaini, Quarteroni & Zang, Spectral Methods (2007), appendix D.
    """

    name: ClassVar[str] = "ifrk4"
    order: ClassVar[int] = 4
    takes: ClassVar[type] = Equation
    stages_held: ClassVar[int] = 3

    def coefficients(self, equation: Equation, dt: ArrayLike) -> Array:
        """E = exp(L dt/2)."""
        return jnp.exp(0.5 * dt * equation.linear())

    def step(
        self,
        equation: Equation,
        field: Array,
        history: tuple[()],
        t: ArrayLike,
        dt: ArrayLike,
        coefficients: Array,
    ) -> tuple[Array, tuple[()]]:
        N, E, u = equation.nonlinear, coefficients, field
        a = N(u, t)
        total = E * (u + dt / 6 * a)
        b = N(E * (u + dt / 2 * a), t + dt / 2)
        total = total + dt / 3 * b
        c = N(E * u + dt / 2 * b, t + dt / 2)
        total = E * (total + dt / 3 * c)
        d = N(E * (E * u + dt * c), t + dt)
        return equation.constrain(total + dt / 6 * d), history
