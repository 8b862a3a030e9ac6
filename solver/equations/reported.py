"""What an equation of a text reports: its energies and their budget, series, spectra, invariants, conserved columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import co_spectrum
from solver.diagnostics.mode_sums import ModeSum, plus, summed
from solver.equations.at_points import AtPoints
from solver.equations.base import Equation
from solver.equations.budget import Budget, rates_of_sums
from solver.equations.changes import Changes
from solver.equations.in_modes import GridModes, Rows
from solver.equations.reporting import squares_of_fields, vector_fields
from solver.operators import Fields
from solver.written.columns import Column, Part, Values
from solver.written.elimination import named
from solver.written.energies import Square
from solver.written.linear import coefficient
from solver.written.matrices import Linear
from solver.written.plan import Plan
from solver.written.tree import Entry, Name, Node, Slot
from solver.written.worked import Worked

REDUCED: dict[str, Callable[[Array], Array]] = {"mean": jnp.mean, "max": jnp.max, "min": jnp.min}


class Reported(Equation):
    """What is reported about an equation of a text; `Written` says how it is stepped.

    Each energy that the text declares is a column of the series, has a budget, a shell spectrum, and a transfer between
    scales, all by its name.
    """

    text: ClassVar[Any]

    @property
    @abstractmethod
    def own_text(self) -> Any:
        """The text, without the terms of parameters that are None."""

    @property
    @abstractmethod
    def worked(self) -> Worked:
        """What is derived from the text for this grid's number of dimensions."""

    @abstractmethod
    def _rows(self, fields: Fields, t: ArrayLike = 0.0) -> Rows: ...

    @abstractmethod
    def _modes(self, t: ArrayLike) -> GridModes: ...

    @abstractmethod
    def _scalars(self, name: str) -> tuple[Node, ...]: ...

    @abstractmethod
    def _applied(self, linear: Linear, fields: Fields) -> Rows: ...

    @abstractmethod
    def _carried_out(
        self, plan: Plan[Any], fields: Fields, t: ArrayLike, largest: AtPoints | None = None
    ) -> tuple[Rows, Any]: ...

    @abstractmethod
    def _at_points(self, inner: Sequence[int], plan: Plan[Any], rows: Rows) -> dict[Node, Array]: ...

    @abstractmethod
    def _numbers(self, modes: GridModes, *functions: AtPoints) -> dict[str, Any]: ...

    @abstractmethod
    def _places(self, *functions: AtPoints) -> dict[str, Any] | None: ...

    # ---- energies -----------------------------------------------------------------------------------------------

    def energies(self, fields: Fields) -> dict[str, Array]:
        rows = self._rows(fields)
        return {name: self._form(energy.squares, rows, rows) for name, energy in self.worked.energies.items()}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of each energy by the causes that the text names, by the other linear terms, by N and by forcing."""
        now, zeros = self._rows(fields), {name: jnp.zeros_like(field) for name, field in fields.items()}
        nonlinear, forced = (self._rows({**zeros, **change}) for change in (changes.nonlinear, changes.forcing))
        budget: dict[str, dict[str, ModeSum]] = {}
        for name, energy in self.worked.energies.items():
            power = lambda rows: self._power(energy.squares, now, rows)  # noqa: B023, E731
            by_cause = lambda of: {label: self._caused(energy.squares, cause, now) for label, cause in of.items()}  # noqa: B023, E731
            inside, outside = by_cause(energy.causes), by_cause(energy.outside)
            causes = {**inside, **outside}
            budget[name] = {label: plus(inside.get(label, {}), outside.get(label, {})) for label in causes}
            if energy.linear is not None:
                budget[name]["linear"] = self._caused(energy.squares, energy.linear, now)
            if energy.nonlinear:
                budget[name]["nonlinear"] = power(nonlinear)
                for other in outside.values():
                    budget[name]["nonlinear"] = plus(budget[name]["nonlinear"], other, -1)
            if any(self._holds(square, changes.forcing) for square in energy.squares):
                budget[name]["forcing"] = power(forced)
        return rates_of_sums(budget, changes, self.grid.dtype)

    @staticmethod
    def _holds(square: Square, names: Mapping[str, Any]) -> bool:
        """Whether a term of a quadratic form holds any of these fields."""
        parts = [part for side in (square.left, square.right) for part in side.walk()]
        return any(isinstance(part, Name | Entry) and part.name in names for part in parts)

    def _caused(self, squares: Sequence[Square], cause: Linear, fields: Rows) -> ModeSum:
        """What a linear cause C adds to a quadratic form n⟨(l u)* (r u)⟩ per time.

        That is Σ Re(û_c* K_cb û_b) over pairs of scalars, K made of n, l, r and C. Components of a field whose weights
        are equal share theirs.
        """
        scalars = self.worked.less.scalars
        alone: dict[tuple[Any, ...], list[Node]] = {}
        total: ModeSum = {}
        for (c, b), factors in _weights(squares, cause, scalars).items():
            if c == b:
                alone.setdefault((named(c), *factors), []).append(c)
                continue
            rows = fields.of(c)
            weight = sum(_product(rows.modes, factor, is_turned) for factor, is_turned in factors)
            total = plus(total, rows.modes.space.product(rows.coefficients[c], weight * rows.coefficients[b]))
        for (name, *factors), held in alone.items():
            rows = fields.of(held[0])
            weight = jnp.real(sum(_product(rows.modes, factor, is_turned) for factor, is_turned in factors))
            is_whole = tuple(held) == self._scalars(name)
            hats = self._field(name, fields) if is_whole else jnp.stack([rows.coefficients[scalar] for scalar in held])
            total = plus(total, rows.modes.space.product(hats, hats, weight))
        return total

    def _power(self, squares: Sequence[Square], fields: Rows, change: Rows) -> ModeSum:
        """What a change of the fields adds to a quadratic form per time."""
        twice = [square for square in squares if square.left == square.right]
        others = [square for square in squares if square.left != square.right]
        crossed = plus(self._products(others, fields, change), self._products(others, change, fields))
        return plus(crossed, self._products(twice, fields, change), 2)

    def _form(self, squares: Sequence[Square], left: Rows, right: Rows) -> Array:
        """A quadratic form, its two factors from two sets of fields. One all-reduce."""
        return summed([self._products(squares, left, right)], self.grid.dtype)[0]

    def _products(self, squares: Sequence[Square], left: Rows, right: Rows) -> ModeSum:
        """A quadratic form as a sum over modes."""
        total: ModeSum = {}
        others = list(squares)
        space_of = lambda node: left.of(node).modes.space  # noqa: E731
        number = lambda square: jnp.real(whole(left.modes.value(square.number)))  # noqa: E731
        for name in self.fields:
            scalars = self._scalars(name)
            own = [square for square in others if square.left == square.right and square.left in scalars]
            if len(own) == len(scalars) and len({square.number for square in own}) == 1:
                both = self.space(name).product(self._field(name, left), self._field(name, right))
                total = plus(total, both, number(own[0]))
                others = [square for square in others if square not in own]
        for square in others:
            sides = left.of(square.left).whole(square.left), right.of(square.right).whole(square.right)
            total = plus(total, space_of(square.left).product(*sides), number(square))
        return total

    def _field(self, name: str, rows: Rows) -> Array:
        """All components of a field."""
        if rows.fields is not None:
            return rows.fields[name]
        return jnp.stack([rows.of(scalar).whole(scalar) for scalar in self._scalars(name)])

    # ---- series -------------------------------------------------------------------------------------------------

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        columns = self.columns(fields)
        if self.has_rate:
            columns["cfl"] = dt * self.rate(fields)
        return {name: columns[name] for name in self.series_units()}

    def columns(self, fields: Fields) -> dict[str, Array]:
        """The energies, and the further columns of the text."""
        columns = self.energies(fields)
        for name, column in self.worked.columns.items():
            columns[name] = self._column(column, fields, columns)
        return columns

    def _column(self, column: Column, fields: Fields, others: Mapping[str, Array]) -> Array:
        """A column from its parts and from those before it."""
        parts: dict[Node, Array] = {Slot("part", i): self._part(part, fields) for i, part in enumerate(column.parts)}
        made = AtPoints((column.node,), (), self.own_text.functions)
        numbers = {**others, **self._numbers(self._modes(0.0), made)}
        return jnp.asarray(made.made(parts, numbers, None, ())[0], self.grid.dtype)

    def _part(self, part: Part, fields: Fields) -> Array:
        """A mean or an extreme over the box."""
        rows = self._rows(fields)
        if isinstance(part.of, Values):
            return REDUCED[part.by](self._values(part.of, rows))
        if isinstance(part.of, tuple):
            return self._form(part.of, rows, rows)
        made, _ = self._carried_out(part.of, fields, 0.0)
        return made.mean(part.of.rows[""])

    def _values(self, values: Values, rows: Rows) -> Array:
        """A function of the fields at all points. One inverse transform for each of its inner fields."""
        numbers = tuple(range(len(values.inner)))
        function = AtPoints((values.node,), numbers, self.own_text.functions, is_one_number=True)
        at_points = self._at_points(numbers, Plan(values.inner, (values.node,), {}), rows)
        known = self._numbers(self._modes(0.0), function)
        return function.made(at_points, known, self._places(function), self.grid.physical_shape)[0]

    def series_units(self) -> dict[str, str]:
        """Units of the columns; those that the fields' units do not tell stand in the class's `units`, or are 1."""
        known = {**self.units_of_squares(), **self._derived_units, **self.units}
        names = [*self.worked.energies, *self.worked.columns, *self.units, *(["cfl"] if self.has_rate else [])]
        return {name: known.get(name, "1") for name in names}

    @property
    def units_of_invariants(self) -> dict[str, str]:
        """Units of the invariants, as far as those of the fields tell them."""
        return {name: unit for name, unit in self._derived_units.items() if name in self.worked.invariants}

    @property
    def _derived_units(self) -> dict[str, str]:
        units: dict[str, str] = self.own_text.derived_units({name: field.units for name, field in self.fields.items()})
        return units

    def conserved(self, fields: Fields) -> dict[str, Array]:
        columns = self.columns(fields) if self.own_text.conserved else {}
        return {name: self._column(column, fields, columns) for name, column in self.worked.conserved.items()}

    def conserved_scales(self, fields: Fields) -> dict[str, Array]:
        size = lambda parts: sum(jnp.abs(self._part(part, fields)) for part in parts)  # noqa: E731
        return {name: size(parts) for name, parts in self.worked.sizes.items()}

    def vectors(self, fields: Fields) -> Fields:
        rows = self._rows(fields)
        named = {name: jnp.stack([rows.whole(part) for part in parts]) for name, parts in self.worked.vectors.items()}
        return {**named, **vector_fields(self, fields)}

    # ---- by scale -----------------------------------------------------------------------------------------------

    def spectra(self, fields: Fields) -> dict[str, Array]:
        """Shell spectra of energies and invariants: the sum over all shells is the mean over the box."""
        if not self.worked.spectra:
            return super().spectra(fields)
        rows = self._rows(fields)
        return {name: self._by_shell(squares, rows) for name, squares in self.worked.spectra.items()}

    def spectra_of_fields(self) -> dict[str, str]:
        default = self.own_text.energies is None or not self.worked.spectra
        return dict(zip(self.energy_names(), self.fields, strict=True)) if default else {}

    def _by_shell(self, squares: Sequence[Square], rows: Rows) -> Array:
        """A quadratic form, shell by shell."""
        parts = []
        for square in squares:
            own = rows.of(square.left)
            number = jnp.real(whole(own.modes.value(square.number)))
            pair = own.whole(square.left), rows.of(square.right).whole(square.right)
            parts.append(number * co_spectrum(*pair, own.modes.space.fourier))
        return jnp.asarray(sum(parts))

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """What the text declares to move between scales; ⟨(l a)* (r b)⟩ has g = l* r b of a, and r* l a of b."""
        if not self.worked.invariants:
            return squares_of_fields(self, fields)
        rows = self._rows(fields)
        return {name: self._conjugate(squares, rows) for name, squares in self.worked.invariants.items()}

    def _conjugate(self, squares: Sequence[Square], rows: Rows) -> Fields:
        """The g of a quadratic form, of the fields that it holds."""
        made: dict[Node, Array] = {}
        for square in squares:
            for own, other in ((square.left, square.right), (square.right, square.left)):
                for scalar in self._held(own):
                    modes = rows.of(scalar).modes
                    weight = jnp.conj(whole(modes.value(coefficient(own, scalar)))) * whole(modes.value(square.number))
                    made[scalar] = made.get(scalar, 0) + weight * rows.of(other).whole(other)
        names = [name for name in self.fields if any(named(scalar) == name for scalar in made)]
        zero = lambda name: jnp.zeros(self.space(name).modes.spectral_shape, self.grid.complex_dtype)  # noqa: E731
        return {name: jnp.stack([made.get(s, zero(name)) for s in self._scalars(name)]) for name in names}

    def _held(self, node: Node) -> list[Node]:
        """The scalars of the fields that an expression holds."""
        parts = set(node.walk())
        return [scalar for scalar in self.worked.less.scalars if scalar in parts]


def whole(value: Any) -> Any:
    """A symbol's values, from what holds them apart from factors."""
    return value.whole if hasattr(value, "whole") else value


