"""The Klein–Gordon equation with a cubic force, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, weighted_mean_square
from solver.equations.base import Equation, require
from solver.equations.field import Field
from solver.grid import Grid
from solver.operators import Fields, Matrix

WAVE_FIELDS = {"phi": Field(units="phi"), "rate_of_phi": Field(units="phi/time")}


class KleinGordon(Equation):
    """φ_tt = c²∇²φ − m²φ − λφ³, on a periodic box.

    Held as φ and π = φ_t. Waves are one matrix per mode, so that ω² = c²k² + m² is exact for any step with
    integrating-factor and exponential steppers; λφ³ costs one inverse transform and one forward per right-hand side. It
    is cubic: two-thirds dealiasing leaves a little aliasing (`one-half` none), so the field must be resolved (its
    spectrum falling over several decades). Conserves the energy ⟨½π² + ½c²|∇φ|² + ½m²φ² + ¼λφ⁴⟩.

    Good values: c = m = 1, λ = 0 (free waves) to 1, φ of order 1 in a box of 20 to 100; steps of 0.1 with `ifrk4`. For
    λ < 0 a large field grows without bound.

    Args:
        grid: one to three dimensions, real fields.
        wave_speed: c ≥ 0 [length/time].
        mass: m ≥ 0 [1/time].
        coupling: λ [1/(time²·φ²)].

    Source: Strauss & Vazquez, J. Comput. Phys. 28 (1978) 271.
    """

    wave_speed: ArrayLike = 1.0
    mass: ArrayLike = 1.0
    coupling: ArrayLike = 0.0

    name: ClassVar[str] = "klein-gordon"
    fields: ClassVar[dict[str, Field]] = WAVE_FIELDS
    units: ClassVar[dict[str, str]] = {"energy": "phi^2/time^2", "mean_square": "phi^2", "max_phi": "phi", "cfl": "1"}

    def __check_init__(self) -> None:
        require("wave_speed", self.wave_speed, "zero or more", least=0)
        require("mass", self.mass, "zero or more", least=0)
        require("coupling", self.coupling, "a finite number")

    def linear(self) -> Matrix:
        return wave_operator(self.grid, self.wave_speed, self.mass)

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """0 and −λφ³."""
        cube = self.transform.pointwise(_cube, fields["phi"])
        return {"phi": jnp.zeros_like(cube), "rate_of_phi": -self.coupling * cube}

    def rate(self, fields: Fields) -> Array:
        """Fastest oscillation without waves, √(m² + 3|λ| max φ²); waves are exact."""
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
        held = 0.5 * self.mass**2 * mean_square(fields["phi"], self.grid) + 0.25 * self.coupling * jnp.mean(phi**4)
        return wave_energy(fields, self.grid, self.wave_speed) + held

    def _fastest(self, phi: Array) -> Array:
        return jnp.sqrt(self.mass**2 + 3 * jnp.abs(self.coupling) * jnp.max(phi * phi))


def wave_operator(grid: Grid, wave_speed: ArrayLike, mass: ArrayLike) -> Matrix:
    """φ_t = π, π_t = c²∇²φ − m²φ, of two fields in this order: one real matrix per mode."""
    k2 = grid.k_squared()
    stiffness = wave_speed**2 * k2 + mass**2
    zero = jnp.zeros_like(k2)
    rows = [[zero, jnp.ones_like(k2)], [-stiffness, zero]]
    return Matrix(jnp.stack([jnp.stack(row) for row in rows]), tuple(WAVE_FIELDS))


def wave_energy(fields: Fields, grid: Grid, wave_speed: ArrayLike) -> Array:
    """⟨½π² + ½c²|∇φ|²⟩."""
    slope = weighted_mean_square(fields["phi"], grid.k_squared(), grid)
    return 0.5 * mean_square(fields["rate_of_phi"], grid) + 0.5 * wave_speed**2 * slope


def _cube(phi: Array) -> Array:
    """φ³."""
    return phi * phi * phi
