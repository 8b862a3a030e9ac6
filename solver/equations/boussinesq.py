"""Rotating, stratified flow in the Boussinesq approximation, in three dimensions and in a vertical plane."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.dynamics.equation import Equation
from solver.dynamics.report import Report
from solver.dynamics.report_between_walls import gradients_between_walls
from solver.operators import Fields, split_waves
from solver.spaces.field import Field
from solver.spaces.polynomials import PolynomialSpace
from solver.written import Text
from solver.written.variants import with_closure


@cache
def _text(dimensions: int) -> Text:
    """The equations; in a vertical plane nothing turns. `per_n2` is 1/N², and 1 where N = 0."""
    turned = " - rotation*cross(ez, velocity)" if dimensions == 3 else ""
    along = "velocity.x**2 + velocity.y**2" if dimensions == 3 else "velocity.x**2"
    return Text(
        write=[
            f"dt(velocity) = -velocity@grad(velocity) - grad(pressure){turned} + cause(buoyancy, buoyancy*up)"
            " + cause(viscosity, viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))"
            " + cause(body, penalise(velocity)) + closure(velocity)",
            "dt(buoyancy) = -velocity@grad(buoyancy) - cause(stratification, buoyancy_frequency**2*velocity.up)"
            " + cause(diffusivity, diffusivity*lap(buoyancy) + hyper(buoyancy, hyperdiffusivity, hyper_order))"
            " + cause(body, penalise(buoyancy, diffusivity))"
            " + closure(velocity, grad(buoyancy) + buoyancy_frequency**2*up)",
            "div(velocity) = 0",
        ],
        fields={"velocity": "vector", "buoyancy": "scalar"},
        unknowns={"pressure": "scalar"},
        energies={"kinetic_energy": "velocity@velocity/2", "potential_energy": "per_n2*buoyancy*buoyancy/2"},
        series={
            "energy": "kinetic_energy + buoyancy_frequency**2*per_n2*potential_energy",
            "enstrophy": "-(velocity@div(grad(velocity)) + div(velocity)**2)/2",
            "dissipation": "-velocity@(viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))",
            "buoyancy_flux": "velocity.up*buoyancy",
            "froude": f"where(dissipation > 0, dissipation/(buoyancy_frequency*mean({along})), 0)",
            "buoyancy_reynolds": "where(dissipation > 0, dissipation/(viscosity*buoyancy_frequency**2), 0)",
            "max_divergence": "max(abs(div(velocity)))",
        },
        units={"potential_energy": "length^2/time^2"},
        parameters=dict.fromkeys(
            ["viscosity", "diffusivity", "buoyancy_frequency", "hyperviscosity", "hyperdiffusivity", "hyper_order",
             "per_n2", *(["rotation"] if turned else [])], "scalar",
        ),
        limits={
            **dict.fromkeys(["viscosity", "diffusivity", "hyperviscosity", "hyperdiffusivity"], ">= 0"),
            "buoyancy_frequency": ">= 0",
            "hyper_order": ">= 1",
        },
        symbols={"velocity": "u", "buoyancy": "b", "pressure": "p", "rotation": "f", "buoyancy_frequency": "N",
                 "viscosity": "nu", "diffusivity": "kappa", "hyperviscosity": "nu_h", "hyperdiffusivity": "kappa_h",
                 "hyper_order": "q"},
        aliased=True,
    )  # fmt: skip


class Boussinesq(Equation):
    """Rotating, stratified flow in the Boussinesq approximation, periodic.

    b is the buoyancy, N its frequency, f the Coriolis parameter; ẑ is the last direction. Rotation, stratification,
    pressure and diffusion form one small real matrix per mode, so that inertial and internal gravity waves,
    ω² = (N² k_h² + f² k_z²)/k², are exact for any step with integrating-factor and exponential steppers. In 3-D a
    right-hand side costs 4 inverse and 8 forward transforms in two exchanges (3 and 4 in 2-D).

    The potential energy is ½⟨b²⟩/N²; where N = 0 it is not defined, and the column has ½⟨b²⟩, which `energy` leaves
    out. ε is what viscosity takes from the kinetic energy. `froude` is the turbulent Froude number ε/(N⟨|u_h|²⟩), u_h
    the horizontal velocity, and `buoyancy_reynolds` is ε/(νN²).

    A closure of large-eddy simulation (docs/closures.md) has a subgrid flux of b + N²z, too.

    Good values: N/f from 1 to 100; a Froude number U/(N L) of 0.01 to 0.1 for strong stratification.

    Args:
        grid: two (x, z) or three dimensions, real fields.
        viscosity: ν ≥ 0 [length²/time].
        diffusivity: κ ≥ 0 of buoyancy [length²/time].
        buoyancy_frequency: N ≥ 0 [1/time].
        rotation: f, the Coriolis parameter, about z [1/time]; 0 in two dimensions.
        hyperviscosity: ν_h ≥ 0 [length^(2q)/time]; the budget counts it as viscosity.
        hyperdiffusivity: κ_h ≥ 0 of buoyancy [length^(2q)/time]; the budget counts it as diffusivity.
        hyper_order: q, one or more, static.

    Source: Vallis, Atmospheric and Oceanic Fluid Dynamics (2017), chapters 2 and 7; Brethouwer, Billant, Lindborg &
    Chomaz, J. Fluid Mech. 585 (2007) 343 (Froude and buoyancy Reynolds numbers).
    """

    viscosity: ArrayLike
    diffusivity: ArrayLike
    buoyancy_frequency: ArrayLike = 0.0
    rotation: ArrayLike = 0.0
    hyperviscosity: ArrayLike = 0.0
    hyperdiffusivity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "boussinesq"
    fields: ClassVar[dict[str, Field]] = {
        "velocity": Field("vector", "length/time", solenoidal=True),
        "buoyancy": Field("scalar", "length/time^2"),
    }
    columns_between_walls: ClassVar[tuple[str, ...]] = ("enstrophy", "dissipation", "froude", "buoyancy_reynolds")
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    spectrum_laws: ClassVar[dict[int, float]] = {3: 5 / 3}

    def __check_init__(self) -> None:
        need(self, "rotation", "rotation", "a finite number")
        if self.grid.dimensions == 2 and not (isinstance(self.rotation, int | float) and self.rotation == 0):
            raise ValueError(f"rotation {self.rotation} in two dimensions: 0 is needed, there is no third component")

    @property
    def text(self) -> Text:  # type: ignore[override]
        """The equations, with rotation in three dimensions."""
        return _text(self.grid.dimensions)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        return [with_closure(_text(dimensions), "strain", dimensions), _text(dimensions)]

    def numbers(self) -> dict[str, Any]:
        numpy: Any = jnp if isinstance(self.buoyancy_frequency, jax.Array) else np  # NumPy uses no device
        squared = numpy.asarray(self.buoyancy_frequency, self.grid.dtype) ** 2
        own = {name: getattr(self, name) for name in self.parameters_in_text if name != "per_n2"}
        return {**own, "per_n2": 1 / numpy.where(squared > 0, squared, 1)}

    def reported(self, report: Report) -> Report:
        if self.grid.walls:
            of_text = report.columns
            report = replace(report, columns=lambda fields: self._between_walls(of_text(fields), fields))
        return replace(report, exchanges=self._exchanges, parts=self._parts)

    def _between_walls(self, columns: dict[str, Array], fields: Fields) -> dict[str, Array]:
        """With the gradients themselves: the text's −⟨u·∇²u⟩ leaves out the work of moving walls."""
        gradients, n = gradients_between_walls(self, fields), self.buoyancy_frequency
        lost, space = self.viscosity * gradients, self.space("velocity")
        assert isinstance(space, PolynomialSpace)
        along = PolynomialSpace.mean_square(space, space.series(fields["velocity"])[:-1])
        made = {"enstrophy": 0.5 * gradients, "dissipation": lost}
        made["froude"] = jnp.where(lost > 0, lost / (n * along), 0)
        made["buoyancy_reynolds"] = jnp.where(lost > 0, lost / (self.viscosity * n**2), 0)
        return {**columns, **made}

    def _exchanges(self, fields: Fields) -> dict[str, tuple[Array, Array]]:
        """The buoyancy flux ⟨w b⟩: what kinetic energy gains per time, and potential energy loses (N > 0)."""
        return {"exchange": (fields["velocity"][-1], fields["buoyancy"][0])}

    def _parts(self, fields: Fields) -> dict[str, Fields]:
        """The vortical part, the waves, and the horizontally uniform part: see `operators.split_waves`."""
        numbers = {"buoyancy_frequency": self.buoyancy_frequency, "rotation": self.rotation}
        parts = split_waves(fields["velocity"], fields["buoyancy"], self.grid, **numbers)
        return {part: {"velocity": u, "buoyancy": b} for part, (u, b) in parts.items()}

    def error_scales(self, sizes: Fields) -> Fields:
        """Buoyancy and velocity count alike in energy: errors of b are relative to ‖b‖ or N‖u‖, whichever is larger."""
        driven = self.buoyancy_frequency * sizes["velocity"]
        return {**sizes, "buoyancy": jnp.maximum(sizes["buoyancy"], driven)}
