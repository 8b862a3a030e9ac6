"""Viscoelastic flow of a FENE-P fluid: polymers of finite length."""

from __future__ import annotations

import math
from functools import cache
from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.checks import need
from solver.dynamics.equation import Equation
from solver.spaces.field import Field
from solver.written import Text


class FeneP(Equation):
    """Flow of a fluid with polymers of finite length, incompressible, on a periodic box: the FENE-P model.

    c is the mean of RR over polymers with the ends R apart, in units in which c = I at rest (d dimensions, tr c = d),
    f = (L² − d)/(L² − tr c) their spring, which grows without limit as tr c nears L². The stress over the density is
    ν_p (f c − I)/λ. What flow and polymers hold together falls unless it is forced: with the elastic energy
    E = ν_p/(2λ) (L² − d) log f, d/dt ⟨½|u|² + E⟩ = −ν⟨|∇u|²⟩ − ν_p/(2λ²) ⟨f (f tr c − d)⟩ for κ = 0.
    f is no polynomial, so that no rule of dealiasing is exact: c must be resolved, and κ > 0, a diffusivity that the
    model does not have, keeps it so. Where tr c reaches L² at a point, a step was too long or the flow is not resolved:
    the run then blows up or its fields stay wrong, so watch `max_extension`, the largest tr c/L². Springs and
    relaxation are part of N: steps are to be short against λ/f.

    The start of c is `{ name = "uniform", value = [1, 0, 1] }` for polymers at rest, in three dimensions
    `[1, 0, 0, 1, 0, 1]` (components xx, xy, …).

    Good values: ν = ν_p = 0.05, λ = 1, L = 10, κ = 1e-3 with velocities of order one in a box of 2π on 128².

    Args:
        grid: two or three dimensions, real fields.
        viscosity: ν ≥ 0, of the solvent [length²/time].
        polymer_viscosity: ν_p ≥ 0 [length²/time].
        relaxation_time: λ > 0 [time].
        longest: L > √d, the length of a polymer that is stretched out, in units in which |R|² has the mean d at rest.
        stress_diffusivity: κ ≥ 0 [length²/time].

    Source: Peterlin, J. Polym. Sci. B 4 (1966) 287; Bird, Dotson & Johnson, J. Non-Newtonian Fluid Mech. 7 (1980) 213;
    this form: Vaithianathan & Collins, J. Comput. Phys. 187 (2003) 1.
    """

    viscosity: ArrayLike = 0.05
    polymer_viscosity: ArrayLike = 0.05
    relaxation_time: ArrayLike = 1.0
    longest: ArrayLike = 10.0
    stress_diffusivity: ArrayLike = 0.0

    name: ClassVar[str] = "fene-p"
    fields: ClassVar[dict[str, Field]] = {
        "velocity": Field("vector", "length/time", solenoidal=True),
        "conformation": Field("symmetric tensor", "1"),
    }
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)

    def __check_init__(self) -> None:
        d = self.grid.dimensions
        need(self, "longest", "longest", f"a number above √{d}", above=math.sqrt(d))

    @property
    def text(self) -> Text:  # type: ignore[override]
        """The equations, with the unit tensor of this many dimensions."""
        return _text(self.grid.dimensions)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        return [_text(dimensions)]


@cache
def _text(d: int) -> Text:
    unit = " + ".join(f"outer(e{axis}, e{axis})" for axis in "xyz"[:d])
    return Text(
        write=(
            "dt(velocity) = -velocity@grad(velocity) - grad(pressure) + cause(viscosity, viscosity*lap(velocity))"
            " + polymer_viscosity/relaxation_time*div(spring*conformation) + cause(body, penalise(velocity))",
            "div(velocity) = 0",
            "dt(conformation) = -velocity@grad(conformation) + 2*sym(conformation@grad(velocity))"
            f" - (spring*conformation - ({unit}))/relaxation_time + stress_diffusivity*lap(conformation)",
        ),
        fields={"velocity": "vector", "conformation": "symmetric tensor"},
        unknowns={"pressure": "scalar"},
        define={"spring": f"(longest**2 - {d})/(longest**2 - trace(conformation))"},
        units={"velocity": "length/time", "conformation": "1"},
        energies={"kinetic_energy": "velocity@velocity/2"},
        series={
            "elastic_energy": f"polymer_viscosity/(2*relaxation_time)*(longest**2 - {d})*log(spring)",
            "dissipation": "-viscosity*velocity@lap(velocity)",
            "mean_extension": "trace(conformation)/longest**2",
            "max_extension": "max(trace(conformation))/longest**2",
        },
        limits={
            "viscosity": ">= 0",
            "polymer_viscosity": ">= 0",
            "relaxation_time": "> 0",
            "stress_diffusivity": ">= 0",
        },
        symbols={"velocity": "u", "conformation": "c", "pressure": "p", "viscosity": "nu", "polymer_viscosity": "nu_p",
                 "relaxation_time": "lambda_", "longest": "L", "stress_diffusivity": "kappa", "spring": "f"},
    )  # fmt: skip
