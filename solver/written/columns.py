"""Columns of the series that a text declares: means over the box, extremes, and expressions of these."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from solver.written.components import written_out
from solver.written.degrees import degree, holds_operator
from solver.written.elimination import Reduced
from solver.written.energies import Square, depends_on_place, in_scalars, refuse_of_equations, scalar_of, squares_of
from solver.written.kinds import SCALAR, kind_of
from solver.written.parse import read_expression
from solver.written.plan import Plan, plan_as_written
from solver.written.real_parts import holds_complex_number
from solver.written.system import insert
from solver.written.tree import (
    Call,
    Comparison,
    Name,
    Negative,
    Node,
    Place,
    Power,
    Product,
    Quotient,
    Slot,
    Sum,
)
from solver.written.values import complex_among_real, refuse_both_kinds, refuse_complex_of_real
from solver.written.vocabulary import COORDINATES, DERIVATIVES, EXTREMES, OPERATORS, POINTWISE

Mean: TypeAlias = "tuple[Square, ...] | Plan[str]"  # without transforms where it is a quadratic form

ACT_ON_FIELDS = (*DERIVATIVES, *OPERATORS, "perp")
NUMBERS = "numbers for the whole box are needed there"


@dataclass(frozen=True)
class Values:
    """A function of the fields at each point.

    Args:
        inner: expression that is taken to the points, linear in the fields.
        node: the function, in slots of these, parameters and coordinates.
    """

    inner: tuple[Node, ...]
    node: Node


@dataclass(frozen=True)
class Part:
    """A number that a column is made of.

    Args:
        of: expression that is reduced.
        by: `mean`, `max` or `min` over the box.
    """

    of: Mean | Values
    by: str


@dataclass(frozen=True)
class Column:
    """A column of the series.

    Args:
        node: expression of the parts, as slots, of parameters, and of names of columns before this one.
        parts: numbers for the whole box.
    """

    node: Node
    parts: tuple[Part, ...]


def column_of(text: str, reduced: Reduced, others: Collection[str] = ()) -> Column:
    """A column from its text: the mean of a density, or an expression of means, extremes and other columns.

    Args:
        text: a density; or an expression without fields outside of `mean(f)`, `max(f)` and `min(f)`.
        reduced: the system without its unknowns.
        others: columns whose names may be in it.

    Raises:
        WrittenError: fields outside of these, or an extreme of an expression that is known mode by mode only.
    """
    whole = read_expression(text, reduced.system.functions)
    if not any(_is_extreme(part) or (isinstance(part, Name) and part.name in others) for part in whole.walk()):
        return Column(Slot("part", 0), (Part(_mean(scalar_of(text, reduced), reduced), "mean"),))
    parts: dict[str, Part] = {}

    def is_complex(node: Node) -> bool:
        node = insert(node, reduced.system.definitions)
        return kind_of(node, reduced.system.kinds, reduced.dimensions, reduced.system.functions).is_complex

    def part_of(node: Node) -> Node | None:
        if not isinstance(node, Call) or node.function not in (*EXTREMES, "mean") or len(node.arguments) > 1:
            return None
        (argument,), by = node.arguments, node.function
        density = in_scalars(argument, reduced)
        if by in EXTREMES and (is_complex(argument) or holds_complex_number(density)):
            raise node.place.error(f"{by} of complex numbers, which have no order: abs, real or imag of them is needed")
        name = f"_{len(parts)}"  # no name of a text starts so
        parts[name] = Part(_mean(density, reduced) if by == "mean" else values_of(density, reduced, node.place), by)
        return Name(name, place=node.place)

    made = _of_numbers(whole.rewritten(part_of), {*others, *parts}, reduced)
    slots = {name: Slot("part", i) for i, name in enumerate(parts)}
    return Column(
        made.rewritten(lambda part: slots.get(part.name) if isinstance(part, Name) else None), tuple(parts.values())
    )


def _of_numbers(node: Node, numbers: Collection[str], reduced: Reduced) -> Node:
    """An expression of numbers for the whole box and of parameters, in components.

    Args:
        node: as it was read, without definitions.
        numbers: names of the ones for the whole box.
        reduced: the system without its unknowns.

    Raises:
        WrittenError: fields, a place, a time or an operator in it, or another order than the order of scalars.
    """
    system = reduced.system
    for part in node.walk():
        if isinstance(part, Name) and part.name not in numbers:
            if part.name in {*system.fields, *system.unknowns, *system.definitions}:
                raise part.place.error(
                    f"{part.name!r} together with max, min or another column: mean({part.name}) is needed"
                )
            if part.name in COORDINATES:
                raise part.place.error(f"{part.name} together with max, min or another column: {NUMBERS}")
        refuse_of_equations(part)
        if isinstance(part, Call) and part.function in ACT_ON_FIELDS:
            raise part.place.error(f"{part.function} together with max, min or another column: {NUMBERS}")
    kinds = {**system.kinds, **dict.fromkeys(numbers, SCALAR)}
    kind = kind_of(node, kinds, reduced.dimensions, system.functions)
    if kind.order:
        raise node.place.error(f"{kind}: a scalar is needed")
    made = written_out(node, kinds, reduced.dimensions).scalar
    if kind.is_complex or holds_complex_number(made):
        raise node.place.error("a column that is complex: abs, real or imag of it is needed")
    return made


def values_of(node: Node, reduced: Reduced, place: Place) -> Values:
    """An expression in components of the fields as a function at the points; the place is shown in messages.

    Raises:
        WrittenError: a derivative of a product is in it.
    """
    fields, inner = set(reduced.system.fields), list[Node]()
    functions = {*POINTWISE, "conj", "real", "imag", "cause", *reduced.system.functions}

    def at_points(part: Node) -> Node | None:
        if not degree(part, fields) and not holds_operator(part):
            return part
        is_function = isinstance(part, Call) and part.function in functions
        if is_function or isinstance(part, Comparison | Sum | Product | Quotient | Power | Negative):
            return None
        if degree(part, fields) != 1:
            raise place.error("a derivative of products at the points: only derivatives of fields are known")
        if depends_on_place(part):
            raise place.error("an operator on a place, such as x, at the points: only those on fields are known")
        if part not in inner:
            inner.append(part)
        return Slot("inner", inner.index(part))

    made = node.rewritten(at_points)
    refuse_both_kinds(inner, reduced.system)
    return Values(tuple(inner), made)


def sizes_of(text: str, reduced: Reduced, others: Mapping[str, str]) -> tuple[Part, ...]:
    """Size of a mean if nothing in it cancelled: the sum of these; empty for a mean that cannot cancel.

    Each term of the density counts with its modulus: a squared term as it is, others at each point.
    Names of other columns in the text of one mean their texts.
    """
    whole, parts = read_expression(text, reduced.system.functions), []
    density = in_scalars(_without_columns(whole, reduced, others), reduced)
    for term in density.terms if isinstance(density, Sum) else (density,):
        squares = squares_of(term, reduced)
        if squares is not None and all(square.left == square.right for square in squares):
            parts.append(Part(squares, "mean"))
        else:
            values = values_of(term, reduced, whole.place)
            parts.append(Part(Values(values.inner, Call("abs", (values.node,))), "mean"))
    return () if len(parts) == 1 and isinstance(parts[0].of, tuple) else tuple(parts)


def _without_columns(node: Node, reduced: Reduced, others: Mapping[str, str]) -> Node:
    """An expression with the texts of other columns in place of their names."""
    again = lambda text: _without_columns(read_expression(text, reduced.system.functions), reduced, others)  # noqa: E731
    return node.rewritten(
        lambda part: again(others[part.name]) if isinstance(part, Name) and part.name in others else None
    )


def _is_extreme(node: Node) -> bool:
    return isinstance(node, Call) and node.function in EXTREMES and len(node.arguments) == 1


def _mean(density: Node, reduced: Reduced) -> Mean:
    squares = squares_of(density, reduced)
    if squares is not None:
        return squares
    plan = plan_as_written({"": density}, reduced.system.fields, complex_among_real(reduced.system))
    refuse_complex_of_real(plan, reduced.system)
    refuse_both_kinds(map(plan.without_slots, plan.inner), reduced.system)
    return plan
