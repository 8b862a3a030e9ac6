"""pdfs.h5: probability densities of velocity, gradients, vorticity, increments, dissipation, density, scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from jaxtyping import Array

from solver import diagnostics
from solver.config import nearest
from solver.diagnostics import (
    Moments,
    bin_centres,
    density_by_height,
    deviation_density,
    log_density,
    log_density_by_height,
)
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import require
from solver.dynamics.derived import density_name, derived_quantities, dissipates, dissipation, name_apart
from solver.grid import Grid
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records, refuse_twice
from solver.outputs.structure_functions import check_separations
from solver.outputs.vectors import (
    components_by_height,
    density_of,
    has_density,
    heights,
    values_by_component,
    vector_prefixes,
)
from solver.spaces import EVEN_POINTS

MOMENTS = ("mean", "std", "skewness", "flatness", "outside")
MAX_BINS = 100_000


@dataclass(frozen=True)
class PDFs(Records):
    """Probability densities of quantities at the points, all components of a quantity together.

    `velocity`, `longitudinal_gradient` (∂_i u_i), `transverse_gradient` (∂_j u_i, i ≠ j), `vorticity` and
    `increment_r4` (longitudinal, over 4 times the coarsest spacing) belong to the first vector field. The quantities of
    another vector field have its name in front. Every real scalar field is a quantity. All these are densities of
    (v − ⟨v⟩)/σ. `dissipation` (the energy that viscosity takes away: 2ν s_ij s_ij of a solenoidal velocity) and
    `density` have densities of log₁₀(v/⟨v⟩) instead. A field keeps its name: a quantity of one field that would have
    the name of another field has the name of its own field in front, and a vorticity is left out. Each quantity Q has
    further columns: `Q_mean`, `Q_std`, `Q_skewness`, `Q_flatness` of v itself, and `Q_outside`, the fraction of the
    values beyond the axis; the integral over the axis is 1 less this fraction.

    By height they are densities of each plane z = constant (line y = constant in two dimensions), with ⟨v⟩ and σ of the
    plane, of each component of a real field by its name (`velocity_x`), and of `dissipation`. The height is a further
    axis of all columns. Between walls `by_height` is needed, since points of different heights do not count alike.

    Costs one inverse transform of the d components of a vector field, one of its d² gradients, for each increment one
    of a component along each axis that is split over devices; all-reduces of the counts.

    Args:
        quantities: names of the quantities; all that the equation has if empty.
        separations: distances of the increments, in units of the coarsest spacing; 1 and 4 if empty, where they fit.
        bins: number of bins, on both axes.
        deviations: the axis `deviation` reaches from minus to plus this many standard deviations.
        decades: the axis `log10_of_mean` reaches from minus to plus this many decades.
        by_height: True for densities of the planes at each height, between walls or in a periodic box.

    Source: Frisch, Turbulence (1995), chapter 8.
    """

    quantities: tuple[str, ...] = ()
    separations: tuple[int, ...] = ()
    bins: int = 201
    deviations: float = 10.0
    decades: float = 6.0
    by_height: bool = False

    name: ClassVar[str] = "pdfs"
    needs: ClassVar[tuple[str, ...]] = (EVEN_POINTS,)

    def fields_it_needs(self, equation: AnyEquation) -> Iterable[str]:
        return () if self.by_height else super().fields_it_needs(equation)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        require("bins", self.bins, "one or more", least=1)
        if self.bins > MAX_BINS:
            raise ValueError(f"bins {self.bins}: at most {MAX_BINS} are needed; a row keeps them all")
        for name in ("deviations", "decades"):
            require(name, getattr(self, name), "a positive number", above=0)
        columns: dict[str, Column] = {}
        along = dict([heights(equation.grid)]) if self.by_height else {}
        names = self._quantities(equation)
        refuse_twice([own for name in names for own in (name, *(f"{name}_{what}" for what in MOMENTS))])
        for name in names:
            axis = _axis(name, equation)
            columns[name] = Column((axis, *along), "1", f"probability density of {name} per unit of {axis}")
            columns |= {f"{name}_{what}": Column(tuple(along), "", f"{what} of {name}") for what in MOMENTS}
        deviation = bin_centres(-self.deviations, self.deviations, self.bins)
        decades = bin_centres(-self.decades, self.decades, self.bins)
        axes = {
            "deviation": Axis(deviation, "1", "distance from the mean in standard deviations"),
            "log10_of_mean": Axis(decades, "1", "decimal logarithm of the value over its mean"),
        }
        used = {column.axes[0] for column in columns.values() if column.axes}
        return RecordsLayout({**{name: axis for name, axis in axes.items() if name in used}, **along}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        columns: dict[str, Array] = {}
        makers = self._makers(equation, fields)
        for name in self._quantities(equation):
            values, grid = makers[name](), equation.grid
            if self.by_height:
                shares, outside, moments = self._density_by_height(values, _axis(name, equation), grid)
            elif _axis(name, equation) == "deviation":
                shares, outside, moments = deviation_density(values, self.deviations, self.bins, grid)
            else:
                shares, outside, moments = log_density(values, -self.decades, self.decades, self.bins, grid)
            columns[name] = shares
            numbers = zip(MOMENTS, (*moments, outside), strict=True)
            columns |= {f"{name}_{what}": value for what, value in numbers}
        return columns

    def _density_by_height(self, values: Array, axis: str, grid: Grid) -> tuple[Array, Array, Moments]:
        """The density `(bin, z)`, and numbers of each plane."""
        if axis == "deviation":
            shares, outside, moments = density_by_height(values, grid, self.bins, self.deviations)
        else:
            shares, outside, moments = log_density_by_height(values, grid, self.bins, self.decades)
        return shares.T, outside, moments

    def _quantities(self, equation: AnyEquation) -> list[str]:
        """Names of the quantities to be recorded.

        Raises:
            ValueError: the equation does not have one of them, or has no quantity at all.
        """
        known = self._known(equation)
        for name in self.quantities:
            if name not in known:
                raise ValueError(f"output pdfs: unknown quantity {name!r}{nearest(name, known)}")
        if not known:
            raise ValueError(
                f"output pdfs: {equation.name} has no vector, no density and no real scalar; one is needed"
            )
        return list(self.quantities or known)

    def _known(self, equation: AnyEquation) -> list[str]:
        if self.by_height:
            parts = [*components_by_height(equation, self.name)]
            return list(dict.fromkeys(parts + ["dissipation"] * ("dissipation" in derived_quantities(equation))))
        names, several = [], equation.grid.dimensions > 1
        vectors = vector_prefixes(equation, self.name, needed=False)
        for vector, prefix in vectors.items():
            own = [f"{prefix}velocity" if not prefix else prefix[:-1], f"{prefix}longitudinal_gradient"]
            own += [f"{prefix}transverse_gradient", f"{prefix}vorticity"] if several else []
            own = [name for name in own if name != "vorticity" or name not in equation.fields]
            own += [f"{prefix}increment_r{n}" for n in self._separations(equation)]
            own += ["dissipation"] if not prefix and dissipates(equation) else []
            names += [name_apart(equation, name, vector) for name in own]
        names += [name for name, field in equation.fields.items() if field.rank == "scalar"]
        return names + ([density_name(equation)] if has_density(equation) else [])

    def _separations(self, equation: AnyEquation) -> list[int]:
        if self.separations:
            return [int(n) for n in check_separations(self.separations, equation)]
        return [n for n in (1, 4) if n <= max(diagnostics.separations(equation.grid))]

    def _makers(self, equation: AnyEquation, fields: Fields) -> dict[str, Callable[[], Array]]:
        """Functions that compute each quantity at the points; only those that are called are computed."""
        if self.by_height:
            parts = cache(lambda: values_by_component(equation, fields, self.name))
            named = components_by_height(equation, self.name)
            lost = {"dissipation": lambda: derived_quantities(equation)["dissipation"].make(fields)}
            return {**lost, **{part: lambda part=part: parts()[part] for part in named}}  # type: ignore[misc]
        made: dict[str, Callable[[], Array]] = {}
        vectors = cache(lambda: equation.report.vectors(fields))
        for name, field in equation.fields.items():
            if field.rank == "scalar":
                made[name] = lambda name=name: equation.space(name).inverse(fields[name])  # type: ignore[misc]
        for name, prefix in vector_prefixes(equation, self.name, needed=False).items():
            own = self._of_vector(equation, prefix, vectors()[name])
            made |= {name_apart(equation, quantity, name): make for quantity, make in own.items()}
        if has_density(equation):
            made[density_name(equation)] = lambda: density_of(equation, fields)[None]
        return made

    def _of_vector(self, equation: AnyEquation, prefix: str, u_hat: Array) -> dict[str, Callable]:
        transform = equation.transform
        u = cache(lambda: transform.inverse(u_hat))
        tensor = cache(lambda: diagnostics.gradient_tensor(u_hat, transform))
        made: dict[str, Callable] = {
            prefix[:-1] or "velocity": u,
            f"{prefix}longitudinal_gradient": lambda: diagnostics.longitudinal(tensor()),
            f"{prefix}transverse_gradient": lambda: diagnostics.transverse(tensor()),
            f"{prefix}vorticity": lambda: diagnostics.vorticity(tensor()),
        }
        if not prefix and dissipates(equation):
            made["dissipation"] = lambda: dissipation(equation, u_hat, tensor())[None]
        for n in self._separations(equation):
            made[f"{prefix}increment_r{n}"] = lambda n=n: diagnostics.longitudinal_increments(u_hat, u(), n, transform)
        return made


def _axis(quantity: str, equation: AnyEquation) -> str:
    """Its axis; a field may have any sign, whatever its name."""
    first = next(iter(vector_prefixes(equation, PDFs.name, needed=False)), "")
    positive = name_apart(equation, "dissipation", first), density_name(equation)
    return "log10_of_mean" if quantity in positive and quantity not in equation.fields else "deviation"
