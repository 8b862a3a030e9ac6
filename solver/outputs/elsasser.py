"""elsasser.h5: spectra, transfers and fluxes of the Elsässer fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import shell_flux, shell_spectrum, shell_wavenumbers
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.equation import Equation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.transfer import invariant_transfer
from solver.outputs.vectors import fields_of_vectors
from solver.spaces import FOURIER

SIGNS = {"plus": 1, "minus": -1}


@dataclass(frozen=True)
class Elsasser(Records):
    """E±(k) = ¼ Σ |ẑ±|² over each shell with z± = u ± b; their sum is the energy ½⟨|u|² + |b|²⟩.

    `plus_transfer`, `plus_flux`, `minus_transfer` and `minus_flux` are the changes by the nonlinear term, as in
    `transfer`; ideal flow conserves each of the two energies. Costs one evaluation of the nonlinear term, and an
    all-reduce of the shells for each column.

    Source: Elsasser, Phys. Rev. 79 (1950) 183; Biskamp, Magnetohydrodynamic Turbulence (2003), chapter 2.
    """

    name: ClassVar[str] = "elsasser"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def fields_it_needs(self, equation: AnyEquation) -> Iterable[str]:
        return fields_of_vectors(equation)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        if not isinstance(equation, Equation) or not {"velocity", "magnetic_field"} <= set(equation.fields):
            raise ValueError(
                f"output elsasser: {equation.name} has the fields {', '.join(equation.fields)}; velocity and "
                "magnetic_field are needed"
            )
        energy, rate, columns = "length^2/time^2", "length^2/time^3", {}
        for name, sign in SIGNS.items():
            z = f"u {'+' if sign > 0 else '-'} b"
            columns[name] = Column(("k",), energy, f"quarter of the mean square of {z} in each shell")
            columns[f"{name}_transfer"] = Column(("k",), rate, f"rate at which N changes that of {z} in each shell")
            columns[f"{name}_flux"] = Column(("k",), rate, f"rate at which N takes that of {z} from all shells up to k")
        return RecordsLayout({"k": Axis(shell_wavenumbers(equation.grid), "1/length", "centre of the shell")}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        return self.values_at(equation, fields, 0.0)

    def values_at(self, equation: AnyEquation, fields: Fields, t: ArrayLike) -> Mapping[str, Array]:
        assert isinstance(equation, Equation)  # checked in `layout`
        nonlinear, columns = equation.nonlinear(fields, jnp.asarray(t, equation.grid.dtype)), {}
        for name, sign in SIGNS.items():
            z = fields["velocity"] + sign * fields["magnetic_field"]
            conjugate = {"velocity": 0.5 * z, "magnetic_field": 0.5 * sign * z}
            transfer = invariant_transfer(equation, conjugate, nonlinear)
            columns[name] = 0.5 * shell_spectrum(z, equation.grid)
            columns |= {f"{name}_transfer": transfer, f"{name}_flux": shell_flux(transfer)}
        return columns
