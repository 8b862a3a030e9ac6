"""The Fisher–KPP equation of fronts that spread, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class FisherKPP(Equation):
    """The Fisher–KPP equation, on a periodic box: a population that diffuses and grows until u = 1.

    Fronts run into u = 0 with the speed 2√(r D), which steep starts reach from below as t grows; the one with speed
    5√(r D/6) is exact: u = 1/(1 + exp(ξ√(r/(6D))))², ξ = x − ct. Diffusion and growth are the linear part; the rest
    costs one inverse transform and one forward per right-hand side. With two-thirds dealiasing every retained mode is
    free of aliasing.

    Good values: D = r = 1 in a box of 200 with points 0.4 apart; steps of 0.1 with `etdrk4`. u = 0 is unstable: what
    lies below it, as wiggles before a front that is not resolved, grows.

    Args:
        grid: one to three dimensions, real fields.
        diffusivity: D ≥ 0 [length²/time].
        growth: r ≥ 0 [1/time].

    Source: Kolmogorov, Petrovsky & Piskunov, Bull. Univ. Moscow A 1 (1937) 1; Ablowitz & Zeppetella, Bull. Math. Biol.
    41 (1979) 835 (the exact front).
    """

    diffusivity: ArrayLike = 1.0
    growth: ArrayLike = 1.0

    name: ClassVar[str] = "fisher-kpp"
    text: ClassVar[Text] = Text(
        write="dt(u) = diffusivity*lap(u) + growth*u*(1 - u)",
        fields={"u": "scalar"},
        energies={},
        series={"mean_u": "u", "min_u": "min(u)", "max_u": "max(u)"},
        rate="growth*abs(1 - 2*u)",
        limits={"diffusivity": ">= 0", "growth": ">= 0"},
        symbols={"diffusivity": "D", "growth": "r"},
    )
