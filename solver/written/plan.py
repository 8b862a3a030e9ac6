"""A plan: which scalars are taken to the points, what is multiplied there, and what becomes of the products.

Inner fields are linear in the fields: one inverse transform takes each to the points. Products are functions of these
at each point: one forward transform takes each back. What is left is linear in the products, mode by mode. Where an
operator has acted on a product that is needed inside another one, the result is an inner field of a later level.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from solver.written.components import minus, plus, times
from solver.written.degrees import degree, holds_place
from solver.written.tree import Call, Derivative, Entry, Name, Negative, Node, Product, Quotient, Slot, Solved, Sum
from solver.written.vocabulary import OPERATORS

Row = TypeVar("Row")


@dataclass(frozen=True)
class Plan(Generic[Row]):
    """How right-hand sides are evaluated with transforms.

    Args:
        inner: the scalars that are taken to the points: linear in the fields, and in products of lower levels.
        products: the scalars that are taken back: functions of inner fields, parameters and coordinates at a point.
        rows: the right-hand sides, linear in the fields and in products; a constant in them is that of the mean mode.
    """

    inner: tuple[Node, ...]
    products: tuple[Node, ...]
    rows: Mapping[Row, Node]

    @property
    def transforms(self) -> tuple[int, int]:
        """Numbers of inverse and of forward transforms of one scalar."""
        return len(self.inner), len(self.products)

    def level(self, slot: Slot) -> int:
        """0 of an inner field that needs no product; products are one level above their inner fields."""
        node = (self.inner if slot.holds == "inner" else self.products)[slot.number]
        below = [self.level(part) for part in node.walk() if isinstance(part, Slot)]
        return max(below, default=0) + (1 if slot.holds == "product" else 0)

    def levels(self) -> list[tuple[list[int], list[int]]]:
        """The numbers of inner fields and of products that can be transformed together, one level after another.

        An inner field that products of two levels hold is taken to the points for each of them.
        """
        products = [self.level(Slot("product", i)) for i in range(len(self.products))]
        levels = []
        for n in range(max(products, default=0)):
            of_level = [i for i, level in enumerate(products) if level == n + 1]
            slots = {part for i in of_level for part in self.products[i].walk() if isinstance(part, Slot)}
            levels.append((sorted(slot.number for slot in slots), of_level))
        return levels


def plan_as_written(rows: Mapping[Row, Node], fields: Collection[str], apart: Collection[str] = ()) -> Plan[Row]:
    """The plan that does what stands in the text: no identity is used, so that aliasing is that of the text, too.

    Equal inner fields and equal products are one; terms that are multiplied at the points and then added are one
    product.

    Args:
        rows: the right-hand sides, written out in components.
        fields: names of what they are functions of: fields and unknowns.
        apart: those of them that no inner field holds beside others: complex ones, beside real ones.
    """
    planner = Planner(fields, apart)
    in_modes = {row: planner.in_modes(node) for row, node in rows.items()}
    return Plan(tuple(planner.inner), tuple(planner.products), in_modes)


def is_constant(node: Node, fields: Collection[str]) -> bool:
    """Whether a node is a number for the whole box: without fields, coordinates and products."""
    return degree(node, fields) == 0 and not holds_place(node) and not any(isinstance(p, Slot) for p in node.walk())


class Planner:
    """Numbers inner fields and products, in the order in which they are met."""

    def __init__(self, fields: Collection[str], apart: Collection[str] = ()) -> None:
        self.fields, self.apart = fields, apart
        self.inner: dict[Node, int] = {}
        self.products: dict[Node, int] = {}

    def is_constant(self, node: Node) -> bool:
        """Whether a node is a number for the whole box."""
        return is_constant(node, self.fields)

    def is_spectral(self, node: Node) -> bool:
        """Whether a node can be worked out mode by mode: linear in the fields with constant coefficients."""
        if self.is_constant(node):
            return True
        match node:
            case Sum(terms):
                return all(map(self.is_spectral, terms))
            case Negative(of) | Derivative(of, _):
                return self.is_spectral(of)
            case Product(left, right):
                return any(self.is_constant(side) for side in (left, right)) and all(
                    map(self.is_spectral, (left, right))
                )
            case Quotient(above, below):
                return self.is_constant(below) and self.is_spectral(above)
            case Call("cause", (_, term)) | Call("explicit", (term,)):
                return self.is_spectral(term)
            case Call(function, (of, *_)) if function in OPERATORS:
                return self.is_spectral(of)
            case Solved(of, _):
                return self.is_spectral(of)
        return degree(node, self.fields) == 1 and not node.children

    def has_operator(self, node: Node) -> bool:
        """Whether an operator that acts on modes stands outermost, behind signs, constants and remarks."""
        match node:
            case Negative(of):
                return self.has_operator(of)
            case Product(left, right):
                sides = ((left, right), (right, left))
                return any(self.is_constant(factor) and self.has_operator(rest) for factor, rest in sides)
            case Quotient(above, below):
                return self.is_constant(below) and self.has_operator(above)
            case Call("cause" | "explicit", arguments):
                return self.has_operator(arguments[-1])
        return isinstance(node, Derivative | Solved) or (isinstance(node, Call) and node.function in OPERATORS)

    def in_modes(self, node: Node) -> Node:
        """The node with every product in it as a slot: linear in fields and products."""
        if self.is_spectral(node):
            return node
        match node:
            case Sum(terms):
                return self.sum_in_modes(terms)
            case Negative(of):
                return Negative(self.in_modes(of))
            case Derivative(of, axis):
                return Derivative(self.in_modes(of), axis)
            case Product(left, right) if self.is_constant(left) or self.is_constant(right):
                constant, other = (left, right) if self.is_constant(left) else (right, left)
                return times(constant, self.in_modes(other))
            case Quotient(above, below) if self.is_constant(below):
                return Quotient(self.in_modes(above), below)
            case Call("cause" | "explicit"):
                return Call(node.function, (*node.arguments[:-1], self.in_modes(node.arguments[-1])))
            case Call(function, (of, *others)) if function in OPERATORS:
                return Call(function, (self.in_modes(of), *others))
            case Solved(of, by):
                return Solved(self.in_modes(of), by)
        return self.as_product(self.at_points(node))

    def as_product(self, at_points: Node) -> Node:
        """A product; its sign stays in the modes, so that equal products are one."""
        if isinstance(at_points, Negative):
            return Negative(self.as_product(at_points.of))
        opposite = plus(map(minus, at_points.terms)) if isinstance(at_points, Sum) else at_points
        if repr(opposite) < repr(at_points):
            return Negative(_numbered(self.products, opposite, "product"))
        return _numbered(self.products, at_points, "product")

    def sum_in_modes(self, terms: tuple[Node, ...]) -> Node:
        """A sum whose terms at the points are one product."""
        apart = [term for term in terms if self.is_spectral(term) or self.has_operator(term)]
        together = [term for term in terms if term not in apart]
        if len(together) > 1:
            return plus([*map(self.in_modes, apart), self.as_product(plus(map(self.at_points, together)))])
        return plus(map(self.in_modes, terms))

    def at_points(self, node: Node) -> Node:
        """The node as a function of inner fields at a point."""
        if self.is_constant(node):
            return node
        if self.is_spectral(node) or self.has_operator(node):
            return self.as_inner(node)
        if isinstance(node, Name):  # a coordinate
            return node
        return node.map_children(self.at_points)

    def is_apart(self, node: Node) -> bool:
        """Whether a node holds a field that stands apart."""
        return any(isinstance(part, Name | Entry) and part.name in self.apart for part in node.walk())

    def varying(self, terms: tuple[Node, ...]) -> Node:
        """The terms of a sum that are no constants."""
        return plus(term for term in terms if not self.is_constant(term))

    def as_inner(self, node: Node) -> Node:
        """An inner field; signs and constants stay at the points, so that equal fields are one."""
        match node:
            case Sum(terms) if any(map(self.is_constant, terms)):
                return plus(map(self.at_points, (plus(filter(self.is_constant, terms)), self.varying(terms))))
            case Sum(terms) if len({self.is_apart(term) for term in terms}) > 1:
                kinds = [[term for term in terms if self.is_apart(term) is kind] for kind in (False, True)]
                return plus(self.at_points(plus(kind)) for kind in kinds)
            case Negative(of):
                return Negative(self.at_points(of))
            case Product(left, right) if self.is_constant(left) or self.is_constant(right):
                return times(self.at_points(left), self.at_points(right))
            case Quotient(above, below) if self.is_constant(below):
                return Quotient(self.at_points(above), below)
            case Call("cause" | "explicit", arguments):
                return self.at_points(arguments[-1])
        return _numbered(self.inner, self.in_modes(node), "inner")


def _numbered(slots: dict[Node, int], node: Node, holds: str) -> Node:
    """The slot of a node: its own, or that of an equal one."""
    return Slot(holds, slots.setdefault(node, len(slots)))
