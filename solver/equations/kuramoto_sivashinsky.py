"""The Kuramoto–Sivashinsky equation in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class KuramotoSivashinsky(Equation):
    """The Kuramoto–Sivashinsky equation on a periodic box, with the mean of u removed.

    Modes grow at the rate ak² − bk⁴ − c, without damping for |k| < √(a/b) and at most at a²/(4b) for |k| = √(a/(2b));
    the nonlinearity moves their energy to the damped ones. Boxes much longer than 2π√(2b/a) are chaotic. The damped
    equation (c > 0) has patterns of cells for c a little below a²/(4b). The linear part is stiff, up to b k_max⁴: take
    an exponential integrator. A right-hand side costs one inverse transform per dimension and one forward. A crest
    moves at the speed n∇u, which the CFL number counts.

    Args:
        grid: one to three dimensions, real fields.
        antidiffusivity: a ≥ 0 [length²/time].
        hyperdiffusivity: b > 0 [length⁴/time].
        steepening: n, of any sign [length²/(u·time)].
        damping: c ≥ 0 [1/time].

    Source: Kuramoto, Prog. Theor. Phys. Suppl. 64 (1978) 346; Sivashinsky, Acta Astronaut. 4 (1977) 1177; with
    damping Paniconi & Elder, Phys. Rev. E 56 (1997) 2713.
    """

    antidiffusivity: ArrayLike = 1.0
    hyperdiffusivity: ArrayLike = 1.0
    steepening: ArrayLike = 1.0
    damping: ArrayLike = 0.0

    name: ClassVar[str] = "kuramoto-sivashinsky"
    text: ClassVar[Text] = Text(
        write="dt(u) = -antidiffusivity*lap(u) - hyperdiffusivity*lap(lap(u)) - steepening*(grad(u)@grad(u))/2"
        " - damping*u",
        fields={"u": "scalar"},
        units={"u": "u", "mean_square_gradient": "u^2/length^2"},
        means={"u": 0},
        series={"mean_square_gradient": "grad(u)@grad(u)"},
        limits={"antidiffusivity": ">= 0", "hyperdiffusivity": "> 0", "damping": ">= 0"},
        symbols={"antidiffusivity": "a", "hyperdiffusivity": "b", "steepening": "n", "damping": "c"},
    )
