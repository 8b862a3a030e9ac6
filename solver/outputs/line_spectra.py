"""line-spectra.h5: 1-D spectra along each axis; plane-spectra.h5: spectra along one axis and across it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from jaxtyping import Array

from solver.diagnostics import across_wavenumbers, line_spectrum, line_wavenumbers, plane_spectrum
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.vectors import AXES, component_coefficients, components
from solver.spaces import FOURIER


@dataclass(frozen=True)
class LineSpectra(Records):
    """E_i(k_x), E_i(k_y), E_i(k_z) of every component: ½ Σ |û_i|² over the modes with this |k_j|.

    The sum over k_j ≥ 0 is ½⟨|u_i|²⟩. Costs one all-reduce of each spectrum, and a transform only of a wavefunction
    that is held at the points.

    Source: Pope, Turbulent Flows (2000), section 6.5.
    """

    name: ClassVar[str] = "line-spectra"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

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


@dataclass(frozen=True)
class PlaneSpectra(Records):
    """E(k_∥, k_⊥) of every field: ½ Σ |û|² over the modes with this |k_∥| and k_⊥ in a shell around this value.

    The sum of all entries is ½⟨|u|²⟩, with both halves of a symmetric tensor. Costs one all-reduce of each spectrum,
    and a transform only of a wavefunction that is held at the points.

    Args:
        direction: direction of k_∥, such as the direction of gravity, rotation or a mean magnetic field; the last axis
            if None.

    Source: Cambon & Jacquin, J. Fluid Mech. 202 (1989) 295.
    """

    direction: Literal["x", "y", "z"] | None = None

    name: ClassVar[str] = "plane-spectra"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        grid, axis = equation.grid, self._axis(equation)
        axes = {
            "k_parallel": Axis(line_wavenumbers(grid, axis), "1/length", f"|k| along {AXES[axis]}"),
            "k_perp": Axis(across_wavenumbers(grid, axis), "1/length", f"|k| across {AXES[axis]}, centre of the shell"),
        }
        text = "half the mean square at each |k| along and in each shell across"
        return RecordsLayout(
            axes, {name: Column(tuple(axes), f"({field.units})^2", text) for name, field in equation.fields.items()}
        )

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        axis = self._axis(equation)
        return {
            name: plane_spectrum(equation.space(name).counted(u_hat, 0.5), equation.space(name).fourier, axis)
            for name, u_hat in equation.coefficients(fields).items()
        }

    def _axis(self, equation: AnyEquation) -> int:
        d = equation.grid.dimensions
        axis = d - 1 if self.direction is None else AXES.index(self.direction)
        if d == 1 or axis >= d:
            raise ValueError(
                f"output plane-spectra: direction {AXES[axis]!r} in {d} dimensions; two or three are needed, and "
                f"one of {', '.join(AXES[:d])}"
            )
        return axis
