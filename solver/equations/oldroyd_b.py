"""Viscoelastic flow of an Oldroyd-B fluid."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.dynamics.report import Report
from solver.dynamics.report_between_walls import gradients_between_walls
from solver.written import Text


class OldroydB(Equation):
    """Flow of a fluid with polymers, incompressible, on a periodic box: the Oldroyd-B model.

    τ is the stress of the polymers over the density of the fluid: springs that flow stretches and that relax with the
    time λ. Viscosity, relaxation and the coupling between small strains and stresses are the linear part, one matrix
    per mode, so that a shear wave u = (û cos ky, 0) is exact: û_tt + (νk² + 1/λ)û_t + (ν + ν_p)k²û/λ = 0. What flow
    and polymers hold together falls unless it is forced: d/dt ⟨½|u|² + ½tr τ⟩ = −ν⟨|∇u|²⟩ − ⟨tr τ⟩/(2λ). Stress grows
    without limit where strain times λ is above ½ for long; κ > 0, a diffusivity that the model does not have, keeps it
    resolved.

    Good values: ν = ν_p = 0.05, λ = 1, κ = 1e-3 with velocities of order one in a box of 2π on 128²; steps of CFL 0.5
    with `ifrk4`.

    Args:
        grid: two or three dimensions, real fields; in three the linear part holds 81 numbers for each mode.
        viscosity: ν ≥ 0, of the solvent [length²/time].
        polymer_viscosity: ν_p ≥ 0 [length²/time].
        relaxation_time: λ > 0 [time].
        stress_diffusivity: κ ≥ 0 [length²/time].

    Source: Oldroyd, Proc. R. Soc. A 200 (1950) 523; Bird, Armstrong & Hassager, Dynamics of Polymeric Liquids 1 (1987),
    chapter 7.
    """

    viscosity: ArrayLike = 0.05
    polymer_viscosity: ArrayLike = 0.05
    relaxation_time: ArrayLike = 1.0
    stress_diffusivity: ArrayLike = 0.0

    name: ClassVar[str] = "oldroyd-b"
    text: ClassVar[Text] = Text(
        write=(
            "dt(velocity) = -velocity@grad(velocity) - grad(pressure) + cause(viscosity, viscosity*lap(velocity))"
            " + cause(stress, div(stress)) + cause(body, penalise(velocity))",
            "div(velocity) = 0",
            "dt(stress) = -velocity@grad(stress) + 2*sym(stress@grad(velocity)) - stress/relaxation_time"
            " + 2*polymer_viscosity/relaxation_time*sym(grad(velocity)) + stress_diffusivity*lap(stress)",
        ),
        fields={"velocity": "vector", "stress": "symmetric tensor"},
        unknowns={"pressure": "scalar"},
        units={"velocity": "length/time", "stress": "length^2/time^2"},
        energies={"kinetic_energy": "velocity@velocity/2"},
        series={
            "elastic_energy": "trace(stress)/2",
            "dissipation": "-viscosity*velocity@lap(velocity)",
            "max_stress": "max(trace(stress))",
        },
        limits={
            "viscosity": ">= 0",
            "polymer_viscosity": ">= 0",
            "relaxation_time": "> 0",
            "stress_diffusivity": ">= 0",
        },
        symbols={"velocity": "u", "stress": "tau", "pressure": "p", "viscosity": "nu", "polymer_viscosity": "nu_p",
                 "relaxation_time": "lambda_", "stress_diffusivity": "kappa"},
    )  # fmt: skip
    columns_between_walls: ClassVar[tuple[str, ...]] = ("dissipation",)
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)

    def reported(self, report: Report) -> Report:
        if not self.grid.walls:
            return report
        lost = lambda fields: {"dissipation": self.viscosity * gradients_between_walls(self, fields)}  # noqa: E731
        return replace(report, columns=lambda fields: {**report.columns(fields), **lost(fields)})
