"""domain-length.h5: the characteristic length of a pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array

from solver.diagnostics import characteristic_length
from solver.dynamics.any_equation import AnyEquation
from solver.io import Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.spaces import FOURIER


@dataclass(frozen=True)
class DomainLength(Records):
    """ℓ = 2π Σ S / Σ k S of every field, S = |û|² of its fluctuations: `FIELD_length`.

    It grows while domains coarsen, as t^(1/3) for Cahn–Hilliard. Costs all-reduces of numbers, and a transform only of
    a wavefunction that is held at the points.

    Source: Bray, Adv. Phys. 43 (1994) 357, section 2.5.
    """

    name: ClassVar[str] = "domain-length"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        text = "2 pi over the mean wavenumber of the fluctuations"
        return RecordsLayout({}, {f"{name}_length": Column((), "length", text) for name in equation.fields})

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        return {
            f"{name}_length": characteristic_length(
                equation.space(name).counted(u_hat, 0.5), equation.space(name).fourier
            )
            for name, u_hat in equation.coefficients(fields).items()
        }
