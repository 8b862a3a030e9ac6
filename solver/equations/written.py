"""Equations that are written as text: everything that steppers ask for is derived from it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.equations.at_points import KEPT, OBSTACLES, SPACING, AtPoints, OfBothKinds
from solver.equations.base import Equation
from solver.equations.damping import require_powers
from solver.equations.declared import declare_parameters, declared_fields, dimensions_of
from solver.equations.in_modes import GridModes, LargeMode, OneMode, Rows
from solver.equations.reported import whole
from solver.equations.reporting import Damping
from solver.equations.system import NUMBERS, nothing_unless, require, require_shape
from solver.equations.turned import Turned
from solver.equations.with_bodies import WithBodies
from solver.fft import Transform, max_over_points
from solver.operators import Diagonal, Fields, LinearOperator, Matrix, Separate, components
from solver.spaces import Field
from solver.spaces.base import ZERO_MEAN
from solver.written.components import ZERO, plus
from solver.written.elimination import named
from solver.written.growth import fastest_growth
from solver.written.kinds import Kind
from solver.written.matrices import Linear
from solver.written.obstacles import STRENGTH
from solver.written.plan import Plan
from solver.written.rates import Rate, Unseen
from solver.written.report import report
from solver.written.text import Text
from solver.written.tree import Entry, Name, Node, Quotient, Slot, Solved, Sum
from solver.written.values import forms
from solver.written.viscosity import viscosity_of
from solver.written.worked import Worked, keep_plan, linear_of, without_unknowns

LIMITS: dict[str, tuple[str, dict[str, float]]] = {
    ">= 0": ("zero or more", {"least": 0}),
    "> 0": ("a positive number", {"above": 0}),
    ">= 1": ("one or more", {"least": 1}),
    "": ("a finite number", {}),
}
AXIS, SLANT = (1.0, 0.0, 0.0), (1.0, 2.0, 3.0)  # wavenumbers: of ν alone; at which no symbol but zero vanishes
FREE_OF_ALIASES = ("two-thirds", "three-halves", "one-half")  # rules that keep products of two so


class Written(WithBodies):
    """An equation whose class has a `text`; linear part, transforms and right-hand side are derived from it.

    Every parameter that stands in the text is an attribute, as in other equations; see `numbers`. Those of a text that
    the class does not declare are added. The terms of one that is None are left out, and so are columns that make sense
    in other numbers of dimensions alone. A text that depends on the equation is a property, and the class has its
    `fields` and `dimensions` beside it. A subclass of `Equation` with a `text` becomes one of this class.

    Class attributes:
        text: the equations, as `solver.written.text.Text`.
    """

    text: ClassVar[Any]
    keeps_constraints: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(vars(cls).get("text"), Text):
            declare_parameters(cls, Written)
            cls.__doc__ = cls.__doc__ or cls.text.formula()
            if not getattr(cls, "fields", None):
                cls.fields = declared_fields(cls.text)
            if "dimensions" not in vars(cls):
                cls.dimensions = dimensions_of(cls.text)

    def __check_init__(self) -> None:
        object.__setattr__(self, "kept_of_bodies", None)  # an entry of the pytree, which `prepared` fills
        _ = self.own_text.system  # refuses a text that cannot be read
        limits, ranks = dict(self.own_text.limits), self.own_text.system.parameters
        for name, value in self.numbers().items():
            order = Kind.of_rank(ranks.get(name, "scalar")).order
            require_shape(name, value, (self.grid.dimensions,) * order)
            words, options = LIMITS[limits.get(name, "")]
            require(name, value, words, real=self._must_be_real(name, value), **options)
            if getattr(self, name, None) is value:
                object.__setattr__(self, name, nothing_unless(value, **options))
        require_powers(self.grid, self.own_text.system, self.numbers())
        self._check_spaces()
        self._refuse_unbounded_growth()

    def _check_spaces(self) -> None:
        """Refuse spaces that a text is not carried out in: one kind for all real fields, one for all complex ones."""
        for real in (True, False):
            spaces = [space for space in self.spaces.values() if space.field.real is real]
            for space in spaces:
                if space.kind != spaces[0].kind or space.stored_components != len(space.component_names):
                    raise ValueError(
                        f"equation {self.name}: fields of {space}: a text needs one kind of space for all its fields, "
                        "with as many stored components as there are at the points"
                    )

    def _refuse_unbounded_growth(self) -> None:
        """Refuse an L that amplifies ever shorter waves ever faster; numbers that are being traced pass.

        Touches no device.
        """
        text, dimensions, numbers = self.own_text.without_obstacles, self.grid.dimensions, self.numbers()
        is_written_in_them = not self.dimensions or dimensions in self.dimensions  # else it is refused elsewhere
        if text.unbounded or not is_written_in_them or not all(map(_is_known, jax.tree.leaves(numbers))):
            return
        linear, less, shortest = linear_of(text, dimensions), without_unknowns(text, dimensions), self.grid.k_max
        growth = fastest_growth(linear, less, numbers, shortest)
        if growth is not None:
            raise ValueError(
                f"equation {self.name}: its linear part amplifies ever shorter waves ever faster: on this grid those "
                f"of |k| = {shortest:.4g} grow as exp({growth:.4g} t). Another sign is needed, or `unbounded` is true"
            )

    @classmethod
    def why_not_in(cls, dimensions: int) -> str:
        why = cls.text.system.why_not_in(dimensions) if isinstance(cls.text, Text) else ""
        return why and f"; {why}"

    def _must_be_real(self, name: str, value: Any) -> bool:
        """Whether real fields or what is reported hold a complex parameter as it is, and not behind `real`."""
        is_beside_real = any(field.real for field in self.fields.values())
        if not any(map(jnp.iscomplexobj, jax.tree.leaves(value))):
            return is_beside_real
        return name in self.worked.numbers_of_reports or (is_beside_real and name in self.worked.numbers_of_real)

    @property
    def own_text(self) -> Text:
        """The text, without the terms of parameters that are None."""
        return self._without_missing(self._text_with_obstacles)

    @property
    def plain_text(self) -> Text:
        """The same without what bodies do; it has the same parameters."""
        return self._without_missing(self.text.without_obstacles)

    def _without_missing(self, text: Text) -> Text:
        given = {name: getattr(self, name, 0) for name in text.system.parameters}
        return text.without(frozenset(name for name, value in given.items() if value is None))

    @property
    def worked(self) -> Worked:
        """What is derived from the text for this grid's number of dimensions."""
        return self.own_text.in_dimensions(self.grid.dimensions, aliases=self.grid.dealias not in FREE_OF_ALIASES)

    def linear(self) -> LinearOperator:
        return self._operator(self.worked.linear)

    def _operator(self, linear: Linear) -> LinearOperator:
        """A linear operator on this grid; where there are real and complex fields, one for either kind."""
        kinds = [tuple(name for name, field in self.fields.items() if field.real is real) for real in (True, False)]
        if not all(kinds):
            return self._operator_on(tuple(self.fields), linear)
        scalars = self.worked.less.scalars
        parts = [{pair: s for pair, s in linear.between(scalars).items() if named(pair[0]) in names} for names in kinds]
        coupled = ["nothing" if all(row == column for row, column in part) else "components" for part in parts]
        own = (Linear(*pair) for pair in zip(parts, coupled, strict=True))
        return Separate(tuple(self._operator_on(*pair) for pair in zip(kinds, own, strict=True)))

    def _operator_on(self, names: tuple[str, ...], linear: Linear) -> LinearOperator:
        """A linear operator on fields of one kind."""
        modes = self._modes(0.0, self.fields[names[0]].real)
        shape = modes.space.modes.spectral_shape
        if linear.couples == "nothing":
            return Diagonal({name: self._diagonal(name, linear, modes) for name in names})
        scalars = [scalar for name in names for scalar in self._scalars(name)]
        keys: Sequence[Any] = names if linear.couples == "fields" else scalars
        entry = lambda pair: jnp.asarray(whole(modes.value(linear.symbols.get(pair, ZERO))))  # noqa: E731
        rows = [jnp.stack([jnp.broadcast_to(entry((row, column)), shape) for column in keys]) for row in keys]
        return Matrix(jnp.stack(rows), names, "fields" if linear.couples == "fields" else "components")

    def _diagonal(self, name: str, linear: Linear, modes: GridModes) -> Array:
        """The entries of a field, one for all components where they are the same."""
        symbols = [linear.symbols.get((scalar, scalar), ZERO) for scalar in self._scalars(name)]
        values = {symbol: whole(modes.value(symbol)) for symbol in symbols}
        entries = [jnp.asarray(v, None if jnp.iscomplexobj(v) else self.grid.dtype) for v in map(values.get, symbols)]
        if len(values) == 1:
            return entries[0]
        return jnp.stack([jnp.broadcast_to(entry, modes.space.modes.spectral_shape) for entry in entries])

    def _applied(self, linear: Linear, fields: Fields) -> Rows:
        """What a linear operator makes of fields; entries that are zero cost nothing."""
        if linear.couples == "nothing":
            return self._rows(self._operator(linear).apply(fields))
        now, change = self._rows(fields), {name: jnp.zeros_like(field) for name, field in fields.items()}
        changes = self._coefficients(change)
        for (row, column), symbol in linear.between(self.worked.less.scalars).items():
            own = now.of(column)
            changes[row] = changes[row] + whole(own.modes.value(symbol) * Turned(own.coefficients[column]))
        return self._rows_of(changes, 0.0)

    def damping_of_velocity(self) -> Damping | None:
        """What L does to the small scales of the velocity, told by its symbols and not by the names of parameters."""
        found = viscosity_of(self.plain_text, self.grid.dimensions)
        if found is None:
            return None
        one = OneMode(self.numbers(), AXIS[: self.grid.dimensions])
        viscosity = None if found.kinematic is None else -whole(one.value(found.kinematic))
        if all(symbol == ZERO for symbol in found.further):
            return Damping(viscosity, is_all=not found.couples)
        slant = OneMode(self.numbers(), SLANT[: self.grid.dimensions])
        size = lambda: sum(abs(whole(slant.value(symbol))) for symbol in found.further)  # noqa: E731
        return Damping(viscosity, partial(self._rates, found.further), size, not found.couples)

    def _rates(self, symbols: Sequence[Node]) -> list[Array]:
        """How fast each symbol damps each mode [1/time]; 0 where it does not."""
        modes = self._modes(0.0, True)
        return [jnp.maximum(-jnp.real(whole(modes.value(symbol))), 0.0) for symbol in symbols]

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        return self._evaluated(fields, t, None)[0]

    def change_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        largest, own = self._largest, type(self)
        if largest is None or own.nonlinear is not Written.nonlinear or own.rate is not Written.rate:
            return super().change_and_rate(fields, t)
        changes, found = self._evaluated(fields, t, largest)
        return changes, found + self._further_rate()

    def rate(self, fields: Fields) -> Array:
        """Read off the text: the largest speed across a grid cell, or the largest rate of reaction.

        It is 0 where the text does not tell it; `why_no_rate` then says why.
        """
        function = self._largest
        if function is None:
            return jnp.asarray(self._further_rate(), self.grid.dtype)
        values = self._at_points(function.inner, self.worked.plan, self._rows(fields))
        numbers, places = self._numbers(self._modes(0.0), function), self._places(function)
        [largest] = function.made(values, numbers, places, self.grid.physical_shape)
        return max_over_points(largest.astype(self.grid.dtype)) + self._further_rate()

    def _further_rate(self) -> ArrayLike:
        """What the rate has beside what is found at the points."""
        obstacles = self.obstacles
        of_obstacles = 0.0 if obstacles is None else obstacles.fastest() + self._rate_of_sealed(obstacles)
        return self.rate_of_linear() + of_obstacles

    def rate_of_linear(self) -> ArrayLike:
        """What is added to the rate that the text tells, for waves or reactions in L [1/time]: nothing by default.

        L is exact for any step with integrating-factor and exponential steppers; others may need it.
        """
        return 0.0

    def rate_at_points(self) -> Rate | Unseen:
        """What the rate is the largest of, in inner fields of the plan: read off the text by default.

        Override it where the text does not tell it: the speeds then come from the transforms of the right-hand side.
        """
        return self.worked.rate

    @property
    def why_no_rate(self) -> str:
        has_own, found = type(self).rate is not Written.rate, self.rate_at_points()
        return "" if has_own or isinstance(found, Rate) else f"its text tells no CFL number, since {found.reason}"

    @property
    def _largest(self) -> AtPoints | None:
        """What the rate is the largest of, from the inner fields of the plan; None where there is nothing."""
        found = self.rate_at_points()
        if not isinstance(found, Rate) or not self.worked.plan.products:
            return None
        across = lambda axis, speed: Quotient(speed, Entry(SPACING, (axis,)))  # noqa: E731
        parts = [found.reaction, *(across(*pair) for pair in enumerate(found.speeds or ()))]
        [(inner, _)] = self.worked.plan.levels()
        node = plus(part for part in parts if part is not None)
        if node == ZERO:
            return None
        return AtPoints((node,), tuple(inner), self.own_text.functions, is_one_number=True)

    def _numbers(self, modes: GridModes, *functions: AtPoints) -> dict[str, Any]:
        """The numbers that functions at the points need, of parameters, time, spacing, and what a rate is made with."""
        known = {**modes.numbers, SPACING: jnp.asarray(self.grid.spacing, self.grid.dtype)}
        needed = {name for function in functions for name in function.names}
        numbers = {name: value for name, value in known.items() if name in needed}
        if any(function.has_obstacles for function in functions):
            numbers[OBSTACLES] = self.obstacles
        found = self.rate_at_points()
        for name, number in found.coefficients.items() if isinstance(found, Rate) else ():
            if name in needed:
                numbers[name] = LargeMode(number.axis, self.grid.dimensions, modes.numbers).leading(number)
        return numbers

    def _evaluated(self, fields: Fields, t: ArrayLike, largest: AtPoints | None) -> tuple[Fields, Any]:
        """N(u, t), and the largest of a number at the points."""
        placed = self.at_motion(fields, t)
        rows, found = placed._carried_out(self.worked.plan, fields, t, largest)
        changes = self._by_field(rows, self.worked.changes)
        mean_free = [name for name, field in self.fields.items() if field.zero_mean]
        changes |= {name: self.space(name).as_declared(changes[name], ZERO_MEAN) for name in mean_free}
        return changes, found

    def _carried_out(
        self, plan: Plan[Any], fields: Fields, t: ArrayLike, largest: AtPoints | None = None
    ) -> tuple[Rows, Any]:
        """The products of a plan, its levels one after the other; and the largest of a number at the points."""
        if self.own_text.is_mixed:
            return self._carried_out_of_both_kinds(plan, fields, t, largest)
        modes, found = self._modes(t), None
        coefficients = self._coefficients(fields)
        for inner, products in plan.levels():
            function = AtPoints(tuple(plan.products[i] for i in products), tuple(inner), self.own_text.functions)
            hats = self._inner([plan.inner[i] for i in inner], Rows(modes, coefficients, fields))
            functions = function, *([] if largest is None else [largest])
            numbers = self._numbers(modes, *functions)
            places = self._with_obstacles(function, numbers, self._places(*functions))
            made = modes.space.pointwise(function, hats, numbers, places, largest)
            made, found = made if largest is not None else (made, None)
            coefficients |= {Slot("product", i): part for i, part in zip(products, components(made), strict=True)}
        return Rows(modes, coefficients), found

    def _carried_out_of_both_kinds(
        self, plan: Plan[Any], fields: Fields, t: ArrayLike, largest: AtPoints | None
    ) -> tuple[Rows, Any]:
        """The same where some fields are real and some complex: each inner field and product by its own transform."""
        changes = self.worked.changes if plan is self.worked.plan else {ZERO: plan.rows[""]}
        names = self.own_text.system.complex_names
        rows_by_kind = [(scalar != ZERO and named(scalar) in names, node) for scalar, node in changes.items()]
        needed, found = forms(plan, rows_by_kind, names), None
        rows = self._rows(fields, t)
        for inner, products in plan.levels():
            function = AtPoints(tuple(plan.products[i] for i in products), tuple(inner), self.own_text.functions)
            values = self._at_points(inner, plan, rows)
            numbers = self._numbers(rows.modes, function, *([] if largest is None else [largest]))
            places = self._places(function)
            if function.functions:
                held = [values[Slot("inner", i)] for i in inner]
                Transform(self.grid.as_complex).check_function(OfBothKinds(function), numbers, (held, places))
            made = function.made(values, numbers, places, self.grid.physical_shape)
            if largest is not None:
                [at_points] = largest.made(values, numbers, self._places(largest), self.grid.physical_shape)
                found = max_over_points(at_points.astype(self.grid.dtype))
            coefficients = {real: dict(rows.of_kind(real).coefficients) for real in (True, False)}
            for real in (True, False):
                space = rows.of_kind(real).modes.space
                wanted = [i for i in products if i in needed.products[not real]]
                if wanted:
                    own = [jnp.real(made[products.index(i)]) if real else made[products.index(i)] for i in wanted]
                    hats = space.forward(jnp.stack([product.astype(space.values.dtype) for product in own]))
                    coefficients[real] |= {Slot("product", i): hat for i, hat in zip(wanted, hats, strict=True)}
            other = Rows(rows.of_kind(False).modes, coefficients[False], rows.fields)
            rows = Rows(rows.modes, coefficients[True], rows.fields, other)
        return rows, found

    def _at_points(self, inner: Sequence[int], plan: Plan[Any], rows: Rows) -> dict[Node, Array]:
        """Values of inner fields, by slot: those of one kind in one transform."""
        complex_ones = (
            forms(plan, (), self.own_text.system.complex_names).complex_inner if self.own_text.is_mixed else ()
        )
        values: dict[Node, Array] = {}
        for kind in (False, True):
            slots = [i for i in inner if (i in complex_ones) is kind]
            if slots:
                own = rows.of_kind(not kind)
                hats = self._inner([plan.inner[i] for i in slots], own)
                found = own.modes.space.inverse(hats)
                values |= {Slot("inner", i): part for i, part in zip(slots, found, strict=True)}
        return values

    def text_table(self) -> dict[str, Any]:
        return self.own_text.table if isinstance(type(self).text, Text) else {}

    def plan_to_keep(self) -> str:
        return self.worked.plan_to_keep if self.own_text.plan != "as written" else ""

    def keep_plan(self, plan: str) -> None:
        keep_plan(plan)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        """The texts that equations of this class have in so many dimensions, of which the library keeps plans."""
        if not isinstance(cls.text, Text):
            return []
        optional = frozenset(name for name in cls.text.system.parameters if getattr(cls, name, 0) is None)
        return [cls.text.without(optional), cls.text] if optional else [cls.text]

    @classmethod
    def fullest_text(cls) -> Text | None:
        """The text that stands for the class where its formula is shown: of several, the one with the most terms."""
        texts = cls.texts(max(cls.dimensions))
        return texts[-1] if texts else None

    def derivation(self) -> list[tuple[str, str]]:
        lines = report(self.own_text, replace(self.worked, rate=self.rate_at_points()), self.grid.dimensions)
        if self.obstacles is None:
            return lines
        lines.append(("bodies", "obstacle_strength is Σ χ/η, obstacle_source Σ (χ/η) u_s; 1/η adds to the rate"))
        if self.obstacles.free:
            names, more = ", ".join(sorted(self.obstacles.free)), 2 * self.grid.dimensions
            lines.append(("bodies", f"the flow moves {names}: {more} inverse transforms more for each right-hand side"))
        return lines

    def _rows(self, fields: Fields, t: ArrayLike = 0.0) -> Rows:
        return self._rows_of(self._coefficients(fields), t, fields)

    def _rows_of(self, coefficients: Mapping[Node, Array], t: ArrayLike, fields: Fields | None = None) -> Rows:
        """Rows from coefficients of the scalars of fields."""
        if not self.own_text.is_mixed:
            return Rows(self._modes(t), coefficients, fields)
        of_kind = lambda real: {s: c for s, c in coefficients.items() if self.fields[named(s)].real is real}  # noqa: E731
        other = Rows(self._modes(t, False), of_kind(False), fields)
        return Rows(self._modes(t, True), of_kind(True), fields, other)

    def _by_field(self, rows: Rows, nodes: Mapping[Node, Node]) -> Fields:
        """Fields from an expression for each scalar."""
        of = lambda name, scalar: rows.of_kind(self.fields[name].real).whole(nodes[scalar])  # noqa: E731
        return {name: jnp.stack([of(name, s) for s in self._scalars(name)]) for name in self.fields}

    def _coefficients(self, fields: Fields) -> dict[Node, Array]:
        """Coefficients of each scalar of the fields."""
        each = {name: zip(self._scalars(name), components(fields[name]), strict=True) for name in self.fields}
        return {scalar: part for parts in each.values() for scalar, part in parts}

    def _places(self, *functions: AtPoints) -> dict[str, Any] | None:
        """The coordinates that functions need, and what bodies at rest do there; None if they need none.

        Raises:
            ValueError: they need some, and the points are shifted.
        """
        places: dict[str, Any] = dict(zip("xyz", self.grid.coordinates(), strict=False))
        places = {name: places[name] for function in functions for name in function.coordinates}
        if self.kept_of_bodies is not None:
            held = {name for function in functions for name in function.obstacles}
            places |= {
                name: a
                for name, a in self.kept_of_bodies.items()
                if name in held or (name == KEPT and STRENGTH in held)
            }
        if places:
            self.transform.refuse_moved_points()
        return places or None

    def _inner(self, inner: Sequence[Node], rows: Rows) -> Array:
        """Coefficients of inner fields, stacked; whole fields are taken as they are.

        Where products hold no field, as a source does, one that is zero stands for their points.
        """
        if not inner:
            modes = rows.modes.space.modes
            return jnp.zeros((1, *modes.spectral_shape), modes.complex_dtype)
        wanted, parts, fields = list(inner), [], rows.fields or {}
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

    def _modes(self, t: ArrayLike, real: bool | None = None) -> GridModes:
        """The modes of its real or of its complex fields and unknowns; by default those of its first field."""
        named = (name for name, field in self.fields.items() if field.real is real)
        space = self.space(next(named, self.first_field))
        if real is not None and space.field.real is not real:  # of unknowns alone
            space = replace(space, field=Field("scalar" if real else "wavefunction"))
        return GridModes(space, {**self.numbers(), "t": t})

    def unsolved_modes(self) -> dict[str, Array]:
        modes, counted = self._modes(0.0), {}
        for scalar, node in self.worked.less.diagnosed.items():
            divisors = {part.by for part in node.walk() if isinstance(part, Solved) and isinstance(part.by, Sum)}
            if divisors:
                vanishing = [modes.vanishing(divisor) for divisor in sorted(divisors, key=repr)]
                counted[named(scalar)] = jnp.sum(reduce(operator.or_, vanishing))
        return counted

    def numbers(self) -> dict[str, Any]:
        """The parameters of the text by name: attributes of the equation by default."""
        return {name: getattr(self, name) for name in self.plain_text.system.parameters}


def _is_known(value: Any) -> bool:
    """Whether a value is a number or an array of them, and not traced."""
    return isinstance(value, NUMBERS) and not isinstance(value, jax.core.Tracer)


Equation.of_a_text = Written
