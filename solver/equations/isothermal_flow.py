"""Compressible isothermal flow, in one, two and three dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import dissipation_rate
from solver.dynamics.equation import Equation
from solver.dynamics.report import Report
from solver.written import Text


class IsothermalFlow(Equation):
    """Compressible flow of a gas at one temperature, on a periodic box.

    s is the logarithm of the density over its reference, c the speed of sound, σ = 2 sym(∇u) − ⅔(∇·u)I the strain that
    viscosity acts on. Sound, s_tt = c²∇²s, and the viscous terms that are linear are the linear part, one matrix per
    mode, so that small sound waves are exact for any step with integrating-factor and exponential steppers. Conserves
    the mass ⟨e^s⟩ and, without viscosity, the energy ⟨e^s(½|u|² + c²s)⟩, as far as e^s is resolved: shocks are not
    caught, their thickness ν/|u| must be.

    Good values: c = 1 with |u| of 0.1 to 0.3 (Mach number), ν of 0.01 or more in a box of 2π with 128 points along each
    side; steps of CFL 0.5 with `ifrk4`.

    Args:
        grid: one to three dimensions, real fields.
        sound_speed: c > 0 [length/time].
        viscosity: ν ≥ 0, kinematic [length²/time].

    Source: Brandenburg & Dobler, Comput. Phys. Commun. 147 (2002) 471 (these variables).
    """

    sound_speed: ArrayLike = 1.0
    viscosity: ArrayLike = 0.01

    name: ClassVar[str] = "isothermal-flow"
    text: ClassVar[Text] = Text(
        write=(
            "dt(velocity) = -velocity@grad(velocity) - sound_speed**2*grad(log_density)"
            " + viscosity*(lap(velocity) + grad(div(velocity))/3)"
            " + viscosity*(2*sym(grad(velocity))@grad(log_density) - 2/3*div(velocity)*grad(log_density))"
            " + penalise(velocity)",
            "dt(log_density) = -velocity@grad(log_density) - div(velocity) + penalise(log_density, 0)",
        ),
        fields={"velocity": "vector", "log_density": "scalar"},
        units={"velocity": "length/time", "log_density": "1"},
        energies={},
        series={
            "kinetic_energy": "exp(log_density)*velocity@velocity/2",
            "max_density": "max(exp(log_density))",
            "max_mach": "sqrt(max(velocity@velocity))/sound_speed",
        },
        conserved={"mass": "exp(log_density)"},
        limits={"sound_speed": "> 0", "viscosity": ">= 0"},
        symbols={"velocity": "u", "log_density": "s", "sound_speed": "c", "viscosity": "nu"},
    )

    def reported(self, report: Report) -> Report:
        return replace(report, dissipation=self._dissipation)

    def _dissipation(self, tensor: Array) -> Array:
        """2ν(s_ij s_ij − ⅓(∇·u)²): what the viscous stress takes out of ½|u|² per unit of mass."""
        divergence = sum(tensor[i, i] for i in range(len(tensor)))
        return dissipation_rate(tensor, self.viscosity) - 2 / 3 * self.viscosity * divergence**2
