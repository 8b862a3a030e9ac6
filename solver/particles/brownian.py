"""Particles that the fluid carries and that jump at random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.particles.flow import Flow
from solver.particles.particles import Particles


class Brownian(Particles):
    """Particles that diffuse in the flow: dx = u(x, t) dt + √(2κ) dW.

    Half of each step's random displacement comes before the step, half after it: averages over many particles have an
    error of second order in the step. The numbers are drawn by particle and step, the same on any devices.

    Args:
        diffusivity: κ [length²/time].
    """

    diffusivity: ArrayLike = 0.0

    name = "brownian"

    def __check_init__(self) -> None:
        kappa = self.diffusivity
        if not isinstance(kappa, jax.core.Tracer) and not float(np.min(kappa)) > 0:
            raise ValueError(f"particles brownian: diffusivity = {kappa}; a positive number is needed")

    def motion(self, flow: Flow, particle: Mapping[str, Array], t: ArrayLike) -> Mapping[str, Any]:
        return {"position": flow.velocity}

    def kick(self, particle: Mapping[str, Array], dt: ArrayLike, normal: Any) -> Mapping[str, Array]:
        return {"position": jnp.sqrt(2 * self.diffusivity * dt) * normal("position")}
