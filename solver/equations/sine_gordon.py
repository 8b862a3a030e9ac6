"""The sine-Gordon equation in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.equations.system import require
from solver.equations.waves import WaveEquation
from solver.operators import Fields


class SineGordon(WaveEquation):
    """φ_tt = c²∇²φ − m² sin φ, on a periodic box.

    Held as φ and π = φ_t. Small waves, ω² = c²k² + m², are the linear part, one matrix per mode, exact for any step
    with integrating-factor and exponential steppers; m²(φ − sin φ) costs one inverse transform and one forward per
    right-hand side. A sine has all harmonics: some aliasing remains whatever the rule, so the field must be resolved
    (its spectrum falling over several decades). In one dimension kinks and breathers pass through each other.
    Conserves the energy ⟨½π² + ½c²|∇φ|² + m²(1 − cos φ)⟩.

    Good values: c = m = 1 in a box of 40 or more with points 0.2 apart; steps of 0.02 to 0.1 with `etdrk4`. φ must be
    periodic: as many kinks as antikinks.

    Args:
        grid: one to three dimensions, real fields.
        wave_speed: c > 0 [length/time].
        mass: m > 0 [1/time].

    Source: Ablowitz, Kaup, Newell & Segur, Phys. Rev. Lett. 30 (1973) 1262; Scott, Chu & McLaughlin, Proc. IEEE 61
    (1973) 1443.
    """

    name: ClassVar[str] = "sine-gordon"
    units: ClassVar[dict[str, str]] = {"energy": "1/time^2", "mean_square": "1", "max_phi": "1", "cfl": "1"}

    def __check_init__(self) -> None:
        for name in ("wave_speed", "mass"):
            require(name, getattr(self, name), "a positive number", above=0)

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """0 and m²(φ − sin φ)."""
        excess = self.transform.pointwise(_excess, fields["phi"])
        return {"phi": jnp.zeros_like(excess), "rate_of_phi": self.mass**2 * excess}

    def rate(self, fields: Fields) -> Array:
        """m, the frequency of a uniform oscillation; waves are exact."""
        return self._fastest(fields["phi"])

    def _held(self, fields: Fields, phi: Array) -> Array:
        """Potential energy without slopes, m²⟨1 − cos φ⟩."""
        return self.mass**2 * jnp.mean(1 - jnp.cos(phi))

    def _fastest(self, phi: Array) -> Array:
        """Largest frequency of a uniform oscillation: m, whatever the field."""
        return jnp.asarray(self.mass, self.grid.dtype)


def _excess(phi: Array) -> Array:
    """φ − sin φ."""
    return phi - jnp.sin(phi)
