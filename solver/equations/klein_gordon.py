"""The Klein–Gordon equation with a cubic force, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square
from solver.equations.system import require
from solver.equations.waves import WaveEquation
from solver.fft import max_over_points
from solver.operators import Fields


class KleinGordon(WaveEquation):
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

    coupling: ArrayLike = 0.0

    name: ClassVar[str] = "klein-gordon"
    units: ClassVar[dict[str, str]] = {"energy": "phi^2/time^2", "mean_square": "phi^2", "max_phi": "phi", "cfl": "1"}

    def __check_init__(self) -> None:
        require("wave_speed", self.wave_speed, "zero or more", least=0)
        require("mass", self.mass, "zero or more", least=0)
        require("coupling", self.coupling, "a finite number")

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """0 and −λφ³."""
        cube = self.transform.pointwise(_cube, fields["phi"])
        return {"phi": jnp.zeros_like(cube), "rate_of_phi": -self.coupling * cube}

    def _held(self, fields: Fields, phi: Array) -> Array:
        """Potential energy without slopes, ½m²⟨φ²⟩ + ¼λ⟨φ⁴⟩."""
        return 0.5 * self.mass**2 * mean_square(fields["phi"], self.grid) + 0.25 * self.coupling * jnp.mean(phi**4)

    def _fastest(self, phi: Array) -> Array:
        """Largest frequency of a uniform oscillation, √(m² + 3|λ| max φ²)."""
        return jnp.sqrt(self.mass**2 + 3 * jnp.abs(self.coupling) * max_over_points(phi * phi))


def _cube(phi: Array) -> Array:
    """φ³."""
    return phi * phi * phi
