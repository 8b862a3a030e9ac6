"""modes.h5: chosen coefficients against time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Array

from solver.diagnostics import mode_coefficients
from solver.dynamics.any_equation import AnyEquation
from solver.grid import mode_index
from solver.io import Axis, Column, RecordsLayout, RunDirectory
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.vectors import component_coefficients, components
from solver.pictures import Recorded, View, frequencies_figure, save
from solver.spaces import FOURIER


@dataclass(frozen=True)
class Modes(Records):
    """Real and imaginary part of û(n) of every component, for chosen modes n = (n_x, n_y, n_z), k_i = 2π n_i/L_i.

    `diagnostics.frequency_spectrum` makes frequency–wavenumber spectra of the record. Costs one all-reduce of as many
    numbers as modes for each component, and a transform only of a wavefunction that is held at the points.

    Args:
        modes: whole numbers, one for each axis of each mode, such as [[1, 0, 0], [0, 2, 1]].
    """

    modes: tuple[tuple[int, ...], ...] = ()

    name: ClassVar[str] = "modes"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        if not self.modes:
            raise ValueError("output modes: modes []; one or more are needed, such as [[1, 0, 0]]")
        columns = {}
        for component, field in components(equation).items():
            for mode in self.modes:
                mode_index(equation.space(field).fourier, mode)  # raises if the grid does not retain the mode
            units = equation.fields[field].units
            for part in ("real", "imaginary"):
                columns[f"{component}_{part}"] = Column(("mode",), units, f"{part} part of the coefficient")
        listed = ", ".join(str(list(mode)) for mode in self.modes)
        return RecordsLayout({"mode": Axis(np.arange(len(self.modes)), "", f"modes {listed}")}, columns)

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Draw the record, and the frequency spectra of the modes if its times are equally spaced."""
        recorded = Recorded.read(cls.file(directory))
        spectra = None if recorded is None else frequencies_figure(recorded, view)
        drawn = [] if spectra is None else save(spectra, folder, f"{cls.name}-frequencies", view)
        return [*super().draw(directory, folder, view), *drawn]

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        columns: dict[str, Array] = {}
        for component, (field, u_hat) in component_coefficients(equation, fields).items():
            values = mode_coefficients(u_hat, self.modes, equation.space(field).fourier)
            columns |= {f"{component}_real": values.real, f"{component}_imaginary": values.imag}
        return columns
