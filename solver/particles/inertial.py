"""Heavy and light particles, which follow the fluid with a delay, and the linear part of their drag."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.operators import Fields, LinearOperator
from solver.operators.phi import phi_functions
from solver.particles.flow import Flow
from solver.particles.particles import Particles


class Inertial(Particles):
    """Small spheres under Stokes' drag, gravity, added mass and the pressure of the fluid.

        dx/dt = v,   dv/dt = (u − v)/τ + (1 − β) g + β Du/Dt,   β = 3ρ_f/(2ρ_p + ρ_f)

    without the history force. They begin with the velocity of the fluid. Exponential steppers integrate the drag on
    position and velocity exactly: they take steps of any length, at a lower order where τ is much shorter than a step.
    Other steppers treat it explicitly, integrating-factor ones too: at order four they need dt ≤ 2.78 τ.

    Args:
        response_time: τ [time].
        density_ratio: ρ_p/ρ_f of particle and fluid; particles much heavier than the fluid (β = 0) if None, static.
        gravity: g along each direction [length/time²], a number for each; none by default.

    Source: Maxey & Riley, Phys. Fluids 26 (1983) 883, for small particles.
    """

    response_time: ArrayLike = 0.0
    density_ratio: float | None = None
    gravity: tuple[float, ...] = ()

    name = "inertial"
    holds: ClassVar = {"velocity": "vector"}

    def __check_init__(self) -> None:
        time = self.response_time
        if not isinstance(time, jax.core.Tracer) and not float(np.min(time)) > 0:
            raise ValueError(f"particles inertial: response_time = {time}; a positive time is needed")
        if self.density_ratio is not None and not self.density_ratio > 0:
            raise ValueError(f"particles inertial: density_ratio = {self.density_ratio}; a positive number is needed")

    def motion(self, flow: Flow, particle: Mapping[str, Array], t: ArrayLike) -> Mapping[str, Any]:
        v = particle["velocity"]
        beta = 0.0 if self.density_ratio is None else 3 / (2 * self.density_ratio + 1)
        rate = (flow.velocity - v) / self.response_time
        if self.gravity:
            if len(self.gravity) != len(v):
                raise ValueError(f"particles inertial: gravity = {list(self.gravity)}; {len(v)} numbers are needed")
            rate = rate + (1 - beta) * jnp.asarray(self.gravity, v.dtype)[:, None]
        if self.density_ratio is not None:
            rate = rate + beta * flow.acceleration
        return {"position": v, "velocity": rate}

    def start_of(self, flow: Flow, particle: Mapping[str, Array]) -> Mapping[str, Array]:
        return {"velocity": flow.velocity}

    def reflected(self, particle: Mapping[str, Array], normal: Array, surface: Array) -> Mapping[str, Array]:
        v = particle["velocity"]
        towards = jnp.minimum(jnp.sum((v - surface) * normal, axis=0), 0)
        return {"velocity": v - 2 * towards * normal}

    def linear(self, equation: Any) -> LinearOperator:
        d = equation.grid.dimensions
        velocity = self.array(equation.grid).rows["velocity"]
        return Drag(0.0, 1.0, -1 / self.response_time, (d, velocity.start, velocity.stop))

    def fastest_decay(self, equation: Any) -> float:
        time = self.response_time
        return 0.0 if isinstance(time, jax.core.Tracer) else 1 / float(np.min(time))


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
