"""wave-vortex.h5: spectra of the vortical part and of the waves of a rotating, stratified flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics import co_spectrum, shell_wavenumbers
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.spaces import FOURIER


@dataclass(frozen=True)
class WaveVortex(Records):
    """Shell spectra of the energy ½|u|² + ½b²/N² of the vortical part, the waves, and the part that depends on z alone.

    The parts come from `operators.split_waves`: the mode of each k that has potential vorticity, the two
    inertia–gravity waves, and all modes with k_h = 0 (`shear`). They are orthogonal: the three spectra add up to the
    spectrum of the energy. Costs one all-reduce of the shells for each field of a part; no transform.

    Source: Bartello, J. Atmos. Sci. 52 (1995) 4410 (from memory); Herbert, Marino, Rosenberg & Pouquet,
    arXiv:1509.02549 (2015).
    """

    name: ClassVar[str] = "wave-vortex"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        make = equation.report.parts
        if make is None:
            raise ValueError(
                f"output {self.name}: {equation.name} has no vortical part and waves; boussinesq is needed"
            )
        parts = jax.eval_shape(make, equation.field_shapes())
        units = next(iter(equation.report.invariant_units().values()))
        columns = {part: Column(("k",), units, f"energy of the part {part} in each shell") for part in parts}
        return RecordsLayout({"k": Axis(shell_wavenumbers(equation.grid), "1/length", "centre of the shell")}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        parts = equation.report.parts
        assert parts is not None
        return {part: _energy_spectrum(equation, own) for part, own in parts(fields).items()}


def _energy_spectrum(equation: AnyEquation, fields: Fields) -> Array:
    """Shell spectrum of the sum of the invariants ½⟨u·g⟩."""
    terms = [
        0.5 * co_spectrum(fields[name], g, equation.space(name).fourier)
        for conjugate in equation.report.invariants(fields).values()
        for name, g in conjugate.items()
    ]
    return sum(terms[1:], start=jnp.asarray(terms[0]))
