"""Incompressible magnetohydrodynamics in two and three dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.budget import Budget
from solver.dynamics.equation import Equation
from solver.dynamics.report import Report
from solver.dynamics.report_between_walls import gradients_between_walls
from solver.dynamics.spaces_between_walls import checked_walls
from solver.equations.mean_field import Vector, alfven_rate, require_mean_field
from solver.operators import Fields
from solver.walls.conditions import StressFree
from solver.written import Text


class MHD(Equation):
    """Incompressible magnetohydrodynamics, periodic.

    Alfvén units: b and B₀ are velocities. A constant mean field B₀ couples u and b by one matrix per mode, so that
    Alfvén waves ω = ±k·B₀ are exact for any step with integrating-factor and exponential steppers. In 3-D a
    right-hand side costs 6 inverse and 8 forward transforms in two exchanges (4 and 3 in 2-D). Ideal flow conserves
    the energy ½⟨|u|² + |b|²⟩, the cross-helicity ⟨u·b⟩ and, without mean field, in 3-D the magnetic helicity ⟨a·b⟩
    and in 2-D the mean square ⟨a²⟩ of the potential.

    Good values: ν = η (magnetic Prandtl number 1); the Orszag–Tang vortex at 128², ν = η = 0.01.

    Args:
        grid: two or three dimensions, real fields.
        viscosity: ν ≥ 0 [length²/time].
        resistivity: η ≥ 0 [length²/time].
        mean_field: B₀, one number for each direction [length/time]; none if None.
        hyperviscosity: ν_h ≥ 0 [length^(2q)/time]; series and budget count it as viscosity.
        hyperresistivity: η_h ≥ 0 [length^(2q)/time]; series and budget count it as resistivity.
        hyper_order: q, one or more, static.

    Source: Biskamp, Magnetohydrodynamic Turbulence (2003), chapter 2.
    """

    viscosity: ArrayLike
    resistivity: ArrayLike
    mean_field: Vector | None = None
    hyperviscosity: ArrayLike = 0.0
    hyperresistivity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "mhd"
    text: ClassVar[Text] = Text(
        write=[
            "dt(velocity) = -velocity@grad(velocity) + magnetic_field@grad(magnetic_field)"
            " + mean_field@grad(magnetic_field) - grad(pressure)"
            " + cause(viscosity, viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))"
            " + cause(body, penalise(velocity))",
            "dt(magnetic_field) = magnetic_field@grad(velocity) - velocity@grad(magnetic_field)"
            " + mean_field@grad(velocity)"
            " + cause(resistivity, resistivity*lap(magnetic_field)"
            " + hyper(magnetic_field, hyperresistivity, hyper_order))",
            "div(velocity) = 0",
            "div(magnetic_field) = 0",
        ],
        fields={"velocity": "vector", "magnetic_field": "vector"},
        unknowns={"pressure": "scalar"},
        parameters={
            "mean_field": "vector",
            **dict.fromkeys(["viscosity", "resistivity"], "scalar"),
            **dict.fromkeys(["hyperviscosity", "hyperresistivity", "hyper_order"], "scalar"),
        },
        units={"velocity": "length/time", "magnetic_field": "length/time"},
        energies={
            "kinetic_energy": "velocity@velocity/2",
            "magnetic_energy": "magnetic_field@magnetic_field/2",
        },
        series={
            "cross_helicity": "velocity@magnetic_field",
            "total_dissipation": "-velocity@(viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))"
            " - magnetic_field@(resistivity*lap(magnetic_field)"
            " + hyper(magnetic_field, hyperresistivity, hyper_order))",
            "max_divergence": "max(max(abs(div(velocity)), abs(div(magnetic_field))))",
        },
        invariants={
            "energy": "(velocity@velocity + magnetic_field@magnetic_field)/2",
            "cross_helicity": "velocity@magnetic_field",
            "magnetic_helicity": "-inverse_lap(curl(magnetic_field))@magnetic_field",
            "squared_potential": "inverse_lap(curl(magnetic_field))**2",
        },
        limits={
            **dict.fromkeys(["viscosity", "resistivity", "hyperviscosity", "hyperresistivity"], ">= 0"),
            "hyper_order": ">= 1",
        },
        symbols={"velocity": "u", "magnetic_field": "b", "mean_field": "B_0", "pressure": "p", "viscosity": "nu",
                 "resistivity": "eta", "hyperviscosity": "nu_h", "hyperresistivity": "eta_h", "hyper_order": "q"},
        aliased=True,
    )  # fmt: skip
    columns_between_walls: ClassVar[tuple[str, ...]] = ("total_dissipation",)
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3 / 2, 3: 5 / 3}

    def __check_init__(self) -> None:
        require_mean_field(self.mean_field, self.grid)
        if self.grid.walls and self._mean_field_crosses_walls():
            given = checked_walls(self) or {}
            pairs = zip(given["velocity"], given["magnetic_field"], strict=True)
            if any(isinstance(u, StressFree) and isinstance(b, StressFree) for u, b in pairs):
                raise ValueError(
                    f"mean_field {self.mean_field} between walls: 0 across a wall where velocity and magnetic_field "
                    "are free-slip is needed, since a perfect conductor holds the lines of the field; or no-slip there"
                )

    def _mean_field_crosses_walls(self) -> bool:
        """True if the last component of the mean field is a number other than 0; arrays are not looked at."""
        across = 0.0 if self.mean_field is None else self.mean_field[-1]
        return not isinstance(across, jax.Array) and bool(across != 0)

    def rate_of_linear(self) -> ArrayLike:
        """The growth and frequency of Alfvén waves along the mean field; between walls they count with N."""
        return 0.0 if self.grid.walls else alfven_rate(self.mean_field, self.grid)

    def reported(self, report: Report) -> Report:
        """Energies change by viscosity, resistivity, forcing, and the `exchange` between flow and field."""
        of_text = report.budget
        assert of_text is not None
        made = replace(report, budget=lambda fields, changes: _with_exchange(of_text(fields, changes)))
        if not self.grid.walls:
            return made
        return replace(made, columns=lambda fields: {**report.columns(fields), **self._lost_between_walls(fields)})

    def _lost_between_walls(self, fields: Fields) -> dict[str, Array]:
        """With the gradients themselves: the text's −⟨u·∇²u⟩ leaves out the work of moving walls."""
        of = {"velocity": self.viscosity, "magnetic_field": self.resistivity}
        lost = (nu * gradients_between_walls(self, fields, name) for name, nu in of.items())
        return {"total_dissipation": jnp.asarray(sum(lost))}


def _with_exchange(budget: Budget) -> Budget:
    """A budget whose linear and nonlinear causes are one, the exchange between the energies."""
    renamed = {}
    for energy, causes in budget.items():
        inner = sum(power for cause, power in causes.items() if cause in ("linear", "nonlinear"))
        others = {cause: power for cause, power in causes.items() if cause not in ("linear", "nonlinear")}
        renamed[energy] = {**others, "exchange": inner}
    return renamed
