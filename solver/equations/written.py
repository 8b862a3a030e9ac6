"""Equations that are written as text: everything that steppers ask for is derived from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_product
from solver.equations.base import Equation
from solver.equations.budget import Budget, Changes
from solver.equations.evaluated import SPACING, AtPoints, GridModes, LargeMode, Rows
from solver.equations.field import Field
from solver.equations.manifold import without_mean
from solver.equations.turned import Turned
from solver.fft import max_over_points
from solver.operators import Diagonal, Fields, LinearOperator, Matrix, components
from solver.written.components import ZERO, plus
from solver.written.elimination import named
from solver.written.energies import Square
from solver.written.matrices import Linear, without_divergence
from solver.written.plan import Plan
from solver.written.rates import Rate
from solver.written.report import report
from solver.written.text import Column, Text, Worked, keep_plan, without_unknowns
from solver.written.tree import Entry, Name, Node, Quotient, Slot, WrittenError

FREE_OF_ALIASES = ("two-thirds", "three-halves", "one-half")  # rules that keep products of two so


class Written(Equation):
    """An equation whose class has a `text`; linear part, transforms and right-hand side are derived from it.

    Every parameter that stands in the text is an attribute, as in other equations; see `numbers`. A text that depends
    on the equation is a property, and the class has its `fields` and `dimensions` beside it.

    Class attributes:
        text: the equations, as `solver.written.text.Text`.
    """

    text: ClassVar[Any]
    keeps_constraints: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(vars(cls).get("text"), Text):
            cls.dimensions = cls.text.system.dimensions
            if not getattr(cls, "fields", None):
                cls.fields = declared_fields(cls.text)

    @property
    def worked(self) -> Worked:
        """What is derived from the text for this grid's number of dimensions."""
        return self.text.in_dimensions(self.grid.dimensions, aliases=self.grid.dealias not in FREE_OF_ALIASES)

    def linear(self) -> LinearOperator:
        return self._operator(self.worked.linear)

    def _operator(self, linear: Linear) -> LinearOperator:
        """A linear operator on this grid."""
        modes = self._modes(0.0)
        if linear.couples == "nothing":
            return Diagonal({name: self._diagonal(name, linear, modes) for name in self.fields})
        names, shape = tuple(self.fields), self.grid.spectral_shape
        keys: Sequence[Any] = names if linear.couples == "fields" else self.worked.less.scalars
        entry = lambda pair: jnp.asarray(_whole(modes.value(linear.symbols.get(pair, ZERO))))  # noqa: E731
        rows = [jnp.stack([jnp.broadcast_to(entry((row, column)), shape) for column in keys]) for row in keys]
        return Matrix(jnp.stack(rows), names, "fields" if linear.couples == "fields" else "components")

    def _diagonal(self, name: str, linear: Linear, modes: GridModes) -> Array:
        """The entries of a field, one for all components where they are the same."""
        symbols = [linear.symbols.get((scalar, scalar), ZERO) for scalar in self._scalars(name)]
        values = {symbol: _whole(modes.value(symbol)) for symbol in symbols}
        entries = [jnp.asarray(v, None if jnp.iscomplexobj(v) else self.grid.dtype) for v in map(values.get, symbols)]
        if len(values) == 1:
            return entries[0]
        return jnp.stack([jnp.broadcast_to(entry, self.grid.spectral_shape) for entry in entries])

    def _applied(self, linear: Linear, fields: Fields) -> Rows:
        """What a linear operator makes of fields; entries that are zero cost nothing."""
        if linear.couples == "nothing":
            return self._rows(self._operator(linear).apply(fields))
        now, zeros = self._rows(fields), jnp.zeros(self.grid.spectral_shape, self.grid.complex_dtype)
        scalars = self.worked.less.scalars
        change = dict.fromkeys(scalars, zeros)
        for (row, column), symbol in linear.between(scalars).items():
            change[row] = change[row] + _whole(now.modes.value(symbol) * Turned(now.coefficients[column]))
        return Rows(now.modes, change)

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        return self._evaluated(fields, t, None)[0]

    def nonlinear_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        largest = self._largest
        if largest is None:
            return self._evaluated(fields, t, None)[0], jnp.zeros((), self.grid.dtype)
        changes, found = self._evaluated(fields, t, largest)
        return changes, found + self.rate_of_linear()

    def rate(self, fields: Fields) -> Array:
        """Read off the text: the largest speed across a grid cell, or the largest rate of reaction.

        It is 0 where the text does not tell it; `why_no_rate` then says why.
        """
        function = self._largest
        if function is None:
            return jnp.zeros((), self.grid.dtype)
        modes = self._modes(0.0)
        values = self.transform.inverse(self._inner(self.worked.plan.inner, fields, self._rows(fields)))
        largest = max_over_points(function(values, self._numbers(modes, function), self._places(function)))
        return largest + self.rate_of_linear()

    def rate_of_linear(self) -> ArrayLike:
        """What is added to the rate that the text tells, for waves or reactions in L [1/time]: nothing by default.

        L is exact for any step with integrating-factor and exponential steppers; others may need it.
        """
        return 0.0

    @property
    def why_no_rate(self) -> str:
        has_own, found = type(self).rate is not Written.rate, self.worked.rate
        return "" if has_own or isinstance(found, Rate) else f"its text tells no CFL number, since {found.reason}"

    @property
    def _largest(self) -> AtPoints | None:
        """What the rate is the largest of, from the inner fields of the plan; None where there is nothing."""
        found = self.worked.rate
        if not isinstance(found, Rate) or not self.worked.plan.products:
            return None
        across = lambda axis, speed: Quotient(speed, Entry(SPACING, (axis,)))  # noqa: E731
        parts = [found.reaction] if found.speeds is None else [across(*pair) for pair in enumerate(found.speeds)]
        [(inner, _)] = self.worked.plan.levels()
        return AtPoints((plus(part for part in parts if part is not None),), tuple(inner), is_one_number=True)

    def _numbers(self, modes: GridModes, *functions: AtPoints) -> dict[str, Any]:
        """The numbers that functions at the points need, of parameters, time, spacing, and what a rate is made with."""
        known = {**modes.numbers, SPACING: jnp.asarray(self.grid.spacing, self.grid.dtype)}
        needed = {name for function in functions for name in function.names}
        numbers = {name: value for name, value in known.items() if name in needed}
        for name, number in self.worked.rate.coefficients.items() if isinstance(self.worked.rate, Rate) else ():
            if name in needed:
                numbers[name] = LargeMode(number.axis, self.grid.dimensions, modes.numbers).leading(number)
        return numbers

    def _evaluated(self, fields: Fields, t: ArrayLike, largest: AtPoints | None) -> tuple[Fields, Any]:
        """N(u, t), and the largest of a number at the points."""
        rows, found = self._carried_out(self.worked.plan, fields, t, largest)
        changes = self._by_field(rows, self.worked.changes)
        no_mean = {name: without_mean(changes[name], self.grid) for name, f in self.fields.items() if f.zero_mean}
        return {**changes, **no_mean}, found

    def _carried_out(
        self, plan: Plan[Any], fields: Fields, t: ArrayLike, largest: AtPoints | None = None
    ) -> tuple[Rows, Any]:
        """The products of a plan, its levels one after the other; and the largest of a number at the points."""
        modes, found = self._modes(t), None
        coefficients = self._coefficients(fields)
        for inner, products in plan.levels():
            function = AtPoints(tuple(plan.products[i] for i in products), tuple(inner))
            hats = self._inner([plan.inner[i] for i in inner], fields, Rows(modes, coefficients))
            numbers = self._numbers(modes, function, *([] if largest is None else [largest]))
            made = self.transform.pointwise(function, hats, numbers, self._places(function), largest=largest)
            made, found = made if largest is not None else (made, None)
            coefficients |= {Slot("product", i): part for i, part in zip(products, components(made), strict=True)}
        return Rows(modes, coefficients), found

    def text_table(self) -> dict[str, Any]:
        return self.text.table if isinstance(type(self).text, Text) else {}

    def plan_to_keep(self) -> str:
        return self.worked.plan_to_keep if self.text.plan != "as written" else ""

    def keep_plan(self, plan: str) -> None:
        keep_plan(plan)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        """The texts that equations of this class have in so many dimensions, of which the library keeps plans."""
        return [cls.text] if isinstance(cls.text, Text) else []

    @classmethod
    def fullest_text(cls) -> Text | None:
        """The text that stands for the class where its formula is shown: of several, the one with the most terms."""
        texts = cls.texts(max(cls.dimensions))
        return texts[-1] if texts else None

    def derivation(self) -> list[tuple[str, str]]:
        return report(self.text, self.worked, self.grid.dimensions)

    # ---- energies and series ------------------------------------------------------------------------------------

    def energies(self, fields: Fields) -> dict[str, Array]:
        rows = self._rows(fields)
        return {name: self._form(energy.squares, rows, rows) for name, energy in self.worked.energies.items()}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of each energy by the causes that the text names, by the other linear terms, by N and by forcing."""
        now, zeros = self._rows(fields), {name: jnp.zeros_like(field) for name, field in fields.items()}
        linear, nonlinear, forced = (
            self._rows({**zeros, **change}) for change in (changes.linear, changes.nonlinear, changes.forcing)
        )
        budget: dict[str, dict[str, Array]] = {}
        for name, energy in self.worked.energies.items():
            power = lambda rows: self._power(energy.squares, now, rows)  # noqa: B023, E731
            by_cause = lambda of: {label: power(self._applied(cause, fields)) for label, cause in of.items()}  # noqa: B023, E731
            inside, outside = by_cause(energy.causes), by_cause(energy.outside)
            budget[name] = {label: inside.get(label, 0) + outside.get(label, 0) for label in {**inside, **outside}}
            if energy.linear:
                budget[name]["linear"] = power(linear) - sum(inside.values())
            if energy.nonlinear:
                budget[name]["nonlinear"] = power(nonlinear) - sum(outside.values())
            if any(self._holds(square, changes.forcing) for square in energy.squares):
                budget[name]["forcing"] = power(forced)
        return budget

    @staticmethod
    def _holds(square: Square, names: Mapping[str, Any]) -> bool:
        """Whether a term of a quadratic form holds any of these fields."""
        parts = [part for side in (square.left, square.right) for part in side.walk()]
        return any(isinstance(part, Name | Entry) and part.name in names for part in parts)

    def _power(self, squares: Sequence[Square], fields: Rows, change: Rows) -> Array:
        """What a change of the fields adds to a quadratic form per time."""
        twice = [square for square in squares if square.left == square.right]
        others = [square for square in squares if square.left != square.right]
        return (
            2 * self._form(twice, fields, change)
            + self._form(others, fields, change)
            + self._form(others, change, fields)
        )

    def _form(self, squares: Sequence[Square], left: Rows, right: Rows) -> Any:
        """A quadratic form, its two factors from two sets of fields. All-reduces only; one for a whole field."""
        total, others = jnp.zeros((), self.grid.dtype), list(squares)
        number = lambda square: jnp.real(_whole(left.modes.value(square.number)))  # noqa: E731
        for name in self.fields:
            scalars = self._scalars(name)
            own = [square for square in others if square.left == square.right and square.left in scalars]
            if len(own) == len(scalars) and len({square.number for square in own}) == 1:
                product = mean_product(self._field(name, left), self._field(name, right), self.grid)
                total = total + number(own[0]) * product
                others = [square for square in others if square not in own]
        for square in others:
            product = mean_product(left.whole(square.left), right.whole(square.right), self.grid)
            total = total + number(square) * product
        return total

    def _field(self, name: str, rows: Rows) -> Array:
        """All components of a field."""
        if rows.fields is not None:
            return rows.fields[name]
        return jnp.stack([rows.whole(scalar) for scalar in self._scalars(name)])

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        columns = {name: self._column(column, fields) for name, column in self.worked.columns.items()}
        rate = {"cfl": dt * self.rate(fields)} if self.has_rate else {}
        return {**self.energies(fields), **columns, **rate}

    def _column(self, column: Column, fields: Fields) -> Array:
        """The mean of a further column."""
        if isinstance(column, tuple):
            rows = self._rows(fields)
            return self._form(column, rows, rows)
        rows, _ = self._carried_out(column, fields, 0.0)
        return rows.mean(column.rows[""])

    def series_units(self) -> dict[str, str]:
        if self.units:
            return dict(self.units)
        known = super().series_units() if self.text.energies is None else {}
        names = [*self.worked.energies, *self.worked.columns, *(["cfl"] if self.has_rate else [])]
        return {name: known.get(name, "1") for name in names}

    def _rows(self, fields: Fields) -> Rows:
        return Rows(self._modes(0.0), self._coefficients(fields), fields)

    def _by_field(self, rows: Rows, nodes: Mapping[Node, Node]) -> Fields:
        """Fields from an expression for each scalar."""
        return {name: jnp.stack([rows.whole(nodes[s]) for s in self._scalars(name)]) for name in self.fields}

    def _coefficients(self, fields: Fields) -> dict[Node, Array]:
        """Coefficients of each scalar of the fields."""
        each = {name: zip(self._scalars(name), components(fields[name]), strict=True) for name in self.fields}
        return {scalar: part for parts in each.values() for scalar, part in parts}

    def _places(self, function: AtPoints) -> dict[str, Any] | None:
        """The coordinates that a function needs; None if it needs none."""
        places = dict(zip("xyz", self.grid.coordinates(), strict=False))
        return {name: places[name] for name in function.coordinates} or None

    def _inner(self, inner: Sequence[Node], fields: Fields, rows: Rows) -> Array:
        """Coefficients of inner fields, stacked; whole fields are taken as they are."""
        wanted, parts = list(inner), []
        while wanted:
            name = named(wanted[0]) if isinstance(wanted[0], Name | Entry) else ""
            scalars = self._scalars(name) if name in self.fields else ()
            if scalars and tuple(wanted[: len(scalars)]) == scalars:
                parts.append(fields[name])
                wanted = wanted[len(scalars) :]
            else:
                parts.append(rows.whole(wanted.pop(0))[None])
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts)

    def _scalars(self, name: str) -> tuple[Node, ...]:
        return tuple(scalar for scalar in self.worked.less.scalars if named(scalar) == name)

    def _modes(self, t: ArrayLike) -> GridModes:
        return GridModes(self.grid, {**self.numbers(), "t": t})

    def numbers(self) -> dict[str, Any]:
        """The parameters of the text by name: attributes of the equation by default."""
        return {name: getattr(self, name) for name in self.text.system.parameters}


def _whole(value: Any) -> Any:
    return value.whole if hasattr(value, "whole") else value


def write(
    lines: str | Sequence[str],
    fields: Mapping[str, str],
    unknowns: Mapping[str, str] | None = None,
    define: Mapping[str, str] | None = None,
    parameters: Mapping[str, str] | Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    means: Mapping[str, float] | None = None,
    energies: Mapping[str, str] | None = None,
    series: Mapping[str, str] | None = None,
    plan: str = "fewest transforms",
) -> type[Written]:
    """A class of equations from text.

    `write(["dt(u) = -u*dx(u) + nu*lap(u)"], {"u": "scalar"})(grid, nu=0.1)` is an equation as others are; its
    parameters are leaves.

    Args:
        lines: the equations, one `=` in each; see docs/writing.md for the language.
        fields: rank of each field by name: `scalar`, `vector` or `wavefunction`.
        unknowns: the same of what is neither stored nor given a start: pressures, stream functions, potentials.
        define: what further names stand for.
        parameters: their names, or rank by name; by default every name that is nothing else is a number.
        units: of each field, as far as they are known.
        means: of the fields whose mean is 0 and stays so.
        energies: densities that are quadratic in the fields, by the names of their columns, whose budgets are kept.
        series: further columns of the series, by name: what is averaged over the box.
        plan: `fewest transforms`, or `as written` for those that stand in the text.

    Returns:
        A subclass of `Equation`. The same arguments give the same class, so that programs compiled for it are kept.

    Raises:
        WrittenError: a ValueError: the first thing that is wrong, with its place in the text.
    """
    if parameters is not None and not isinstance(parameters, Mapping):
        parameters = dict.fromkeys(parameters, "scalar")
    return class_of(
        Text(
            write=lines,
            fields=fields,
            unknowns=unknowns or {},
            define=define or {},
            parameters=parameters,
            units=units or {},
            means=means or {},
            energies=energies,
            series=series or {},
            plan=plan,
        )
    )


@cache
def class_of(text: Text) -> type[Written]:
    """The class of a text."""
    system = text.system
    if len({Field(rank).real for rank in system.fields.values()}) > 1:
        raise WrittenError("real and complex fields in one text: the one or the other are carried out")
    taken = {*vars(Written), *dir(Written), "grid"}
    for name in (*system.parameters, *system.fields):
        if name in taken and name in system.parameters:
            raise WrittenError(f"parameter {name!r}: equations have an attribute of this name; another is needed")
    kinds = {"scalar": ArrayLike, "wavefunction": ArrayLike}
    annotations = {name: kinds.get(rank, Sequence[float]) for name, rank in system.parameters.items()}
    attributes = {
        "__annotations__": annotations,
        "__module__": __name__,
        "__doc__": text.formula(),
        "name": "written",
        "text": text,
    }
    return type("WrittenEquation", (Written,), attributes)


def declared_fields(text: Text) -> dict[str, Field]:
    """The fields of a text as an equation declares them: what has no divergence is read off its constraints."""
    system = text.system
    solenoidal = {name for d in system.dimensions if d > 1 for name in without_divergence(without_unknowns(text, d))}
    zero_mean = dict(text.means)
    return {
        name: Field(rank, text.units_of(name), solenoidal=name in solenoidal, zero_mean=name in zero_mean)
        for name, rank in system.fields.items()
    }
