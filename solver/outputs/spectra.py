"""spectra.h5: shell spectra against time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jax
from jaxtyping import Array

from solver.diagnostics import shell_wavenumbers
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout, RunDirectory
from solver.operators import Fields
from solver.outputs.records import Records
from solver.pictures import Recorded, View, save, spectra_figure
from solver.spaces import FOURIER


@dataclass(frozen=True)
class Spectra(Records):
    """The equation's shell spectra: of each energy and invariant its part in each shell |k| ∈ [k − Δk/2, k + Δk/2).

    One all-reduce of the shells for each spectrum.
    """

    name: ClassVar[str] = "spectra"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        k = Axis(shell_wavenumbers(equation.grid), "1/length", "centre of the shell")
        names = jax.eval_shape(lambda fields: equation.spectra(fields), equation.field_shapes())
        law = equation.spectrum_laws.get(equation.grid.dimensions)
        columns = {
            name: Column(("k",), long_name=text, power_law=None if law is None else _law_of(name, law))
            for name, text in _about(equation, names).items()
        }
        return RecordsLayout({"k": k}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        return equation.spectra(fields)

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Draw a panel for each spectrum, and one of it times a power of k, from the view or from the file."""
        recorded = Recorded.read(cls.file(directory))
        if recorded is None:
            return []
        columns = recorded.layout.columns
        if view.compensate is None:
            laws = {name: column.power_law for name, column in columns.items() if column.power_law is not None}
        else:
            laws = {name: _law_of(name, view.compensate) for name in columns}
        figure = spectra_figure(recorded.axis("k"), recorded.t, recorded.values, view, laws, recorded.k_max)
        return [] if figure is None else save(figure, folder, cls.name, view)


def _about(equation: AnyEquation, names: Iterable[str]) -> dict[str, str]:
    """Description of each spectrum."""
    report, is_own = equation.report, type(equation).spectra is not AnyEquation.spectra
    of_fields, summed = {} if is_own else report.spectra_of_fields, report.units()
    whole = {True: "that of the series", False: "its mean over the box"}
    return {
        name: f"half the mean square of {of_fields[name]} in each shell"
        if name in of_fields
        else f"{name} in each shell: the sum of all shells is {whole[name in summed]}"
        for name in names
    }


def _law_of(name: str, energy: float) -> float:
    """p of the law k^−p of a spectrum, from p of the energy spectrum.

    Enstrophy is k² times energy, and energy k² times the squared potential of a field.
    """
    return energy - 2 if "enstrophy" in name else energy + 2 if "squared_potential" in name else energy
