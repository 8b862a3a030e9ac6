"""Report of any equation, made from the declarations of its fields."""

from __future__ import annotations

import jax
from jaxtyping import Array

from solver.diagnostics import shell_spectrum
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import Budget, Changes, rates_of_sums
from solver.dynamics.report import Report
from solver.operators import Fields
from solver.written.energies import names_of_squares


def report_of_fields(equation: AnyEquation, *, has_budget: bool) -> Report:
    """½⟨|u|²⟩, its spectrum and its budget for each field; every field at the points."""
    squares = Squares(equation)
    return Report(
        columns=squares.means,
        units=squares.units_of_series,
        spectra=squares.spectra,
        spectra_of_fields=squares.fields,
        snapshot=lambda fields: fields_at_points(equation, fields),
        snapshot_units=lambda: units_at_points(equation),
        energies=squares.kept,
        budget=squares.budget if has_budget else None,
        vectors=lambda fields: vector_fields(equation, fields),
        invariants=squares.invariants,
        invariant_units=lambda: units_of_invariants(equation),
    )


class Squares:
    """½⟨|u|²⟩ of each field of an equation.

    Args:
        equation: equation of the fields.
    """

    def __init__(self, equation: AnyEquation) -> None:
        self.equation = equation
        self.fields = dict(zip(names_of_squares(equation.fields), equation.fields, strict=True))  # by column

    @property
    def units(self) -> dict[str, str]:
        """Units of each, by column."""
        return {column: f"({self.equation.fields[name].units})^2" for column, name in self.fields.items()}

    def units_of_series(self) -> dict[str, str]:
        """Units of the columns of series.csv, in their order: the units of the class, where it names any."""
        equation = self.equation
        if equation.units:
            return dict(equation.units)
        return {**self.units, **({} if equation.why_no_rate else {"cfl": "1"})}

    def means(self, fields: Fields) -> dict[str, Array]:
        """½⟨|u|²⟩ of each field, by column. One all-reduce each."""
        return self._means(self.equation.coefficients(fields))

    def kept(self, fields: Fields) -> dict[str, Array]:
        """Energies whose budget is kept; empty if the equation has a series of its own."""
        return {} if self.equation.units else self._means(fields)

    def _means(self, hats: Fields) -> dict[str, Array]:
        spaces = self.equation.spaces
        return {c: 0.5 * spaces[n].whole_square(spaces[n].counted(hats[n], 0.5)) for c, n in self.fields.items()}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """⟨u · change⟩ for the linear part, the rest, and the forcing."""
        causes = {"linear": changes.linear, "nonlinear": changes.nonlinear, "forcing": changes.forcing}
        spaces, kept = self.equation.spaces, {} if self.equation.units else self.fields
        power = lambda name, change: spaces[name].product(spaces[name].counted(fields[name]), change[name])  # noqa: E731
        budget = {
            column: {cause: power(name, change) for cause, change in causes.items() if name in change}
            for column, name in kept.items()
        }
        return rates_of_sums(budget, changes, self.equation.grid.dtype)

    def spectra(self, fields: Fields) -> dict[str, Array]:
        """½|û|² of each field in each shell."""
        hats, spaces = self.equation.coefficients(fields), self.equation.spaces
        return {c: shell_spectrum(spaces[n].counted(hats[n], 0.5), spaces[n].fourier) for c, n in self.fields.items()}

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """The g of each."""
        return {c: {n: self.equation.space(n).counted(fields[n])} for c, n in self.fields.items()}


def fields_at_points(equation: AnyEquation, fields: Fields) -> dict[str, Array]:
    """Every field at the points; of a wavefunction its real and imaginary part."""
    snapshot: dict[str, Array] = {}
    for name, u in equation.to_physical(fields).items():
        values = u[0] if len(u) == 1 else u
        if equation.fields[name].real:
            snapshot[name] = values
        else:
            snapshot |= {f"{name}_real": values.real, f"{name}_imag": values.imag}
    return snapshot


def units_at_points(equation: AnyEquation) -> dict[str, str]:
    """Units of each of them."""
    parts = {True: ("",), False: ("_real", "_imag")}
    return {f"{name}{part}": field.units for name, field in equation.fields.items() for part in parts[field.real]}


def vector_fields(equation: AnyEquation, fields: Fields) -> Fields:
    """Coefficients of an equation's fields of rank `vector`."""
    hats = equation.coefficients(fields)
    return {name: hats[name] for name, field in equation.fields.items() if field.rank == "vector"}


def units_of_invariants(equation: AnyEquation) -> dict[str, str]:
    """Units of the quantities that move between scales; empty where they are not known. Traces the fields."""
    report = equation.report
    names = jax.eval_shape(report.invariants, equation.field_shapes())
    known = {**Squares(equation).units, **report.units()}
    return {name: known.get(name, "") for name in names}
