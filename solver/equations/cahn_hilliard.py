"""The Cahn–Hilliard equation of a mixture that separates, in one, two and three dimensions."""

from __future__ import annotations

import math
from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, weighted_mean_square
from solver.equations.base import Equation
from solver.equations.field import Field
from solver.equations.system import require
from solver.fft import max_over_points
from solver.operators import Diagonal, Fields


class CahnHilliard(Equation):
    """c_t = M∇²(c³ − c − κ∇²c), on a periodic box.

    A mixture separates into phases c = ±1 with walls tanh(x/√(2κ)), and its domains coarsen as t^(1/3). Modes of a
    mixture of mean 0 grow at the rate M k²(1 − κk²), fastest at k = 1/√(2κ). The mass ⟨c⟩ is conserved, and the free
    energy ⟨¼(c² − 1)² + ½κ|∇c|²⟩ falls. M(k² − κk⁴) is the linear part, stiff: take an exponential or implicit stepper.
    The series' domain_size is the distance between walls: their energy per area, (2√2/3)√κ, over the free energy.
    The rest costs one inverse transform and one forward per right-hand side. It is cubic: two-thirds dealiasing leaves
    a little aliasing (`one-half` none), so the walls must be resolved (√(2κ) k_max above 2).

    Good values: M = κ = 1 in a box of 100 to 500 with points 1 apart; steps of 0.1 with `etdrk4`.

    Args:
        grid: one to three dimensions, real fields.
        mobility: M > 0 [length²/time].
        gradient_energy: κ > 0 [length²].

    Source: Cahn & Hilliard, J. Chem. Phys. 28 (1958) 258; Cahn, Acta Metall. 9 (1961) 795.
    """

    mobility: ArrayLike = 1.0
    gradient_energy: ArrayLike = 1.0

    name: ClassVar[str] = "cahn-hilliard"
    fields: ClassVar[dict[str, Field]] = {"c": Field(units="1")}
    units: ClassVar[dict[str, str]] = {"variance": "1", "free_energy": "1", "domain_size": "length", "cfl": "1"}

    def __check_init__(self) -> None:
        for name in ("mobility", "gradient_energy"):
            require(name, getattr(self, name), "a positive number", above=0)

    def linear(self) -> Diagonal:
        k2 = self.grid.k_squared()
        return Diagonal({"c": self.mobility * (k2 - self.gradient_energy * k2 * k2)})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """M∇²c³."""
        cube = self.transform.pointwise(_cube, fields["c"])
        return {"c": -self.mobility * self.grid.k_squared() * cube}

    def rate(self, fields: Fields) -> Array:
        """3M max(c²)/κ, the rate of the nonlinearity at k² = 1/κ; the linear part damps shorter waves."""
        return self._fastest(self.transform.inverse(fields["c"]))

    def conserved(self, fields: Fields) -> dict[str, Array]:
        return {"mass": jnp.mean(self.transform.inverse(fields["c"]))}

    def conserved_scales(self, fields: Fields) -> dict[str, Array]:
        return {"mass": jnp.mean(jnp.abs(self.transform.inverse(fields["c"])))}

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        c = self.transform.inverse(fields["c"])
        slope = weighted_mean_square(fields["c"], self.grid.k_squared(), self.grid)
        variance = mean_square(fields["c"], self.grid) - jnp.mean(c) ** 2
        free_energy = 0.25 * jnp.mean((c * c - 1) ** 2) + 0.5 * self.gradient_energy * slope
        of_a_wall = 2 * math.sqrt(2) / 3 * jnp.sqrt(self.gradient_energy)  # per area, of c = tanh(x/√(2κ))
        return {
            "variance": variance,
            "free_energy": free_energy,
            # moments of the spectrum would measure the sharpness of the walls as much as their distance
            "domain_size": of_a_wall / free_energy,
            "cfl": dt * self._fastest(c),
        }

    def warnings(self, row: dict[str, float]) -> list[str]:
        resolution = self.grid.k_max * math.sqrt(2 * float(self.gradient_energy))
        return [f"√(2κ) k_max = {resolution:.2f} is below 2: walls are not resolved"] if resolution < 2 else []

    def _fastest(self, c: Array) -> Array:
        return 3 * self.mobility / self.gradient_energy * max_over_points(c * c)


def _cube(c: Array) -> Array:
    """c³."""
    return c * c * c
