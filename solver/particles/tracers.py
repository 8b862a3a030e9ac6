"""Particles that move as the fluid does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jax.typing import ArrayLike
from jaxtyping import Array

from solver.particles.flow import Flow
from solver.particles.particles import Particles


class Tracers(Particles):
    """Particles that move as the fluid does: dx/dt = u(x, t)."""

    name = "tracer"

    def motion(self, flow: Flow, particle: Mapping[str, Array], t: ArrayLike) -> Mapping[str, Any]:
        return {"position": flow.velocity}