Factor: TypeAlias = tuple[Node, Node, Node, Node]  # n, of l or r at the changed scalar, of C, of the other one


def _weights(
    squares: Sequence[Square], cause: Linear, scalars: Sequence[Node]
) -> dict[tuple[Node, Node], list[tuple[Factor, bool]]]:
    """The terms of each K_cb: n x_a* C_ac* y_b, with l and r as x and y and the other way round.

    Pairs are in the order of the scalars; a term that belongs to the pair in the other order is turned: its conjugate
    counts.
    """
    weights: dict[tuple[Node, Node], list[tuple[Factor, bool]]] = {}
    symbols = cause.between(scalars)
    for square in squares:
        sides = [{s: coefficient(side, s) for s in scalars if s in side.walk()} for side in (square.left, square.right)]
        for (a, c), rate in symbols.items():
            for x, y in (sides, sides[::-1]):
                for b, other in y.items() if a in x else ():
                    is_turned = scalars.index(c) > scalars.index(b)
                    pair = (b, c) if is_turned else (c, b)
                    weights.setdefault(pair, []).append(((square.number, x[a], rate, other), is_turned))
    return weights


def _product(modes: GridModes, factor: Factor, is_turned: bool) -> Any:
    """One term of a weight, at each mode."""
    number, left, rate, right = (whole(modes.value(symbol)) for symbol in factor)
    product = jnp.real(number) * jnp.conj(left * rate) * right
    return jnp.conj(product) if is_turned else product
