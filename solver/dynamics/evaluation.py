"""A text carried out on the grid of its equation: coefficients of scalars, products at the points, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.acting_bodies import with_moving_bodies
from solver.dynamics.at_points import KEPT, OBSTACLES, SPACING, AtPoints, OfBothKinds
from solver.dynamics.in_modes import GridModes, LargeMode, Rows
from solver.dynamics.own_symbol import functions_of
from solver.dynamics.subgrid import subgrid, text_with_closure
from solver.fft import Transform, max_over_points
from solver.mesh import placed
from solver.operators import Fields, components
from solver.spaces import Field, Space
from solver.spaces.manifold import by_kind
from solver.static import sealed
from solver.written.closures import CLOSURE
from solver.written.components import ZERO
from solver.written.derivation import Derivation, in_dimensions
from solver.written.elimination import named
from solver.written.energies import vector_of
from solver.written.formula import unicode
from solver.written.obstacles import STRENGTH
from solver.written.plan import Plan
from solver.written.rates import Rate
from solver.written.text import VALUES_OF, Text
from solver.written.tree import Entry, Name, Node, Slot
from solver.written.values import forms, is_complex, names_outside
from solver.written.variants import with_obstacles, without_parameters

FREE_OF_ALIASES = ("two-thirds", "three-halves", "one-half")  # rules that keep products of two so


class Evaluation:
    """A text on the grid of its equation, with its parameters, its space and its bodies. Made anew in each trace.

    Args:
        equation: equation of a text.
    """

    def __init__(self, equation: Any) -> None:
        self.equation, self.grid = equation, equation.grid

    @cached_property
    def text(self) -> Text:
        """The text, without the terms of parameters that are None, with the terms of bodies."""
        equation = self.equation
        text = text_with_bodies(text_with_closure(equation), equation.obstacles, self.grid.dimensions)
        return without_missing(equation, text)

    @cached_property
    def derived(self) -> Derivation:
        """The derivation from the text for this grid's number of dimensions."""
        return in_dimensions(self.text, self.grid.dimensions, aliases=self.grid.dealias not in FREE_OF_ALIASES)

    # ---- coefficients -------------------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> list[tuple[Space, list[str]]]:
        """The kinds of spaces of its fields and unknowns: a space of each, and names of fields. Real ones first."""
        spaces = self.equation.spaces
        found = [(spaces[names[0]], names) for names in by_kind(spaces, spaces)]
        found.sort(key=lambda kind: not kind[0].field.real)
        if self.text.is_mixed and len({space.field.real for space, _ in found}) == 1:  # with unknowns of the other ones
            space, _ = found[0]
            is_real = space.field.real
            other = replace(space, field=Field("wavefunction" if is_real else "scalar"))
            found.insert(len(found) if is_real else 0, (other, []))
        return found

    @cached_property
    def kind_by_name(self) -> dict[str, int]:
        """Number of the kind of each field."""
        return {name: i for i, (_, names) in enumerate(self.kinds) for name in names}

    def kind_of(self, node: Node) -> int:
        """Number of the kind of an expression of fields.

        Raises:
            ValueError: it takes fields of two kinds of spaces together mode by mode.
        """
        if self.text.is_mixed and is_complex(node, self.text.system.complex_names):
            return len(self.kinds) - 1  # all complex ones are of one
        held = names_outside(node) & self.kind_by_name.keys()
        found = {self.kind_by_name[name] for name in held}
        if len(found) > 1:
            of = " and ".join(f"{name} of {self.equation.space(name)}" for name in sorted(held))
            raise ValueError(
                f"equation {self.equation.name}: {unicode(node)} takes fields of two kinds of spaces through one "
                f"operator, {of}: each by itself is needed"
            )
        return found.pop() if found else 0

    def modes(self, t: ArrayLike, kind: int = 0) -> GridModes:
        """The modes of the fields of a kind; by default of its first real field, or complex one if it has no other."""
        return GridModes(self.kinds[kind][0], {**self.equation.all_numbers, "t": t}, functions_of(self.equation))

    def scalars(self, name: str) -> tuple[Node, ...]:
        """The scalars of a field: its components."""
        return tuple(scalar for scalar in self.derived.reduced.scalars if named(scalar) == name)

    def coefficients(self, fields: Fields) -> dict[Node, Array]:
        """Coefficients of each scalar of the fields."""
        each = {n: zip(self.scalars(n), components(fields[n]), strict=True) for n in self.equation.fields}
        return {scalar: part for parts in each.values() for scalar, part in parts}

    def rows(self, fields: Fields, t: ArrayLike = 0.0) -> Rows:
        """The fields, from which expressions of their scalars are made."""
        return self.rows_of(self.coefficients(fields), t, fields)

    def rows_of(self, coefficients: Mapping[Node, Array], t: ArrayLike, fields: Fields | None = None) -> Rows:
        """Rows from coefficients of the scalars of fields."""
        by_name = self.kind_by_name
        own = lambda kind: {s: c for s, c in coefficients.items() if by_name[named(s)] == kind}  # noqa: E731
        first, *others = (Rows(self.modes(t, kind), own(kind), fields) for kind in range(len(self.kinds)))
        return Rows(first.modes, first.coefficients, fields, others)

    def by_field(self, rows: Rows, nodes: Mapping[Node, Node]) -> Fields:
        """Fields from an expression for each scalar."""
        of = lambda name, scalar: rows.by_kind[self.kind_by_name[name]].on_all_modes(nodes[scalar])  # noqa: E731
        return {name: jnp.stack([of(name, s) for s in self.scalars(name)]) for name in self.equation.fields}

    def field(self, name: str, rows: Rows) -> Array:
        """All components of a field."""
        if rows.fields is not None:
            return rows.fields[name]
        return jnp.stack([rows.of(scalar).on_all_modes(scalar) for scalar in self.scalars(name)])

    def inner(self, inner: Sequence[Node], rows: Rows) -> Array:
        """Coefficients of inner fields, stacked; whole fields are taken as they are.

        Where products hold no field, as a source does, a field of zeros supplies their points.
        """
        if not inner:
            modes = rows.modes.space.modes
            return jnp.zeros((1, *modes.spectral_shape), modes.complex_dtype)
        wanted, parts, fields = list(inner), [], rows.fields or {}
        while wanted:
            name = named(wanted[0]) if isinstance(wanted[0], Name | Entry) else ""
            scalars = self.scalars(name) if name in fields and name in self.equation.fields else ()
            if scalars and tuple(wanted[: len(scalars)]) == scalars:
                parts.append(fields[name])
                wanted = wanted[len(scalars) :]
            else:
                parts.append(rows.on_all_modes(wanted.pop(0))[None])
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts)

    # ---- products at the points ---------------------------------------------------------------------------------

    def function(self, plan: Plan[Any], inner: Sequence[int], products: Sequence[int]) -> AtPoints:
        """The products of one level of a plan, as a function of its inner fields."""
        return AtPoints.of_text(self.text, (plan.products[i] for i in products), inner)

    def carried_out(
        self, plan: Plan[Any], fields: Fields, t: ArrayLike, largest: AtPoints | None = None
    ) -> tuple[Rows, Any]:
        """The products of a plan, its levels one after the other; and the largest of a number at the points."""
        rows, found = self.rows(fields, t), None
        together = len(rows.by_kind) == 1
        needed = {} if together else self._needed(plan)
        for inner, products in plan.levels():
            function = self.function(plan, inner, products)
            functions = function, *([] if largest is None else [largest])
            by_parts = together and not any(one.looks_at_all_points for one in functions)
            given: Any = (
                self.inner([plan.inner[i] for i in inner], rows) if by_parts else self.at_points(inner, plan, rows)
            )
            numbers = self.numbers(rows.modes, *functions, rows=rows)
            places = with_moving_bodies(self.equation, function, numbers, self.places(*functions))
            if by_parts:
                made = rows.modes.space.pointwise(function, given, numbers, places, largest)
                made, found = made if largest is not None else (made, None)
                rows = rows.with_products(dict(zip(products, components(made), strict=True)))
            else:
                made, found = self.made_of_values(functions, given, numbers, places, self.grid.physical_shape)
                values = dict(zip(products, made, strict=True))
                rows = _with_products(rows, needed, values)
        return rows, found

    def made_of_values(
        self,
        functions: Sequence[AtPoints],
        values: Mapping[Node, Array],
        numbers: Mapping[str, Any],
        places: Any,
        shape: Sequence[int],
    ) -> tuple[list[Array], Any]:
        """Products over all points from the values of inner fields there; the largest of the number of a second one."""
        [function, *largest] = functions
        self._check_functions(function, values, numbers, places)
        made = function.made(values, numbers, places, shape)
        sizes = [one.made(values, numbers, places, shape)[0].astype(self.grid.dtype) for one in largest]
        return made, max_over_points(sizes[0]) if sizes else None

    def _check_functions(
        self, function: AtPoints, values: Mapping[Node, Array], numbers: Mapping[str, Any], places: Any
    ) -> None:
        """Refuse functions of the user's that look at other points and do not say so, where values are whole."""
        function = function.without_whole_fields
        if function.functions:
            held = [values[Slot("inner", i)] for i in function.inner]
            Transform(replace(self.grid.as_complex, walls=None)).check_function(
                OfBothKinds(function), numbers, (held, places)
            )

    def _needed(self, plan: Plan[Any]) -> Mapping[int, frozenset[int]]:
        """Numbers of the products that fields of each kind need."""
        changes = self.derived.changes if plan is self.derived.plan else {ZERO: plan.rows[""]}
        of = lambda scalar: 0 if scalar == ZERO else self.kind_by_name[named(scalar)]  # noqa: E731
        return forms(plan, [(of(scalar), node) for scalar, node in changes.items()], self.kind_of).products

    def at_points(self, inner: Sequence[int], plan: Plan[Any], rows: Rows) -> dict[Node, Array]:
        """Values of inner fields, by slot: fields of one kind in one transform."""
        kinds = forms(plan, (), self.kind_of).inner if rows.others else (0,) * len(plan.inner)
        values: dict[Node, Array] = {}
        for kind, own in enumerate(rows.by_kind):
            slots = [i for i in inner if kinds[i] == kind]
            if slots:
                found = own.modes.space.inverse(self.inner([plan.inner[i] for i in slots], own))
                values |= {Slot("inner", i): part for i, part in zip(slots, components(found), strict=True)}
        return values

    def numbers(self, modes: GridModes, *functions: AtPoints, rows: Rows | None = None) -> dict[str, Any]:
        """The numbers that functions at the points need: parameters, time, spacing, coefficients of a rate, a closure.

        A closure needs the rows of the fields.
        """
        known = {**modes.numbers, SPACING: jnp.asarray(self.grid.spacing, self.grid.dtype)}
        needed = {name for function in functions for name in function.names}
        numbers = {name: value for name, value in known.items() if name in needed}
        called = {name for function in functions for name in function.called}
        # sealed, since a network holds more than arrays
        numbers |= {n: sealed(getattr(self.equation, n)) for n in self.text.given_functions if n in called}
        if any(function.has_obstacles for function in functions):
            numbers[OBSTACLES] = self.equation.obstacles
        if rows is not None and any(function.has_closure for function in functions):
            numbers[CLOSURE] = sealed(subgrid(self.equation, lambda: self._closed_velocity(rows)))
        found = self.equation.rate_at_points()
        for name, number in found.coefficients.items() if isinstance(found, Rate) else ():
            if name in needed:
                numbers[name] = LargeMode(number.axis, self.grid.dimensions, modes.numbers).leading(number)
        return numbers

    def _closed_velocity(self, rows: Rows) -> Array:
        """Coefficients of the velocity of which a closure is a function."""
        parts = vector_of(self.equation.whole_text.closed_velocity, self.derived.reduced)
        return jnp.stack([rows.on_all_modes(part) for part in parts])

    def places(self, *functions: AtPoints) -> dict[str, Any] | None:
        """The coordinates that functions need, and the action of bodies at rest there; None if they need neither.

        Raises:
            ValueError: they need some, and the points are shifted.
        """
        places: dict[str, Any] = dict(zip("xyz", self.grid.coordinates(), strict=False))
        places = {name: places[name] for function in functions for name in function.coordinates}
        kept = self.equation.kept_of_bodies
        if kept is not None:
            held = {name for function in functions for name in function.obstacles}
            places |= {n: a for n, a in kept.items() if n in held or (n == KEPT and STRENGTH in held)}
        called = {name for function in functions for name in function.called}
        places |= {VALUES_OF + n: self._values(n) for n in self.text.at_points if VALUES_OF + n in called}
        whole = any(one.looks_at_all_points for one in functions)  # it may count the points, as a mask does
        if (places or whole) and not self.grid.walls:  # where points stay
            self.equation.transform.refuse_moved_points()
        return places or None

    def _values(self, name: str) -> Array:
        """A parameter of values at the points, over all points, split as fields at the points are."""
        values = jnp.asarray(getattr(self.equation, name), self.grid.dtype)
        return placed(jnp.broadcast_to(values, self.grid.physical_shape), self.grid.physical_sharding())


def _with_products(rows: Rows, needed: Mapping[int, frozenset[int]], made: Mapping[int, Array]) -> Rows:
    """Rows with products, from their values: each as coefficients of the kinds of fields that need it.

    Where there is one kind, all are of it.
    """
    found = []
    for kind, own in enumerate(rows.by_kind):
        space = own.modes.space
        wanted = [i for i in made if not rows.others or i in needed.get(kind, ())]
        values = [(jnp.real(made[i]) if space.field.real else made[i]).astype(space.values.dtype) for i in wanted]
        found.append(dict(zip(wanted, components(space.forward(jnp.stack(values))), strict=True)) if wanted else {})
    return rows.with_products(*found)


def without_missing(equation: Any, text: Text) -> Text:
    """A text without the terms of the equation's parameters that are None."""
    given = {name: getattr(equation, name, 0) for name in text.system.parameters}
    return without_parameters(text, frozenset(name for name, value in given.items() if value is None))


def text_with_bodies(text: Text, obstacles: Any, dimensions: int) -> Text:
    """A text with the terms of bodies and sponges where it says `penalise`, or without these terms."""
    if obstacles is None:
        return text.plain
    return with_obstacles(text, dimensions, move=not obstacles.are_at_rest, conditions=obstacles.conditions)
