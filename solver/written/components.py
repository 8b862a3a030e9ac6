"""Expressions of vectors and tensors, written out as expressions of their scalar components.

The result has sums, products, quotients and powers of scalars, functions of them, derivatives along an axis, and the
operators that act on each scalar by itself: `lap`, `inverse_lap`, `fraclap`, `helmholtz`, `mean`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from solver.written.kinds import SCALAR, Kind
from solver.written.tree import (
    Call,
    Comparison,
    Component,
    Contraction,
    Derivative,
    Entry,
    Name,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Solved,
    Sum,
)
from solver.written.vocabulary import COORDINATES, DIRECTIONS, UNIT_VECTORS

Index: TypeAlias = tuple[int, ...]

ZERO, ONE = Number(0), Number(1)


@dataclass(frozen=True)
class Components:
    """The scalars that an expression consists of.

    Args:
        order: number of indices.
        entries: the scalar of each index, in their order.
    """

    order: int
    entries: Mapping[Index, Node]

    def each(self, change: Callable[[Node], Node]) -> Components:
        """The same with every scalar changed."""
        return Components(self.order, {index: change(node) for index, node in self.entries.items()})

    @property
    def scalar(self) -> Node:
        """The one entry of a scalar."""
        return self.entries[()]


def written_out(node: Node, kinds: Mapping[str, Kind], dimensions: int) -> Components:
    """The scalar components of an expression whose kind was checked.

    Args:
        node: the expression, with definitions written out.
        kinds: kinds of fields, unknowns and parameters, by name; constants need none.
        dimensions: number of dimensions of space.
    """
    return _Writer(kinds, dimensions).all(node)


# ---- arithmetic that keeps no zeros -------------------------------------------------------------------------------


def plus(nodes: Iterable[Node]) -> Node:
    """The sum, with its numbers as one, and in an order that does not depend on how it was written."""
    counts: dict[Node, complex] = {}
    for node in nodes:
        for term in node.terms if isinstance(node, Sum) else (node,):
            count, one = _counted(term)
            counts[one] = counts.get(one, 0) + count
    terms = sorted((_times_number(count, one) for one, count in counts.items() if count != 0), key=repr)
    return Sum(tuple(terms)) if len(terms) > 1 else terms[0] if terms else ZERO


def _counted(term: Node) -> tuple[complex, Node]:
    """A term as a number times what has no number before it."""
    if isinstance(term, Negative):
        count, one = _counted(term.of)
        return -count, one
    if isinstance(term, Number):
        return term.value, ONE
    if not isinstance(term, Product):
        return complex(1), term
    parts = factors(term)
    count = math.prod((part.value for part in parts if isinstance(part, Number)), start=complex(1))
    return count, times_all(part for part in parts if not isinstance(part, Number))


def _times_number(count: complex, one: Node) -> Node:
    return one if count == 1 else times(Number(count), one)


def minus(node: Node) -> Node:
    if isinstance(node, Number):
        return Number(-node.value) if node.value else node
    if isinstance(node, Sum):
        return plus(map(minus, node.terms))
    return node.of if isinstance(node, Negative) else Negative(node)


def times(left: Node, right: Node) -> Node:
    """The product: its sign in front, its numbers as one, in an order that does not depend on how it was written."""
    if ZERO in (left, right):
        return ZERO
    if isinstance(left, Negative) or isinstance(right, Negative):
        is_negative = isinstance(left, Negative) is not isinstance(right, Negative)
        plain = times(*(side.of if isinstance(side, Negative) else side for side in (left, right)))
        return minus(plain) if is_negative else plain
    parts = [*factors(left), *factors(right)]
    value = math.prod((factor.value for factor in parts if isinstance(factor, Number)), start=complex(1))
    if value.imag == 0 and value.real < 0:
        return minus(times(Number(-value), times_all(factor for factor in parts if not isinstance(factor, Number))))
    number = Number(value)
    parts = [number, *(factor for factor in parts if not isinstance(factor, Number))]
    parts = sorted((factor for factor in parts if factor != ONE), key=repr)
    whole = parts[0] if parts else ONE
    for factor in parts[1:]:
        whole = Product(whole, factor)
    return whole


def times_all(nodes: Iterable[Node]) -> Node:
    """The product of all; 1 of an empty list."""
    whole: Node = ONE
    for node in nodes:
        whole = times(whole, node)
    return whole


def factors(node: Node) -> list[Node]:
    """The factors of a product, one after another."""
    return [*factors(node.left), *factors(node.right)] if isinstance(node, Product) else [node]


# ---- from vectors to scalars --------------------------------------------------------------------------------------


class _Writer:
    def __init__(self, kinds: Mapping[str, Kind], dimensions: int) -> None:
        self.kinds, self.axes = kinds, range(dimensions)

    def all(self, node: Node) -> Components:  # noqa: C901 (one case for each kind of node)
        match node:
            case Number():
                return Components(0, {(): node})
            case Name():
                return self.name(node)
            case Negative(of):
                return self.all(of).each(minus)
            case Sum(terms):
                return self.added([self.all(term) for term in terms])
            case Product(left, right):
                return self.outer(self.all(left), self.all(right))
            case Quotient(above, below):
                divisor = self.all(below).scalar
                return self.all(above).each(lambda entry: ZERO if entry == ZERO else Quotient(entry, divisor))
            case Power(base, exponent):
                return Components(0, {(): Power(self.all(base).scalar, self.all(exponent).scalar)})
            case Contraction(left, right):
                return self.contracted(self.all(left), self.all(right))
            case Component(of, direction):
                return self.taken(self.all(of), self.axes[-1] if direction == "up" else DIRECTIONS.index(direction))
            case Call():
                return self.call(node)
        raise TypeError(f"{type(node).__name__} is no part of a checked expression")

    def name(self, node: Name) -> Components:
        """A field, an unknown, a parameter, or a constant."""
        if node.name in UNIT_VECTORS and node.name not in self.kinds:
            along = self.axes[UNIT_VECTORS[node.name]]
            return Components(1, {(i,): ONE if i == along else ZERO for i in self.axes})
        kind = self.kinds.get(node.name, SCALAR)
        if kind.order == 0:
            return Components(0, {(): Name(node.name)})
        held = lambda index: tuple(sorted(index)) if kind.is_symmetric else index  # noqa: E731
        indices = product(self.axes, repeat=kind.order)
        return Components(kind.order, {index: Entry(node.name, held(index)) for index in indices})

    def added(self, parts: list[Components]) -> Components:
        return Components(parts[0].order, {i: plus(part.entries[i] for part in parts) for i in parts[0].entries})

    def outer(self, left: Components, right: Components) -> Components:
        """Every entry of one times every entry of the other; the product where one is a scalar."""
        entries = {(*i, *j): times(a, b) for i, a in left.entries.items() for j, b in right.entries.items()}
        return Components(left.order + right.order, entries)

    def contracted(self, left: Components, right: Components) -> Components:
        """Summed over the last index of one and the first of the other."""
        rows, columns = {i[:-1] for i in left.entries}, {j[1:] for j in right.entries}
        entries = {
            (*i, *j): plus(times(left.entries[(*i, k)], right.entries[(k, *j)]) for k in self.axes)
            for i in sorted(rows)
            for j in sorted(columns)
        }
        return Components(left.order + right.order - 2, entries)

    def taken(self, of: Components, along: int) -> Components:
        """An entry of the first index."""
        return Components(of.order - 1, {i[1:]: node for i, node in of.entries.items() if i[0] == along})

    # ---- operators and functions --------------------------------------------------------------------------------

    def call(self, node: Call) -> Components:
        name, arguments = node.function, node.arguments
        if name == "cause":
            return self.all(arguments[1]).each(lambda entry: Call("cause", (arguments[0], entry)))
        if name == "where":
            return self.chosen(node)
        if name == "div" and isinstance(inner := arguments[0], Call) and inner.function == "grad":
            return self.call(Call("lap", inner.arguments, place=node.place))
        if hasattr(self, f"_{name}"):
            return getattr(self, f"_{name}")(*map(self.all, arguments))  # type: ignore[no-any-return]
        if name in ("lap", "inverse_lap") and arguments[1:]:
            axes = [COORDINATES[axis.name] for axis in arguments[1:] if isinstance(axis, Name)]
            second = lambda node: plus(derivative(derivative(node, axis), axis) for axis in axes)  # noqa: E731
            symbol = plus(Derivative(Derivative(ONE, axis), axis) for axis in axes)
            by = second if name == "lap" else lambda entry: ZERO if entry == ZERO else Solved(entry, symbol)
            return self.all(arguments[0]).each(by)
        if name in ("dx", "dy", "dz"):
            return self.all(arguments[0]).each(lambda entry: derivative(entry, "xyz".index(name[1])))
        others = (
            arguments[1:] if name in ("mean", "symbol") else tuple(self.all(other).scalar for other in arguments[1:])
        )
        return self.all(arguments[0]).each(lambda entry: Call(name, (entry, *others)))

    def chosen(self, node: Call) -> Components:
        """`where`: one condition for all components."""
        condition, *values = node.arguments
        assert isinstance(condition, Comparison)
        sides = Comparison(self.all(condition.left).scalar, condition.sign, self.all(condition.right).scalar)
        first, second = map(self.all, values)
        entries = {i: Call("where", (sides, first.entries[i], second.entries[i])) for i in first.entries}
        return Components(first.order, entries)

    def _grad(self, of: Components) -> Components:
        entries = {(a, *i): derivative(node, a) for a in self.axes for i, node in of.entries.items()}
        return Components(of.order + 1, entries)

    def _div(self, of: Components) -> Components:
        rest = sorted({i[1:] for i in of.entries})
        entries = {i: plus(derivative(of.entries[(a, *i)], a) for a in self.axes) for i in rest}
        return Components(of.order - 1, entries)

    def turned(self, pair: Callable[[int, int], Node]) -> Components:
        """The antisymmetric part in two indices: a vector in three dimensions, a scalar in two."""
        component = lambda i, j: plus((pair(i, j), minus(pair(j, i))))  # noqa: E731
        if len(self.axes) == 2:
            return Components(0, {(): component(0, 1)})
        return Components(1, {(i,): component((i + 1) % 3, (i + 2) % 3) for i in self.axes})

    def _curl(self, of: Components) -> Components:
        return self.turned(lambda a, i: derivative(of.entries[(i,)], a))

    def _cross(self, left: Components, right: Components) -> Components:
        return self.turned(lambda i, j: times(left.entries[(i,)], right.entries[(j,)]))

    def _perp(self, of: Components) -> Components:
        return Components(1, {(0,): minus(derivative(of.scalar, 1)), (1,): derivative(of.scalar, 0)})

    _dot, _outer = contracted, outer

    def _trans(self, of: Components) -> Components:
        return Components(2, {(i, j): of.entries[(j, i)] for i, j in of.entries})

    def _trace(self, of: Components) -> Components:
        return Components(0, {(): plus(of.entries[(i, i)] for i in self.axes)})

    def _sym(self, of: Components) -> Components:
        half = lambda i, j: plus((of.entries[(i, j)], of.entries[(j, i)]))  # noqa: E731
        return Components(2, {(i, j): times(Number(0.5), half(i, j)) for i, j in of.entries})


def derivative(node: Node, axis: int) -> Node:
    """∂ along an axis, with a sign in front."""
    if isinstance(node, Number):
        return ZERO
    return minus(derivative(node.of, axis)) if isinstance(node, Negative) else Derivative(node, axis)
