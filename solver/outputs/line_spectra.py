"""line-spectra.h5: 1-D spectra along each axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array

from solver.diagnostics import line_spectrum, line_wavenumbers
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.vectors import AXES, component_coefficients, components


@dataclass(frozen=True)
class LineSpectra(Records):
    """E_i(k_x), E_i(k_y), E_i(k_z) of every component: ½ Σ |û_i|² over the modes with this |k_j|.

    The sum over k_j ≥ 0 is ½⟨|u_i|²⟩. Costs one all-reduce of each spectrum, and a transform only of a wavefunction
    that is held at the points.

    Source: Pope, Turbulent Flows (2000), section 6.5.
    """

    name: ClassVar[str] = "line-spectra"

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        grid, columns = equation.grid, {}
        axes = {
            f"k{axis}": Axis(line_wavenumbers(grid, j), "1/length", f"|k| along {axis}")
            for j, axis in enumerate(AXES[: grid.dimensions])
        }
        for component, field in components(equation).items():
            units = f"({equation.fields[field].units})^2"
            for axis in AXES[: grid.dimensions]:
                text = f"half the mean square of {component} at each |k{axis}|"
                columns[f"{component}_{axis}"] = Column((f"k{axis}",), units, text)
        return RecordsLayout(axes, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        return {
            f"{component}_{axis}": line_spectrum(u_hat, equation.space(field).fourier, j)
            for component, (field, u_hat) in component_coefficients(equation, fields).items()
            for j, axis in enumerate(AXES[: equation.grid.dimensions])
        }
