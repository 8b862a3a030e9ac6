"""helicity.h5: spectra of the helicities of a flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array

from solver.diagnostics import co_spectrum, shell_wavenumbers
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields, curl
from solver.outputs.records import Records
from solver.outputs.vectors import fields_of_vectors, vector_prefixes
from solver.spaces import FOURIER


@dataclass(frozen=True)
class Helicity(Records):
    """H(k) = Σ Re(û* ω̂) over each shell, ω = ∇×u; the sum of all shells is ⟨u·ω⟩. In three dimensions only.

    An equation with a magnetic field also has `magnetic_helicity`, ⟨a·b⟩ with b = ∇×a and ∇·a = 0, and
    `cross_helicity`, ⟨u·b⟩. Costs one all-reduce of the shells for each column; no transform.

    Source: Moffatt, J. Fluid Mech. 35 (1969) 117; Biskamp, Magnetohydrodynamic Turbulence (2003), chapter 2.
    """

    name: ClassVar[str] = "helicity"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def fields_it_needs(self, equation: AnyEquation) -> Iterable[str]:
        return fields_of_vectors(equation)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        vector_prefixes(equation, self.name)
        if equation.grid.dimensions != 3:
            raise ValueError(
                f"output helicity: {equation.name} in {equation.grid.dimensions} dimensions; three are needed"
            )
        columns = {"helicity": Column(("k",), "length/time^2", "velocity times vorticity in each shell")}
        if "magnetic_field" in equation.fields:
            columns["magnetic_helicity"] = Column(
                ("k",), "length^3/time^2", "vector potential times field in each shell"
            )
            columns["cross_helicity"] = Column(("k",), "length^2/time^2", "velocity times magnetic field in each shell")
        return RecordsLayout({"k": Axis(shell_wavenumbers(equation.grid), "1/length", "centre of the shell")}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        vectors, grid = equation.report.vectors(fields), equation.grid
        u_hat = next(iter(vectors.values()))
        columns = {"helicity": co_spectrum(u_hat, curl(u_hat, grid), grid)}
        if "magnetic_field" in vectors:
            b_hat = vectors["magnetic_field"]
            a_hat = curl(b_hat, grid) * grid.inverse_k_squared()
            columns["magnetic_helicity"] = co_spectrum(a_hat, b_hat, grid)
            columns["cross_helicity"] = co_spectrum(u_hat, b_hat, grid)
        return columns
