"""Report of an equation of a text: each energy that it declares is a column of the series, has a budget, a
shell spectrum, and a transfer between scales, all by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics.mode_sums import ModeSum, plus
from solver.dynamics.acting_bodies import at_motion
from solver.dynamics.at_points import AtPoints
from solver.dynamics.budget import Budget, Changes, rates_of_sums
from solver.dynamics.evaluation import Evaluation, without_missing
from solver.dynamics.fields_report import Squares, report_of_fields, units_of_invariants, vector_fields
from solver.dynamics.in_modes import Rows
from solver.dynamics.on_bodies import forces, units, velocity_and_change, warnings
from solver.dynamics.pressure import pressure_of
from solver.dynamics.quadratic import by_shell, caused, conjugate, holds, power, value_of
from solver.dynamics.report import BodiesReport, Mask, Report
from solver.dynamics.subgrid import acts_on_modes, units_of_closure
from solver.dynamics.text_dynamics import damping_of_text
from solver.operators import Fields
from solver.written.columns import Column, Part, Values, values_of
from solver.written.derivation import derived_units, in_dimensions
from solver.written.energies import scalar_of, vector_of
from solver.written.parse import read_expression
from solver.written.plan import Plan
from solver.written.tree import Node, Slot

EXTREME: dict[str, Callable[[Array], Array]] = {"max": jnp.max, "min": jnp.min}


def report_of_text(equation: Any, made: type[TextReport], *, has_own_n: bool = False) -> Report:
    """Report of the quantities that the text declares; where it declares nothing, the report of its fields.

    Args:
        equation: equation of a text.
        made: report of its energies and columns.
        has_own_n: True if its class has an N of its own, from which no pressure follows.
    """
    fields, text = report_of_fields(equation, has_budget=True), made(equation)
    derived = text.derived
    if not derived.spectra or text.on_grid.text.energies is None:
        spectra_of_fields: Mapping[str, str] = Squares(equation).fields
    else:
        spectra_of_fields = {}
    return replace(
        fields,
        columns=text.columns,
        units=text.units,
        spectra=text.spectra if derived.spectra else fields.spectra,
        spectra_of_fields=spectra_of_fields,
        energies=text.energies,
        budget=text.budget,
        vectors=text.vectors,
        flows=text.flows,
        invariants=text.invariants if derived.invariants else fields.invariants,
        invariant_units=lambda: {**units_of_invariants(equation), **text.units_of_invariants()},
        conserved=text.conserved,
        conserved_scales=text.conserved_scales,
        damping=lambda: damping_of_text(equation),
        velocity_pressure=lambda: None if has_own_n else pressure_of(equation),
        bodies=report_of_bodies(equation),
        at_points=text.of_closure,
    )


class TextReport:
    """The functions of the report of a text.

    Args:
        equation: equation of a text.
    """

    def __init__(self, equation: Any) -> None:
        self.equation, self.on_grid = equation, equation.dynamics.on_grid
        self.derived = self.on_grid.derived

    # ---- energies -----------------------------------------------------------------------------------------------

    def energies(self, fields: Fields) -> dict[str, Array]:
        """Energies by column. One all-reduce each."""
        rows = self.on_grid.rows(fields)
        return {name: value_of(self.on_grid, energy.squares, rows) for name, energy in self.derived.energies.items()}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of each energy by the causes that the text names, by the other linear terms, by N and by forcing."""
        on_grid = self.on_grid
        now, zeros = on_grid.rows(fields), {name: jnp.zeros_like(field) for name, field in fields.items()}
        nonlinear, forced = (on_grid.rows({**zeros, **change}) for change in (changes.nonlinear, changes.forcing))
        sums = {
            name: self._causes(energy, now, nonlinear, forced, changes)
            for name, energy in self.derived.energies.items()
        }
        return with_cause_of_bodies(self.equation, rates_of_sums(sums, changes, self.equation.grid.dtype))

    def _causes(self, energy: Any, now: Rows, nonlinear: Rows, forced: Rows, changes: Changes) -> dict[str, ModeSum]:
        """Changes of one energy, by cause, as sums over modes."""
        on_grid, squares = self.on_grid, energy.squares
        by_cause = lambda of: {label: caused(on_grid, squares, cause, now) for label, cause in of.items()}  # noqa: E731
        inside, outside = by_cause(energy.causes), by_cause(energy.outside)
        causes = {label: plus(inside.get(label, {}), outside.get(label, {})) for label in {**inside, **outside}}
        if energy.linear is not None:
            causes["linear"] = caused(on_grid, squares, energy.linear, now)
        if energy.nonlinear or acts_on_modes(self.equation):
            causes["nonlinear"] = power(on_grid, squares, now, nonlinear)
            for other in outside.values():
                causes["nonlinear"] = plus(causes["nonlinear"], other, -1)
        if any(holds(square, changes.forcing) for square in squares):
            causes["forcing"] = power(on_grid, squares, now, forced)
        return causes

    # ---- series -------------------------------------------------------------------------------------------------

    def columns(self, fields: Fields) -> dict[str, Array]:
        """The energies, and the further columns of the text."""
        columns = self.energies(fields)
        for name, column in self.derived.columns.items():
            columns[name] = self._column(column, fields, columns)
        return columns

    def _column(self, column: Column, fields: Fields, others: Mapping[str, Array]) -> Array:
        """A column from its parts and from the columns before it."""
        on_grid = self.on_grid
        parts: dict[Node, Array] = {Slot("part", i): self._part(part, fields) for i, part in enumerate(column.parts)}
        made = AtPoints.of_text(on_grid.text, [column.node])
        numbers = {**others, **on_grid.numbers(on_grid.modes(0.0), made)}
        return jnp.asarray(made.made(parts, numbers, None, ())[0], self.equation.grid.dtype)

    def _part(self, part: Part, fields: Fields) -> Array:
        """A mean or an extreme over the box."""
        rows = self.on_grid.rows(fields)
        if isinstance(part.of, Values):
            values, space = self._values(part.of, rows), self.equation.space(self.equation.first_field)
            return space.mean(values) if part.by == "mean" else EXTREME[part.by](values)
        if isinstance(part.of, tuple):
            return value_of(self.on_grid, part.of, rows)
        made, _ = self.on_grid.carried_out(part.of, fields, 0.0)
        return made.mean(part.of.rows[""])

    def _values(self, values: Values, rows: Rows) -> Array:
        """A function of the fields at all points. One inverse transform for each of its inner fields."""
        on_grid, numbers = self.on_grid, tuple(range(len(values.inner)))
        function = AtPoints.of_text(on_grid.text, [values.node], numbers, is_one_number=True)
        at_points = on_grid.at_points(numbers, Plan(values.inner, (values.node,), {}), rows)
        known = on_grid.numbers(on_grid.modes(0.0), function, rows=rows)
        return function.made(at_points, known, on_grid.places(function), self.equation.grid.physical_shape)[0]

    @property
    def of_closure(self) -> dict[str, tuple[Callable[[Fields], Array], str]]:
        """Eddy viscosity, and the energy that a closure takes, at the points, with their units."""
        texts = dict(self.on_grid.text.series)
        names = [name for name in units_of_closure(self.equation) if not acts_on_modes(self.equation)]
        made = lambda name: lambda fields: self._values(self._read(texts[name]), self.on_grid.rows(fields))  # noqa: E731
        return {name: (made(name), units_of_closure(self.equation)[name]) for name in names}

    def _read(self, text: str) -> Values:
        reduced = self.derived.reduced
        return values_of(scalar_of(text, reduced), reduced, read_expression(text, reduced.system.functions).place)

    def units(self) -> dict[str, str]:
        """Units of the columns; units that do not follow from the fields are in the class's `units`, or are 1."""
        own = self.equation.units
        known = {**Squares(self.equation).units, **self._derived_units(), **own}
        rate = () if self.equation.why_no_rate else ("cfl",)
        return {name: known.get(name, "1") for name in (*self.derived.energies, *self.derived.columns, *own, *rate)}

    def units_of_invariants(self) -> dict[str, str]:
        """Units of the invariants, as far as they follow from the units of the fields."""
        return {name: unit for name, unit in self._derived_units().items() if name in self.derived.invariants}

    def _derived_units(self) -> dict[str, str]:
        equation = self.equation
        declared = {name: field.units for name, field in equation.fields.items()}
        units: dict[str, str] = derived_units(self.on_grid.text, declared)
        if equation.scalars:  # whose sources say nothing of the units of other columns
            own = without_missing(equation, equation.text.plain)
            units |= derived_units(own, {name: declared[name] for name in own.system.fields})
        return units

    def conserved(self, fields: Fields) -> dict[str, Array]:
        """Quantities that the text declares to be conserved."""
        columns = self.columns(fields) if self.on_grid.text.conserved else {}
        return {name: self._column(column, fields, columns) for name, column in self.derived.conserved.items()}

    def conserved_scales(self, fields: Fields) -> dict[str, Array]:
        """Sizes of the conserved quantities that may cancel to zero, by name (`Report.conserved_scales`)."""
        size = lambda parts: sum(jnp.abs(self._part(part, fields)) for part in parts)  # noqa: E731
        return {name: size(parts) for name, parts in self.derived.sizes.items()}

    def vectors(self, fields: Fields) -> Fields:
        """The vectors that the text declares, and its fields that are vectors."""
        rows, declared = self.on_grid.rows(fields), self.derived.vectors
        named = {name: jnp.stack([rows.on_all_modes(part) for part in parts]) for name, parts in declared.items()}
        return {**named, **vector_fields(self.equation, fields)}

    def flows(self, fields: Fields) -> Fields:
        """The vectors that have a uniform part in addition to the fields, with this part, by name.

        Raises:
            WrittenError: a vector of this name has a part that depends on the place or is a product of fields.
        """
        rows, reduced = self.on_grid.rows(fields), self.derived.reduced
        vectors = {*self.derived.vectors, *vector_fields(self.equation, fields)}
        flows = {name: vector_of(flow, reduced) for name, flow in self.on_grid.text.flows if name in vectors}
        return {name: jnp.stack([rows.on_all_modes(part) for part in parts]) for name, parts in flows.items()}

    # ---- by scale -----------------------------------------------------------------------------------------------

    def spectra(self, fields: Fields) -> dict[str, Array]:
        """Shell spectra of energies and invariants: the sum over all shells is the mean over the box."""
        rows = self.on_grid.rows(fields)
        return {name: by_shell(squares, rows) for name, squares in self.derived.spectra.items()}

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """The g of each quantity that the text declares to move between scales (`Report.invariants`)."""
        rows = self.on_grid.rows(fields)
        return {name: conjugate(self.on_grid, squares, rows) for name, squares in self.derived.invariants.items()}


