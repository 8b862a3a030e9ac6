"""The Allen–Cahn equation of two phases that are not conserved, in one, two and three dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.dynamics.report import Report, too_small
from solver.written import Text


class AllenCahn(Equation):
    """The Allen–Cahn equation of two phases that are not conserved, on a periodic box; ε is the wall width.

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
    text: ClassVar[Text] = Text(
        write="dt(u) = wall_width**2*lap(u) + u - u**3",
        fields={"u": "scalar"},
        energies={},
        series={"mean_u": "u", "free_energy": "wall_width**2*grad(u)@grad(u)/2 + (1 - u**2)**2/4"},
        rate="1 + 3*u**2",
        limits={"wall_width": "> 0"},
        symbols={"wall_width": "epsilon"},
    )

    def reported(self, report: Report) -> Report:
        if self.grid.walls:  # where no |k| is the largest
            return report
        return replace(report, warnings=self._unresolved_walls)

    def _unresolved_walls(self, row: dict[str, float]) -> list[str]:
        resolution = 2**0.5 * self.grid.k_max * float(self.wall_width)
        return too_small("√2 ε k_max", resolution, 2, "walls are not resolved")
