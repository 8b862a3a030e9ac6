"""The Swift–Hohenberg equation of pattern formation, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class SwiftHohenberg(Equation):
    """The Swift–Hohenberg equation of pattern formation, on a periodic box.

    Modes grow at the rate r − (q₀² − k²)², the linear part, so that a pattern of wavelength 2π/q₀ appears for r > 0:
    stripes of amplitude √(4r/3) for g = 0 and small r, hexagons for larger g. Its free energy ⟨−½r u² + ½((q₀² + ∇²)u)²
    − g u³/3 + ¼u⁴⟩ falls. The linear part is stiff, up to k_max⁴: take an exponential or implicit stepper. The rest
    costs one inverse transform and one forward per right-hand side. It is cubic: two-thirds dealiasing leaves a little
    aliasing (`one-half` none), so the pattern must be resolved (k_max above 4 q₀).

    Good values: q₀ = 1, r = 0.1 to 0.7 with g = 0 (stripes), r = 0.1 with g = 1 (hexagons), in a box of 20 wavelengths;
    steps of 0.1 to 0.5 with `etdrk4`.

    Args:
        grid: one to three dimensions, real fields.
        growth: r [1/time].
        pattern_wavenumber: q₀ ≥ 0 [1/length]; time is in units of length⁴.
        quadratic: g [1/(time·u)].

    Source: Swift & Hohenberg, Phys. Rev. A 15 (1977) 319; Cross & Hohenberg, Rev. Mod. Phys. 65 (1993) 851.
    """

    growth: ArrayLike = 0.3
    pattern_wavenumber: ArrayLike = 1.0
    quadratic: ArrayLike = 0.0

    name: ClassVar[str] = "swift-hohenberg"
    text: ClassVar[Text] = Text(
        write="dt(u) = growth*u - pattern_wavenumber**2*mismatch - lap(mismatch) + quadratic*u**2 - u**3",
        fields={"u": "scalar"},
        define={"mismatch": "pattern_wavenumber**2*u + lap(u)"},
        units={"u": "1/time^(1/2)", "mean_square": "1/time", "max_u": "1/time^(1/2)", "free_energy": "1/time^2"},
        energies={},
        series={
            "mean_square": "u**2",
            "max_u": "max(u)",
            "free_energy": "mismatch**2/2 - growth*u**2/2 - quadratic*u**3/3 + u**4/4",
        },
        invariants={"mean_square": "u**2"},
        rate="abs(growth) + abs(2*quadratic*u - 3*u**2)",
        limits={"pattern_wavenumber": ">= 0"},
        symbols={"growth": "r", "pattern_wavenumber": "q_0", "quadratic": "g", "mismatch": "w"},
    )
