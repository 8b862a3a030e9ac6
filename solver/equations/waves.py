"""What nonlinear wave equations of second order in time share: linear waves, what is reported."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, weighted_mean_square
from solver.equations.base import Equation
from solver.equations.field import Field
from solver.operators import Fields, Matrix


class WaveEquation(Equation):
    """φ_tt = c²∇²φ − m²φ + N(φ), held as φ and π = φ_t: one real matrix per mode, and N."""

    wave_speed: ArrayLike = 1.0
    mass: ArrayLike = 1.0

    fields: ClassVar[dict[str, Field]] = {"phi": Field(units="phi"), "rate_of_phi": Field(units="phi/time")}

    def linear(self) -> Matrix:
        k2 = self.grid.k_squared()
        stiffness = self.wave_speed**2 * k2 + self.mass**2
        zero = jnp.zeros_like(k2)
        rows = [[zero, jnp.ones_like(k2)], [-stiffness, zero]]
        return Matrix(jnp.stack([jnp.stack(row) for row in rows]), tuple(self.fields))

    def rate(self, fields: Fields) -> Array:
        """Fastest oscillation of a uniform field; waves are exact."""
        return self._fastest(self.transform.inverse(fields["phi"]))

    def conserved(self, fields: Fields) -> dict[str, Array]:
        return {"energy": self._energy(fields, self.transform.inverse(fields["phi"]))}

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        phi = self.transform.inverse(fields["phi"])
        return {
            "energy": self._energy(fields, phi),
            "mean_square": mean_square(fields["phi"], self.grid),
            "max_phi": jnp.max(jnp.abs(phi)),
            "cfl": dt * self._fastest(phi),
        }

    def _energy(self, fields: Fields, phi: Array) -> Array:
        """⟨½π² + ½c²|∇φ|²⟩ and the potential energy without slopes, `_held`."""
        slope = weighted_mean_square(fields["phi"], self.grid.k_squared(), self.grid)
        moving = 0.5 * mean_square(fields["rate_of_phi"], self.grid) + 0.5 * self.wave_speed**2 * slope
        return moving + self._held(fields, phi)

    @abstractmethod
    def _held(self, fields: Fields, phi: Array) -> Array:
        """Potential energy without slopes, from coefficients or from values at the points."""

    @abstractmethod
    def _fastest(self, phi: Array) -> Array:
        """Largest frequency of a uniform oscillation [1/time], from values at the points."""
