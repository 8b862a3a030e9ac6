"""particle-pdfs.h5: probability densities of the velocity and the acceleration of particles, and of the flow there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import bin_centres, particle_density
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import Changes
from solver.dynamics.checks import require
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.pdfs import MAX_BINS, MOMENTS
from solver.outputs.records import Records, no_changes
from solver.particles.flow import ACCELERATION
from solver.particles.particles import particles_of
from solver.particles.quantities import are_particles, quantities_at


@dataclass(frozen=True)
class ParticlePDFs(Records):
    """Probability densities of quantities of particles, all components of a quantity together.

    `NAME_velocity` and `NAME_acceleration` for the particles of each NAME: densities of (v − ⟨v⟩)/σ, with further
    columns `NAME_velocity_mean`, `_std`, `_skewness`, `_flatness` of v itself, and `_outside`, the fraction of the
    values beyond the axis. The velocity is dx/dt without random jumps: the particles' own one, or else the one of the
    fluid. The acceleration is its rate of change: the particles' own dv/dt, or else Du/Dt of the fluid.

    `statistics` with `of = ["particle-pdfs"]` has their means over windows of time.

    Costs one inverse transform for the particles of each name, with an acceleration one evaluation of N; all-reduces of
    the counts.

    Args:
        quantities: names of the quantities: `velocity`, `acceleration`, a number that particles hold, or a field or
            other quantity of the flow, as in `record` of the output `particles`.
        bins: number of bins.
        deviations: the axis `deviation` reaches from minus to plus this many standard deviations.

    Source: La Porta, Voth, Crawford, Alexander & Bodenschatz, Nature 409 (2001) 1017 (acceleration).
    """

    quantities: tuple[str, ...] = ("velocity", "acceleration")
    bins: int = 201
    deviations: float = 10.0

    name: ClassVar[str] = "particle-pdfs"

    @property
    def reads_changes(self) -> bool:
        return ACCELERATION in self.quantities

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        require("bins", self.bins, "one or more", least=1)
        if self.bins > MAX_BINS:
            raise ValueError(f"bins {self.bins}: at most {MAX_BINS} are needed; a row keeps them all")
        require("deviations", self.deviations, "a positive number", above=0)
        if not self.quantities:
            raise ValueError("quantities is empty; one or more are needed")
        columns: dict[str, Column] = {}
        for name in names_of_particles(self, equation):
            self._check(equation, name)
            for quantity in self.quantities:
                column = f"{name}_{quantity}"
                columns[column] = Column(("deviation",), "1", f"probability density of {quantity} of {name}")
                columns |= {f"{column}_{what}": Column((), "", f"{what} of {quantity} of {name}") for what in MOMENTS}
        axis = Axis(bin_centres(-self.deviations, self.deviations, self.bins), "1", "distance from the mean over σ")
        return RecordsLayout({"deviation": axis}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        return self._values(equation, fields, None, 0.0)

    def values_with(self, equation: AnyEquation, fields: Fields, changes: Changes, t: ArrayLike) -> Mapping[str, Array]:
        return self._values(equation, fields, changes, t)

    def _values(
        self, equation: AnyEquation, fields: Fields, changes: Changes | None, t: ArrayLike
    ) -> Mapping[str, Array]:
        columns: dict[str, Array] = {}
        for name in particles_of(equation):
            seen = are_particles(equation, name)
            for quantity, values in quantities_at(equation, name, self.quantities, fields, changes, t).items():
                density = particle_density(values, seen, self.deviations, self.bins, equation.grid)
                shares, outside, moments = density
                columns[f"{name}_{quantity}"] = shares
                numbers = zip(MOMENTS, (*moments, outside), strict=True)
                columns |= {f"{name}_{quantity}_{what}": value for what, value in numbers}
        return columns

    def _check(self, equation: AnyEquation, name: str) -> None:
        """Raises ValueError where particles and flow have no quantity of a name. Touches no device."""
        shapes, grid = equation.field_shapes(), equation.grid
        try:
            jax.eval_shape(
                lambda fields: quantities_at(
                    equation, name, self.quantities, fields, no_changes(equation, fields), np.zeros((), grid.dtype)
                ),
                shapes,
            )
        except ValueError as error:
            raise ValueError(f"output {self.name}, of {name}: {error}") from None


def names_of_particles(output: Records, equation: AnyEquation) -> list[str]:
    """Names of the particles of an equation.

    Raises:
        ValueError: it has no particles.
    """
    names = list(particles_of(equation))
    if not names:
        raise ValueError(f"output {output.name}: the run has no particles; a section [particles.NAME] is needed")
    return names
