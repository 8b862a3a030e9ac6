"""structure-functions.h5: moments of velocity differences over distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Array

from solver import diagnostics
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import require
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records, refuse_twice
from solver.outputs.vectors import component_coefficients, components, vector_prefixes
from solver.spaces import FOURIER


@dataclass(frozen=True)
class StructureFunctions(Records):
    """S_p(r) = ⟨(u_i(x + r e_j) − u_i(x))^p⟩ of each vector field: longitudinal (i = j) and transverse (i ≠ j).

    Each scalar field has ⟨(c(x + r e_j) − c(x))^p⟩ under its name. Averages are over the box and the coordinate
    directions; odd orders keep their sign. Costs one inverse transform of each field, and one for each separation and
    each axis that is split over devices; all-reduces of numbers.

    Args:
        orders: orders p, each one or more.
        separations: r as numbers of the coarsest spacing; 1, 2, 4, … up to half of the shortest side if empty.

    Source: Monin & Yaglom, Statistical Fluid Mechanics 2 (1975), section 13; Frisch, Turbulence (1995), chapter 5.
    """

    orders: tuple[int, ...] = (2, 3, 4, 6)
    separations: tuple[int, ...] = ()

    name: ClassVar[str] = "structure-functions"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        require("orders", self.orders, "whole numbers of one or more", least=1)
        if not self.orders:
            raise ValueError("orders []: one whole number or more is needed")
        prefixes, scalars = vector_prefixes(equation, self.name, needed=False), self._scalars(equation)
        if not (prefixes or scalars):
            raise ValueError(f"output {self.name}: {equation.name} has no vector and no real scalar; one is needed")
        r = self._steps(equation) * max(equation.grid.spacing)
        axes = {"r": Axis(r, "length", "separation"), "order": Axis(np.asarray(self.orders), "1", "order p")}
        columns = {}
        for name, prefix in prefixes.items():
            columns[f"{prefix}longitudinal"] = Column(("r", "order"), "", f"<(du)^p> of {name} along the separation")
            if equation.grid.dimensions > 1:
                columns[f"{prefix}transverse"] = Column(("r", "order"), "", f"<(du)^p> of {name} across the separation")
        refuse_twice([*columns, *scalars])
        for name, field in scalars.items():
            columns[name] = Column(("r", "order"), "", f"<(dc)^p> of {field} over the separation")
        return RecordsLayout(axes, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        steps, columns = self._steps(equation).tolist(), {}
        vectors = equation.report.vectors(fields)
        for name, prefix in vector_prefixes(equation, self.name, needed=False).items():
            along, across = diagnostics.structure_functions(vectors[name], steps, self.orders, equation.transform)
            columns[f"{prefix}longitudinal"] = along
            if across is not None:
                columns[f"{prefix}transverse"] = across
        scalars = self._scalars(equation)
        hats = component_coefficients(equation, fields) if scalars else {}
        for name, field in scalars.items():
            transform = equation.space(field).fourier_transform
            columns[name] = diagnostics.scalar_structure_functions(hats[name][1][None], steps, self.orders, transform)
        return columns

    def _scalars(self, equation: AnyEquation) -> dict[str, str]:
        """Real scalar components and their fields."""
        return {name: field for name, field in components(equation).items() if equation.fields[field].rank == "scalar"}

    def _steps(self, equation: AnyEquation) -> np.ndarray:
        if not self.separations:
            return diagnostics.separations(equation.grid)
        return check_separations(self.separations, equation)


def check_separations(separations: tuple[int, ...], equation: AnyEquation) -> np.ndarray:
    """Separations in ascending order. Raises ValueError for one below 1 or beyond half of the shortest side."""
    most = diagnostics.longest_separation(equation.grid)
    steps = np.unique(np.asarray(separations, int))
    if len(steps) != len(separations) or steps[0] < 1 or steps[-1] > most:
        raise ValueError(
            f"separations {list(separations)}: different numbers from 1 to {most} of the coarsest spacing are needed"
        )
    return steps
