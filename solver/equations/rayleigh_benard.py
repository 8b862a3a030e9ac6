"""Convection between a warm wall below and a cold wall above."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.dynamics.equation import Equation
from solver.dynamics.report import Report
from solver.operators import Fields
from solver.spaces.field import Field
from solver.spaces.polynomials import PolynomialSpace
from solver.written import Text


@cache
def _text(dimensions: int) -> Text:
    """The equations; rotation turns a flow that has two directions along the walls."""
    turned = " - cause(rotation, rotation*cross(up, velocity))" if dimensions == 3 else ""
    return Text(
        write=[
            f"dt(velocity) = -velocity@grad(velocity) - grad(pressure){turned} + cause(buoyancy, temperature*up)"
            " + cause(viscosity, viscosity*lap(velocity))",
            "dt(temperature) = -velocity@grad(temperature) + cause(diffusivity, diffusivity*lap(temperature))",
            "div(velocity) = 0",
        ],
        fields={"velocity": "vector", "temperature": "scalar"},
        unknowns={"pressure": "scalar"},
        energies={"kinetic_energy": "velocity@velocity/2", "thermal_energy": "temperature*temperature/2"},
        series={
            "heat_flux": "velocity.up*temperature",
            "max_divergence": "max(abs(div(velocity)))",
        },
        parameters=dict.fromkeys(["viscosity", "diffusivity", *(["rotation"] if turned else [])], "scalar"),
        symbols={"velocity": "u", "temperature": "T", "pressure": "p", "rotation": "f", "viscosity": "nu",
                 "diffusivity": "kappa"},
    )  # fmt: skip


class RayleighBenard(Equation):
    """Rayleigh–Bénard convection in free-fall units: heights of one, the difference of temperature one.

    ν = √(Pr/Ra), κ = 1/√(Ra Pr). T is the whole temperature; its conditions are given in `walls`.

    Columns: `nusselt_flux`, ⟨√(Ra Pr) w T − ∂T/∂z⟩; `nusselt_dissipation`, ⟨|∇T|²⟩; `nusselt_bottom` and `nusselt_top`,
    −∂T/∂z at the walls; in a steady state between two temperatures all four are the Nusselt number. `reynolds` is
    ⟨|u|²⟩^½/ν.

    Args:
        grid: between walls, two (x, z) or three dimensions, of height one.
        rayleigh: Ra > 0 = g α ΔT H³/(ν κ).
        prandtl: Pr > 0 = ν/κ.
        rotation: f, about the vertical [1/time]: f² = Ta Pr/Ra of the Taylor number Ta; 0 in two dimensions.

    Source: Chandrasekhar, Hydrodynamic and Hydromagnetic Stability (1961), chapter 2.
    """

    rayleigh: ArrayLike
    prandtl: ArrayLike = 1.0
    rotation: ArrayLike = 0.0

    name: ClassVar[str] = "rayleigh-benard"
    fields: ClassVar[dict[str, Field]] = {
        "velocity": Field("vector", "length/time", solenoidal=True),
        "temperature": Field("scalar", "1"),
    }
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    units: ClassVar[dict[str, str]] = dict.fromkeys(
        ["nusselt_flux", "nusselt_dissipation", "nusselt_bottom", "nusselt_top", "reynolds"], "1"
    )

    def __check_init__(self) -> None:
        need(self, "rayleigh", "rayleigh", "a positive number", above=0)
        need(self, "prandtl", "prandtl", "a positive number", above=0)
        need(self, "rotation", "rotation", "a finite number")
        if not self.grid.walls or float(self.grid.lengths[-1]) != 1:  # type: ignore[index]
            raise ValueError(
                f"{self.name} on {self.grid.box}: walls in the last direction and a height of 1 are needed"
            )
        if self.grid.dimensions == 2 and not (isinstance(self.rotation, int | float) and self.rotation == 0):
            raise ValueError(f"rotation {self.rotation} in two dimensions: 0 is needed, there is no third component")

    @property
    def text(self) -> Text:  # type: ignore[override]
        return _text(self.grid.dimensions)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        return [_text(dimensions)]

    def rate_of_linear(self) -> ArrayLike:
        return 1.0  # a fall through the height takes a time of one, and buoyancy is evaluated with N

    def numbers(self) -> dict[str, Any]:
        numpy: Any = jnp if any(isinstance(v, jax.Array) for v in (self.rayleigh, self.prandtl)) else np
        rayleigh, prandtl = (numpy.asarray(v, self.grid.dtype) for v in (self.rayleigh, self.prandtl))
        known = {"viscosity": numpy.sqrt(prandtl / rayleigh), "diffusivity": 1 / numpy.sqrt(rayleigh * prandtl)}
        return known if self.grid.dimensions == 2 else {**known, "rotation": self.rotation}

    def reported(self, report: Report) -> Report:
        return replace(report, columns=lambda fields: self._with_transport(report.columns(fields), fields))

    def _with_transport(self, columns: dict[str, Array], fields: Fields) -> dict[str, Array]:
        """With the heat that is carried, and the Reynolds number."""
        space, numbers = self.space("temperature"), self.numbers()
        assert isinstance(space, PolynomialSpace)
        c = space.series(fields["temperature"])
        slope = space.across(c)
        bottom, top = space.means_at_walls(slope)
        return {
            **columns,
            "nusselt_flux": columns["heat_flux"] / numbers["diffusivity"] - space.means_of_polynomials(slope)[0],
            "nusselt_dissipation": space.gradient_square(c),
            "nusselt_bottom": -bottom[0],
            "nusselt_top": -top[0],
            "reynolds": jnp.sqrt(2 * columns["kinetic_energy"]) / numbers["viscosity"],
        }
