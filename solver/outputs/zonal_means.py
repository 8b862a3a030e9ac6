"""zonal-means.h5: means over x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax
from jaxtyping import Array

from solver.diagnostics import zonal_mean
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.derived import density_at_points, density_name
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.vectors import AXES, component_names, has_density, vectors_at_points


@dataclass(frozen=True)
class ZonalMeans(Records):
    """Mean over x of every component, as a function of y [and z]; for a wavefunction the mean of |ψ|².

    The column of |ψ|² is `density`, or `PSI_density` of a wavefunction PSI where a field is called `density`. If the
    equation has a velocity that is not one of its fields, its components are included. Costs one inverse transform of
    the fields, and an all-reduce of the means.

    Source: Vallis, Atmospheric and Oceanic Fluid Dynamics (2017), section 9.1.
    """

    name: ClassVar[str] = "zonal-means"

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        grid = equation.grid
        if grid.dimensions == 1:
            raise ValueError("output zonal-means: one dimension; two or three are needed")
        if not grid.periodic[0]:
            raise ValueError("output zonal-means: the box ends along x; a periodic direction is needed")
        axes = {AXES[j]: Axis(grid.coordinates()[j].ravel(), "length") for j in range(1, grid.dimensions)}
        return RecordsLayout(
            axes, {name: Column(tuple(axes), units, f"{name}, mean over x") for name, units in _units(equation)}
        )

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        columns: dict[str, Array] = {}
        values = equation.to_physical(fields)
        for name, u in {**values, **vectors_at_points(equation, fields)}.items():
            if name in equation.fields and not equation.fields[name].real:
                continue
            means = zonal_mean(u, equation.grid)
            columns |= dict(zip(component_names(equation, name), means, strict=True))
        density = density_at_points(equation, values)
        return columns if density is None else {**columns, density_name(equation): zonal_mean(density, equation.grid)}


def _units(equation: AnyEquation) -> list[tuple[str, str]]:
    """Names and units of the columns."""
    units = []
    for name, field in equation.fields.items():
        if field.real:
            units += [(component, field.units) for component in equation.space(name).component_names]
    shapes = equation.field_shapes()
    for name in jax.eval_shape(lambda fields: vectors_at_points(equation, fields), shapes):
        units += [(component, "length/time") for component in component_names(equation, name)]
    return units + ([(density_name(equation), "density")] if has_density(equation) else [])
