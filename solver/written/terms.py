"""Right-hand sides, taken apart into terms: number · constants · symbol(product at the points).

A term that multiplies two fields, with operators before and after, may be written in another way: a search for a plan
does that. Any other expression at the points stays as it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from solver.written.components import ONE, times_all
from solver.written.degrees import degree, holds_place
from solver.written.plan import Planner
from solver.written.symbols import RandomModes, applied, outermost
from solver.written.tree import Call, Negative, Node, Number, Power, Product, Quotient, Solved, Sum

Made: TypeAlias = "tuple[Any, Any] | Node"

LARGEST_DENOMINATOR = 48


@dataclass(frozen=True)
class Weight:
    """A constant: a number times functions of parameters.

    Args:
        number: a fraction with a small denominator, as a float.
        constants: parameters and functions of them, in a fixed order; numbers that are no such fractions, too.
    """

    number: complex = 1.0
    constants: tuple[Node, ...] = ()

    def times(self, other: Weight) -> Weight:
        """The product of both."""
        return Weight(self.number * other.number, tuple(sorted(self.constants + other.constants, key=repr)))


@dataclass(frozen=True)
class Term:
    """weight · symbol(product at the points) in one row.

    Args:
        row: index of the right-hand side.
        weight: a constant.
        symbol: symbol of the operator that acts on each mode.
        made: at the points: a product of two linear expressions, or of two inner fields by their places in a
            dictionary; or whatever is written there.
    """

    row: int
    weight: Weight
    symbol: Node
    made: Made

    @property
    def key(self) -> tuple[Made, tuple[Node, ...]]:
        """The product, with the constants before it."""
        return self.made, self.weight.constants


def acting(terms: Iterable[Term], modes: RandomModes, with_constants: bool) -> list[np.ndarray]:
    """The operator before the product of each term, but for its number: at each mode, with constants if need be."""
    known: dict[Any, np.ndarray] = {}
    found = []
    for term in terms:
        key = term.symbol, term.weight.constants if with_constants else ()
        if key not in known:
            known[key] = modes.values(term.symbol) * modes.values(constant(Weight(1.0, key[1])))
        found.append(known[key])
    return found


def constant(weight: Weight) -> Node:
    """A weight as an expression."""
    return times_all([Number(weight.number), *weight.constants])


def is_plain(value: complex) -> bool:
    """True if a number is a fraction with a small denominator."""
    near = complex(float(Fraction(value.real).limit_denominator(LARGEST_DENOMINATOR)))
    return abs(value - near) <= 1e-15 * abs(value)


def weight_of(node: Node) -> Weight:
    """A constant expression as a weight."""
    match node:
        case Number(value) if is_plain(value):
            return Weight(value.real)
        case Negative(of):
            return Weight(-1.0).times(weight_of(of))
        case Product(left, right):
            return weight_of(left).times(weight_of(right))
        case Quotient(above, Number(value)) if value and is_plain(1 / value):
            return Weight((1 / value).real).times(weight_of(above))
        case Quotient(above, below) if above != ONE:
            return weight_of(above).times(Weight(1.0, (Quotient(ONE, below),)))
    return Weight(1.0, (node,))


class Terms:
    """All terms of right-hand sides that are written out in components.

    `quadratic` holds products of two linear factors, `others` terms that are made at the points as they are written,
    and `kept`, by row, terms that are worked out mode by mode or stay where they are written.
    """

    def __init__(self, rows: Sequence[Node], fields: Collection[str]) -> None:
        self.fields, self.planner = fields, Planner(fields)
        self.quadratic: list[Term] = []
        self.others: list[Term] = []
        self.kept: list[tuple[int, Node]] = []
        for row, node in enumerate(rows):
            self.split(row, node, Weight(), ONE)

    def split(self, row: int, node: Node, weight: Weight, symbol: Node) -> None:
        """Take a node apart that is in a row behind a constant and an operator."""
        if self.planner.is_spectral(node) or node.calls("mean"):
            self.kept.append((row, times_all([constant(weight), applied(symbol, node)])))
        elif isinstance(node, Sum):
            for term in node.terms:
                self.split(row, term, weight, symbol)
        elif (layer := outermost(node, self.fields)) is None:
            self.at_points(row, node, weight, symbol)
        elif layer.kind == "constant":
            self.split(row, layer.of, weight.times(weight_of(layer.symbol)), symbol)
        else:
            self.split(row, layer.of, weight, applied(layer.symbol, symbol))

    def at_points(self, row: int, node: Node, weight: Weight, symbol: Node) -> None:
        """The product at the points: two linear factors where it is so plain."""
        pairs = self.pairs(without_remarks(node)) if degree(node, self.fields) == 2 else []
        for own, factors in pairs:
            self.quadratic.append(Term(row, weight.times(own), symbol, factors))
        if not pairs:
            self.others.append(Term(row, weight, symbol, node))

    def pairs(self, node: Node) -> list[tuple[Weight, tuple[Node, Node]]]:
        """The products of two linear factors that a node is the sum of; none if it is no such sum."""
        match node:
            case Sum(terms):
                parts = list(map(self.pairs, terms))
                return [pair for part in parts for pair in part] if all(parts) else []
            case Power(base, Number(value)) if value == 2:
                return self.multiplied(base, base)
        if (layer := outermost(node, self.fields)) is not None and layer.kind == "constant":
            weight = weight_of(layer.symbol)
            return [(weight.times(own), factors) for own, factors in self.pairs(layer.of)]
        return self.multiplied(node.left, node.right) if isinstance(node, Product) else []

    def multiplied(self, left: Node, right: Node) -> list[tuple[Weight, tuple[Node, Node]]]:
        """Two factors, multiplied out where constants stand inside."""
        return [
            (a.times(b), (f, g) if repr(f) <= repr(g) else (g, f))
            for a, f in self.linear(left)
            for b, g in self.linear(right)
        ]

    def linear(self, node: Node) -> list[tuple[Weight, Node]]:
        """Linear expressions without constants, whose weighted sum a node is; none if it is not linear."""
        if not self.is_linear(node):
            return []
        if isinstance(node, Sum):
            parts = [part for term in node.terms for part in self.linear(term)]
        elif (layer := outermost(node, self.fields)) is None or isinstance(node, Solved):
            return [(Weight(), node)]
        elif layer.kind == "constant":
            weight = weight_of(layer.symbol)
            return [(weight.times(own), part) for own, part in self.linear(layer.of)]
        else:
            parts = [(own, layer.around(part)) for own, part in self.linear(layer.of)]
        return parts if any(weight.constants for weight, _ in parts) else [(Weight(), node)]

    def is_linear(self, node: Node) -> bool:
        return degree(node, self.fields) == 1 and self.planner.is_spectral(node) and not holds_place(node)


def without_remarks(node: Node) -> Node:
    remark = lambda part: isinstance(part, Call) and part.function in ("cause", "explicit")  # noqa: E731
    return node.rewritten(lambda part: without_remarks(part.children[-1]) if remark(part) else None)
