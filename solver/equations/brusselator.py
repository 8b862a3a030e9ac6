"""The Brusselator, a model of chemical patterns and oscillations, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class Brusselator(Equation):
    """The Brusselator, a model of chemical patterns and oscillations, on a periodic box.

    Its uniform state u = a, v = b/a oscillates for b > 1 + a², and has patterns of wavenumber √(a/√(D_u D_v)) for
    b > (1 + a√(D_u/D_v))². Diffusion and the terms that are linear in u and v are the linear part, one matrix per mode;
    the rest costs 2 inverse transforms and 1 forward per right-hand side. It is cubic: two-thirds dealiasing leaves a
    little aliasing (`one-half` none), so the pattern must be resolved (its spectrum falling over several decades).

    Good values: a = 3, b = 9, D_u = 2, D_v = 8 in a box of 100 with points 0.8 apart (hexagons of wavelength 7); steps
    of 0.01 with `etdrk4`.

    Args:
        grid: one to three dimensions, real fields.
        feed: a > 0 [concentration/time, with rates of 1].
        conversion: b ≥ 0 [1/time].
        diffusivity_u, diffusivity_v: D_u, D_v ≥ 0 [length²/time].

    Source: Prigogine & Lefever, J. Chem. Phys. 48 (1968) 1695; Cross & Hohenberg, Rev. Mod. Phys. 65 (1993) 851.
    """

    feed: ArrayLike = 3.0
    conversion: ArrayLike = 9.0
    diffusivity_u: ArrayLike = 2.0
    diffusivity_v: ArrayLike = 8.0

    name: ClassVar[str] = "brusselator"
    text: ClassVar[Text] = Text(
        write=(
            "dt(u) = diffusivity_u*lap(u) + feed - (conversion + 1)*u + u**2*v",
            "dt(v) = diffusivity_v*lap(v) + conversion*u - u**2*v",
        ),
        fields={"u": "scalar", "v": "scalar"},
        units={"u": "concentration", "v": "concentration"},
        energies={},
        series={"mean_u": "u", "mean_v": "v", "max_u": "max(u)"},
        limits={"feed": "> 0", "conversion": ">= 0", "diffusivity_u": ">= 0", "diffusivity_v": ">= 0"},
        symbols={"feed": "a", "conversion": "b", "diffusivity_u": "D_u", "diffusivity_v": "D_v"},
    )

    def rate_of_linear(self) -> ArrayLike:
        return self.conversion + 1
