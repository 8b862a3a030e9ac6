"""Exponential time differencing: the linear part exactly, the rest integrated against its propagator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.equations.base import Equation
from solver.steppers.base import Stepper

TAYLOR_TERMS = 20  # at |z| = 1 the first term left out is below 1/(23!), far below round-off


@dataclass(frozen=True)
class ETDRK4(Stepper):
    """Four-stage exponential Runge–Kutta of Cox and Matthews: order 4, four evaluations of N.

    For stiff L, real, imaginary or complex. With a changing dt all of its coefficients are recomputed each step.

    Source: Cox & Matthews, J. Comput. Phys. 176 (2002) 430; coefficients written with φ-functions, which are
    evaluated by series near zero instead of the contours of Kassam & Trefethen, SIAM J. Sci. Comput. 26 (2005).
    """

    name: ClassVar[str] = "etdrk4"
    order: ClassVar[int] = 4
    takes: ClassVar[type] = Equation
    stages_held: ClassVar[int] = 5

    def coefficients(self, equation: Equation, dt: ArrayLike) -> tuple[Array, ...]:
        """exp(L dt/2), ½ φ1(L dt/2) dt, and the weights dt·(φ1 − 3φ2 + 4φ3), dt·(2φ2 − 4φ3), dt·(4φ3 − φ2)."""
        z = dt * equation.linear()
        half_phi1 = 0.5 * dt * phi_functions(0.5 * z)[0]
        phi1, phi2, phi3 = phi_functions(z)
        first, middle, last = phi1 - 3 * phi2 + 4 * phi3, 2 * phi2 - 4 * phi3, 4 * phi3 - phi2
        return jnp.exp(0.5 * z), half_phi1, dt * first, dt * middle, dt * last

    def step(
        self,
        equation: Equation,
        field: Array,
        history: tuple[()],
        t: ArrayLike,
        dt: ArrayLike,
        coefficients: tuple[Array, ...],
    ) -> tuple[Array, tuple[()]]:
        E, Q, first, middle, last = coefficients
        N, u = equation.nonlinear, field
        n_u = N(u, t)
        a = E * u + Q * n_u
        n_a = N(a, t + dt / 2)
        b = E * u + Q * n_a
        n_b = N(b, t + dt / 2)
        c = E * a + Q * (2 * n_b - n_u)
        n_c = N(c, t + dt)
        return equation.constrain(E * E * u + first * n_u + middle * (n_a + n_b) + last * n_c), history


def phi_functions(z: Array) -> tuple[Array, Array, Array]:
    """φ_1, φ_2, φ_3 of φ_{j+1}(z) = (φ_j(z) − 1/j!)/z, φ_0 = exp; to round-off for any real or complex z.

    By the recurrence for |z| ≥ 1, by Taylor series below, where the recurrence cancels.
    """
    small = jnp.abs(z) < 1
    safe = jnp.where(small, 1, z)
    near = jnp.where(small, z, 0)
    phi = jnp.exp(safe)
    recurrence = []
    for j in range(3):
        phi = (phi - 1 / math.factorial(j)) / safe
        recurrence.append(phi)
    series = [_taylor(near, j + 1) for j in range(3)]
    phi1, phi2, phi3 = (jnp.where(small, s, r) for s, r in zip(series, recurrence, strict=True))
    return phi1, phi2, phi3


def _taylor(z: Array, j: int) -> Array:
    """φ_j(z) = Σ_n z^n/(n + j)!, by Horner's rule."""
    total = jnp.full_like(z, 1 / math.factorial(TAYLOR_TERMS + j))
    for n in range(TAYLOR_TERMS - 1, -1, -1):
        total = total * z + 1 / math.factorial(n + j)
    return total
