"""The Allen–Cahn equation of two phases that are not conserved, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import weighted_mean_square
from solver.equations.base import Equation
from solver.equations.field import Field
from solver.equations.system import require
from solver.fft import max_over_points
from solver.operators import Diagonal, Fields


class AllenCahn(Equation):
    """u_t = ε²∇²u + u − u³, on a periodic box.

    The phases are u = ±1. Walls between them are tanh(x/(√2 ε)) and move by their mean curvature: a circle of radius R
    has R² = R₀² − 2ε²t, a sphere R² = R₀² − 4ε²t. The free energy ⟨½ε²|∇u|² + ¼(1 − u²)²⟩ falls. Diffusion and growth
    are the linear part; the rest costs one inverse transform and one forward per right-hand side. It is cubic:
    two-thirds dealiasing leaves a little aliasing (`one-half` none), so the walls must be resolved (√2 ε k_max above
    2).

    Good values: ε from 0.02 to 0.1 in a box of 2π; steps of 0.1 with `etdrk4`.

    Args:
        grid: one to three dimensions, real fields.
        wall_width: ε > 0, half the width of a wall over √2 [length]; time is in units in which small u grow as exp(t).

    Source: Allen & Cahn, Acta Metall. 27 (1979) 1085.
    """

    wall_width: ArrayLike = 0.05

    name: ClassVar[str] = "allen-cahn"
    fields: ClassVar[dict[str, Field]] = {"u": Field(units="1")}
    units: ClassVar[dict[str, str]] = {"mean_u": "1", "free_energy": "1", "cfl": "1"}

    def __check_init__(self) -> None:
        require("wall_width", self.wall_width, "a positive length", above=0)

    def linear(self) -> Diagonal:
        return Diagonal({"u": 1 - self.wall_width**2 * self.grid.k_squared()})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−u³."""
        return {"u": self.transform.pointwise(_minus_cube, fields["u"])}

    def rate(self, fields: Fields) -> Array:
        """Fastest reaction, max(1 + 3u²)."""
        return 1 + 3 * max_over_points(self.transform.inverse(fields["u"]) ** 2)

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        u = self.transform.inverse(fields["u"])
        slope = weighted_mean_square(fields["u"], self.grid.k_squared(), self.grid)
        return {
            "mean_u": jnp.mean(u),
            "free_energy": 0.5 * self.wall_width**2 * slope + 0.25 * jnp.mean((1 - u * u) ** 2),
            "cfl": dt * (1 + 3 * jnp.max(u * u)),
        }

    def warnings(self, row: dict[str, float]) -> list[str]:
        resolution = 2**0.5 * self.grid.k_max * float(self.wall_width)
        return [f"√2 ε k_max = {resolution:.2f} is below 2: walls are not resolved"] if resolution < 2 else []


def _minus_cube(u: Array) -> Array:
    """−u³."""
    return -u * u * u
