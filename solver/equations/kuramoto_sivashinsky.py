"""The Kuramoto–Sivashinsky equation in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from solver.dynamics.equation import Equation
from solver.written import Text


class KuramotoSivashinsky(Equation):
    """The Kuramoto–Sivashinsky equation on a periodic box, with the mean of u removed.

    Modes with |k| < 1 grow at the rate k² − k⁴, at most ¼ at |k| = 1/√2; the nonlinearity moves their energy to
    the damped ones. Boxes much longer than 2π√2 are chaotic. The linear part is stiff, up to k_max⁴: take an
    exponential integrator. A right-hand side costs one inverse transform per dimension and one forward. A crest moves
    at the speed ∇u, which the CFL number counts.

    Args:
        grid: one to three dimensions, real fields.

    Source: Kuramoto, Prog. Theor. Phys. Suppl. 64 (1978) 346; Sivashinsky, Acta Astronaut. 4 (1977) 1177.
    """

    name: ClassVar[str] = "kuramoto-sivashinsky"
    text: ClassVar[Text] = Text(
        write="dt(u) = -lap(u) - lap(lap(u)) - grad(u)@grad(u)/2",
        fields={"u": "scalar"},
        units={"u": "u", "mean_square_gradient": "u^2/length^2"},
        means={"u": 0},
        series={"mean_square_gradient": "grad(u)@grad(u)"},
    )
