"""Heavy and light particles, which follow the fluid with a delay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.operators import LinearOperator
from solver.particles.drag import Drag
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
        velocity = self.rows(d)["velocity"]
        return Drag(0.0, 1.0, -1 / self.response_time, (d, velocity.start, velocity.stop))

    def fastest_decay(self, equation: Any) -> float:
        time = self.response_time
        return 0.0 if isinstance(time, jax.core.Tracer) else 1 / float(np.min(time))
