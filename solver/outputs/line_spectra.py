"""line-spectra.h5: 1-D spectra along each axis, also by height; plane-spectra.h5: along one axis and across it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics import (
    across_wavenumbers,
    line_spectra_by_height,
    line_spectrum,
    line_wavenumbers,
    plane_spectrum,
)
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.vectors import (
    AXES,
    component_coefficients,
    components,
    components_by_height,
    heights,
    values_by_component,
)
from solver.spaces import FOURIER


@dataclass(frozen=True)
class LineSpectra(Records):
    """E_i(k_x), E_i(k_y), E_i(k_z) of every component: ½ Σ |û_i|² over the modes with this |k_j|.

    The sum over k_j ≥ 0 is ½⟨|u_i|²⟩. Costs one all-reduce of each spectrum, and a transform only of a wavefunction
    that is held at the points.

    By height E_i(k_j, z), in two dimensions E_i(k_x, y), are spectra of each plane, of real components less their mean
    over the plane: the sum over k_j ≥ 0 is half of their variance in it. The two-point correlations along the planes
    are their cosine transform: `sw.two_point_correlations`. They cost an inverse transform of the fields, an exchange
    of their values, in which each device gets whole planes, and an all-reduce of the spectra.

    Args:
        by_height: True for spectra along the planes at each height, between walls or in a periodic box.

    Source: Pope, Turbulent Flows (2000), section 6.5; Kim, Moin & Moser, J. Fluid Mech. 177 (1987) 133 (by height).
    """

    by_height: bool = False

    name: ClassVar[str] = "line-spectra"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def fields_it_needs(self, equation: AnyEquation) -> Iterable[str]:
        return () if self.by_height else super().fields_it_needs(equation)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        grid, columns = equation.grid, {}
        if self.by_height:
            return self._layout_by_height(equation)
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

    def _layout_by_height(self, equation: AnyEquation) -> RecordsLayout:
        parts, (last, places) = components_by_height(equation, self.name), heights(equation.grid)
        axes = {
            f"k{axis}": Axis(line_wavenumbers(equation.grid, j), "1/length", f"|k| along {axis}")
            for j, axis in enumerate(AXES[: equation.grid.dimensions - 1])
        }
        columns = {
            f"{part}_{axis[1:]}": Column(
                (axis, last), f"({units})^2", f"half the variance of {part} in a plane at each |{axis}|"
            )
            for part, units in parts.items()
            for axis in axes
        }
        return RecordsLayout({**axes, last: places}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        if self.by_height:
            parts = values_by_component(equation, fields, self.name)
            made = line_spectra_by_height(jnp.stack([*parts.values()]), equation.grid)
            return {
                f"{part}_{AXES[j]}": spectrum
                for j, spectra in enumerate(made)
                for part, spectrum in zip(parts, spectra, strict=True)
            }
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
