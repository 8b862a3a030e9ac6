"""binned-spectra.h5: spectra in bins of a chosen width of |k|, or of equal width of log |k|."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array

from solver.diagnostics import Bins, binned_spectrum
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.spaces import FOURIER


@dataclass(frozen=True)
class BinnedSpectra(Records):
    """E(k) of every field: ½ Σ |û|² over the modes in each bin of |k|, but for k = 0.

    Shells of `spectra` are as wide as the largest 2π/L, which is wide in a long box. The sum of all bins is
    ½⟨|u − ⟨u⟩|²⟩, with both halves of a symmetric tensor. Costs one all-reduce of each spectrum, and a transform only
    of a wavefunction that is held at the points.

    Args:
        width: width of each bin [1/length]; the smallest 2π/L of the axes if None.
        per_decade: instead: bins for each factor of ten of |k|. Narrow bins of small |k| may hold no mode.

    Raises:
        ValueError: a width or a number that is not positive, or both.
    """

    width: float | None = None
    per_decade: int | None = None

    name: ClassVar[str] = "binned-spectra"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.bins  # which refuses what makes none

    @property
    def bins(self) -> Bins:
        """The bins of |k|."""
        return Bins(self.width, self.per_decade)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        axes = {"k": Axis(self.bins.centres(equation.grid), "1/length", "centre of the bin")}
        text = "half the mean square of {} in each bin of |k|"
        return RecordsLayout(
            axes,
            {name: Column(("k",), f"({field.units})^2", text.format(name)) for name, field in equation.fields.items()},
        )

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        return {
            name: binned_spectrum(equation.space(name).counted(u_hat, 0.5), equation.space(name).fourier, self.bins)
            for name, u_hat in equation.coefficients(fields).items()
        }