# ---- bodies ---------------------------------------------------------------------------------------------------------


def report_of_bodies(equation: Any) -> BodiesReport | None:
    """Report of the bodies and sponges of an equation; None if it has neither."""
    obstacles = equation.obstacles
    if obstacles is None:
        return None
    return BodiesReport(
        forces=lambda fields, t: _forces(equation, fields, t),
        units=lambda: units(obstacles, equation.grid.dimensions) if equation.whole_text.penalised else {},
        warnings=lambda row, t: warnings(obstacles, row, t),
        mask=lambda fields: _mask(equation, fields),
    )


def _forces(equation: Any, fields: Fields, t: ArrayLike) -> dict[str, Array]:
    """Forces and torques on the bodies by column of the series; costs an evaluation of N."""
    placed, name = at_motion(equation, fields, t), equation.whole_text.penalised
    obstacles = placed.obstacles
    if not obstacles.bodies or not name:
        return {}
    if name in equation.fields:
        linear = equation.linear().apply(equation.fields_alone(fields))
        u, change = velocity_and_change(placed, fields, linear, equation.nonlinear(fields, t))
    else:
        on_grid = Evaluation(equation)
        hats = jnp.stack([on_grid.rows(fields).on_all_modes(part) for part in vector_of(name, on_grid.derived.reduced)])
        u = equation.transform.inverse(hats)
        change = jnp.zeros_like(u)
    return forces(obstacles, equation.grid, u, change, t)


def _mask(equation: Any, fields: Fields) -> Mask | None:
    obstacles = at_motion(equation, fields).obstacles
    return obstacles.mask if obstacles.bodies else None


def with_cause_of_bodies(equation: Any, budget: Budget) -> Budget:
    """A budget in which `body` holds the work of bodies, where nothing else in N changes an energy."""
    if equation.obstacles is None or equation.closure is not None:  # whose work is not told apart from theirs
        return budget
    bare = in_dimensions(equation.whole_text, equation.grid.dimensions).energies
    of_bodies = lambda name: name in bare and not bare[name].nonlinear  # noqa: E731
    word = lambda name, cause: "body" if cause == "nonlinear" and of_bodies(name) else cause  # noqa: E731
    return {name: {word(name, cause): rate for cause, rate in rates.items()} for name, rates in budget.items()}
