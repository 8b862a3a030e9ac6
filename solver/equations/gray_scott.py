"""The Gray–Scott model of pattern formation, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class GrayScott(Equation):
    """The Gray–Scott model of pattern formation, on a periodic box.

    Diffusion and first-order decay are the linear part; the rest costs 2 inverse transforms and 1 forward per
    right-hand side, in two exchanges. The product is cubic: two-thirds dealiasing leaves a little aliasing (`one-half`
    none), so the pattern must be resolved (its spectrum falling over several decades). CFL 1 is one turnover of the
    chemistry per step.

    Good values: D_u = 2e-5, D_v = 1e-5 in a box of 2.5 with F = 0.037, k = 0.06 (labyrinths), F = 0.025, k = 0.06
    (self-replicating spots); steps of 1 with `etdrk4`.

    Args:
        grid: one to three dimensions, real fields.
        diffusivity_u, diffusivity_v: D_u, D_v ≥ 0 [length²/time].
        feed: F ≥ 0 [1/time].
        kill: k ≥ 0 [1/time].

    Source: Pearson, Science 261 (1993) 189; Gray & Scott, Chem. Eng. Sci. 39 (1984) 1087.
    """

    diffusivity_u: ArrayLike = 2e-5
    diffusivity_v: ArrayLike = 1e-5
    feed: ArrayLike = 0.037
    kill: ArrayLike = 0.06

    name: ClassVar[str] = "gray-scott"
    text: ClassVar[Text] = Text(
        write=(
            "dt(u) = diffusivity_u*lap(u) - u*v**2 + feed*(1 - u)",
            "dt(v) = diffusivity_v*lap(v) + u*v**2 - (feed + kill)*v",
        ),
        fields={"u": "scalar", "v": "scalar"},
        units={"u": "concentration", "v": "concentration"},
        energies={},
        series={"mean_u": "u", "mean_v": "v", "max_v": "max(v)"},
        limits={"diffusivity_u": ">= 0", "diffusivity_v": ">= 0", "feed": ">= 0", "kill": ">= 0"},
        symbols={"diffusivity_u": "D_u", "diffusivity_v": "D_v", "feed": "F", "kill": "k"},
    )

    def rate_of_linear(self) -> ArrayLike:
        return self.feed + self.kill
