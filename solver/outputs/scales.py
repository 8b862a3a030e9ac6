"""scales.h5: length, time and velocity scales of a flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array

from solver.diagnostics import flow_scales
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.derived import dissipates, further_dissipation, kinematic_viscosity
from solver.io import Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.vectors import fields_of_vectors, vector_prefixes
from solver.spaces import FOURIER

COLUMNS = {
    "energy": ("length^2/time^2", "half the mean square of the velocity without its mean"),
    "rms_velocity": ("length/time", "root mean square of one velocity component, without its mean"),
    "integral_scale": ("length", "integral of the longitudinal correlation, from the spectrum"),
    "turnover_time": ("time", "integral scale over r.m.s. velocity"),
    "taylor_scale": ("length", "transverse Taylor scale, from the longitudinal gradients"),
    "taylor_scale_of_dissipation": ("length", "the same from all gradients: (15 nu/epsilon)^(1/2) u' in 3-D"),
    "gradient_skewness": ("1", "skewness of the longitudinal gradients"),
    "gradient_flatness": ("1", "flatness of the longitudinal gradients"),
}
VISCOUS = {
    "dissipation": ("length^2/time^3", "what viscosity and hyperviscosity take out of the energy of the velocity"),
    "reynolds_taylor": ("1", "Reynolds number of r.m.s. velocity and Taylor scale"),
    "reynolds_integral": ("1", "Reynolds number of r.m.s. velocity and integral scale"),
    "kolmogorov_length": (
        "length",
        "(viscosity^3/dissipation)^(1/4); in 2-D (viscosity^3/enstrophy dissipation)^(1/6)",
    ),
    "kolmogorov_time": ("time", "square of the Kolmogorov length over viscosity"),
    "kmax_eta": ("1", "largest wavenumber times Kolmogorov length"),
}


@dataclass(frozen=True)
class Scales(Records):
    """Rms velocity, integral and Taylor scales, Re_λ, Kolmogorov's scales, skewness and flatness of gradients.

    They belong to the equation's velocity, its first vector field, without the mean flow; `diagnostics.flow_scales` has
    the formulas. `dissipation` ε is the loss of ½⟨|u|²⟩ by the linear terms that grow with |k|, and viscosity is
    ε/⟨|∇u|²⟩ where it is more than ν∇²u. Without such terms, the scales that need them are left out. Costs one inverse
    transform of d components, and all-reduces.

    Source: Pope, Turbulent Flows (2000), sections 6.3 to 6.5.
    """

    name: ClassVar[str] = "scales"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def fields_it_needs(self, equation: AnyEquation) -> Iterable[str]:
        return fields_of_vectors(equation)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        vector_prefixes(equation, self.name)
        if equation.grid.dimensions == 1:
            raise ValueError("output scales: a flow in one dimension; two or three are needed")
        viscous = VISCOUS if dissipates(equation) else {}
        texts = {**COLUMNS, **viscous}
        return RecordsLayout({}, {name: Column((), units, text) for name, (units, text) in texts.items()})

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        velocity = next(iter(equation.report.vectors(fields).values()))
        if not dissipates(equation):
            return flow_scales(velocity, equation.transform, None)
        viscosity, further = kinematic_viscosity(equation), further_dissipation(equation, velocity)
        return flow_scales(velocity, equation.transform, 0.0 if viscosity is None else viscosity, further)
