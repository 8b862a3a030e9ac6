"""The Cahn–Hilliard equation of a mixture that separates, in one, two and three dimensions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.dynamics.report import Report, too_small
from solver.written import Text


class CahnHilliard(Equation):
    """The Cahn–Hilliard equation of a mixture that separates, on a periodic box.

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
    text: ClassVar[Text] = Text(
        write="dt(c) = mobility*lap(c**3 - c - gradient_energy*lap(c))",
        fields={"c": "scalar"},
        energies={},
        series={
            "variance": "(c - mean(c))**2",
            "free_energy": "(c**2 - 1)**2/4 + gradient_energy*grad(c)@grad(c)/2",
            # of a wall tanh(x/√(2κ)), per area; moments of the spectrum would measure its sharpness as much
            "domain_size": "2*sqrt(2)/3*sqrt(gradient_energy)/free_energy",
        },
        conserved={"mass": "c"},
        rate="3*mobility/gradient_energy*c**2",
        limits={"mobility": "> 0", "gradient_energy": "> 0"},
        symbols={"mobility": "M", "gradient_energy": "kappa"},
    )

    def reported(self, report: Report) -> Report:
        return replace(report, warnings=self._unresolved_walls)

    def _unresolved_walls(self, row: dict[str, float]) -> list[str]:
        resolution = self.grid.k_max * math.sqrt(2 * float(self.gradient_energy))
        return too_small("√(2κ) k_max", resolution, 2, "walls are not resolved")
