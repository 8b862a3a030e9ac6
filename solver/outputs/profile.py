"""profile.h5: the radial profile around the peak of a density."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array

from solver.diagnostics import profile_around_peak, profile_radii
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.vectors import AXES, density_of, require_density


@dataclass(frozen=True)
class Profile(Records):
    """Mean of the density |ψ|² in shells around its largest value, and the position of that value.

    Distances are to the nearest periodic image. Shells are as thick as the coarsest spacing; the first one holds the
    points within half of it: one, where spacings are equal. `diagnostics.fit_soliton` fits the profile of a soliton to
    a row. Costs all-reduces of the shells, and a transform unless the wavefunction is held at the points.

    Source: Schive, Chiueh & Broadhurst, Nature Phys. 10 (2014) 496.
    """

    name: ClassVar[str] = "profile"

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        require_density(equation, self.name)
        columns = {
            "density": Column(("r",), "density", "mean density in each shell around the peak"),
            "count": Column(("r",), "1", "number of points in each shell"),
            "peak_density": Column((), "density", "largest density"),
        }
        for axis in AXES[: equation.grid.dimensions]:
            columns[f"peak_{axis}"] = Column((), "length", f"{axis} of the largest density")
        return RecordsLayout({"r": Axis(profile_radii(equation.grid), "length", "distance from the peak")}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        means, count, peak, place = profile_around_peak(density_of(equation, fields), equation.grid)
        position = {f"peak_{axis}": x for axis, x in zip(AXES, place, strict=False)}
        return {"density": means, "count": count, "peak_density": peak, **position}
