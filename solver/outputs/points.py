"""points.h5: the fields at chosen places against time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records


@dataclass(frozen=True)
class Points(Records):
    """Every component of every field at chosen places, also between points of the grid, exact to round-off.

    Columns have the names of the components, such as `velocity_x`; a wavefunction has a real and an imaginary part.
    Costs one pass over the modes and one all-reduce for each place.

    Args:
        at: the places, one position [length] for each direction.
    """

    at: tuple[tuple[float, ...], ...] = ()

    name: ClassVar[str] = "points"

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        d = equation.grid.dimensions
        if not self.at or any(len(place) != d for place in self.at):
            raise ValueError(f"output points: at = {[list(p) for p in self.at]}: places of {d} numbers are needed")
        listed = "; ".join(f"({', '.join(f'{x:.12g}' for x in place)})" for place in self.at)
        axes = {"point": Axis(np.arange(len(self.at)), long_name=f"the places, in turn: {listed}")}
        columns = {}
        for name, field in equation.fields.items():
            for component in field.component_names(name, d):
                for part in ("",) if field.real else ("_real", "_imag"):
                    columns[component + part] = Column(("point",), field.units, f"{component}{part} at each place")
        return RecordsLayout(axes, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        columns = {}
        d, hats = equation.grid.dimensions, equation.coefficients(fields)
        for name, field in equation.fields.items():
            values = equation.space(name).at_places(hats[name], self.at)
            for i, component in enumerate(field.component_names(name, d)):
                if field.real:
                    columns[component] = values[:, i]
                else:
                    columns |= {f"{component}_real": values[:, i].real, f"{component}_imag": values[:, i].imag}
        return columns
