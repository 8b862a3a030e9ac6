"""A plan: the scalars taken to the points, the products there, and the use of the products.

Inner fields are linear in the fields: one inverse transform takes each to the points. Products are functions of these
at each point: one forward transform takes each back. The rest is linear in the products, mode by mode. Where an
operator has acted on a product that is needed inside another one, the result is an inner field of a later level.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from solver.written.components import minus, plus
from solver.written.degrees import is_constant, is_scalar_of
from solver.written.elimination import replaced
from solver.written.symbols import outermost
from solver.written.tree import Negative, Node, Slot, Sum

Row = TypeVar("Row")


@dataclass(frozen=True)
class Plan(Generic[Row]):
    """A way to evaluate right-hand sides with transforms.

    Args:
        inner: the scalars that are taken to the points: linear in the fields, and in products of lower levels.
        products: the scalars that are taken back: functions of inner fields, parameters and coordinates at a point.
        rows: the right-hand sides, linear in the fields and in products; a constant in them belongs to the mean mode.
    """

    inner: tuple[Node, ...]
    products: tuple[Node, ...]
    rows: Mapping[Row, Node]

    @property
    def transforms(self) -> tuple[int, int]:
        """Numbers of inverse and of forward transforms of one scalar."""
        return len(self.inner), len(self.products)

    def held(self, slot: Slot) -> Node:
        """The expression that a slot means."""
        return (self.inner if slot.holds == "inner" else self.products)[slot.number]

    def without_slots(self, node: Node) -> Node:
        """An expression with its slots replaced by their expressions."""
        return replaced(node, {slot: self.without_slots(self.held(slot)) for slot in node.slots})

    def level(self, slot: Slot) -> int:
        """0 of an inner field that needs no product; products are one level above their inner fields."""
        below = [self.level(part) for part in self.held(slot).slots]
        return max(below, default=0) + (1 if slot.holds == "product" else 0)

    def levels(self) -> list[tuple[list[int], list[int]]]:
        """The numbers of inner fields and of products that can be transformed together, one level after another.

        An inner field that products of two levels hold is taken to the points for each of them.
        """
        products = [self.level(Slot("product", i)) for i in range(len(self.products))]
        levels = []
        for n in range(max(products, default=0)):
            of_level = [i for i, level in enumerate(products) if level == n + 1]
            slots = {slot for i in of_level for slot in self.products[i].slots}
            levels.append((sorted(slot.number for slot in slots), of_level))
        return levels


def plan_as_written(rows: Mapping[Row, Node], fields: Collection[str], separate: Collection[str] = ()) -> Plan[Row]:
    """The plan that follows the text: no identity is used, so that aliasing is the text's, too.

    Equal inner fields and equal products are one; terms that are multiplied at the points and then added are one
    product.

    Args:
        rows: the right-hand sides, written out in components.
        fields: names of what they are functions of: fields and unknowns.
        separate: the fields that no inner field holds together with others: complex fields among real ones.
    """
    planner = Planner(fields, separate)
    in_modes = {row: planner.in_modes(node) for row, node in rows.items()}
    return Plan(tuple(planner.inner), tuple(planner.products), in_modes)


class Planner:
    """Numbers inner fields and products, in the order in which they are met."""

    def __init__(self, fields: Collection[str], separate: Collection[str] = ()) -> None:
        self.fields, self.separate = fields, separate
        self.inner: dict[Node, int] = {}
        self.products: dict[Node, int] = {}

    def is_constant(self, node: Node) -> bool:
        return is_constant(node, self.fields)

    def is_spectral(self, node: Node) -> bool:
        """True if a node can be worked out mode by mode: linear in the fields with constant coefficients."""
        if self.is_constant(node):
            return True
        if isinstance(node, Sum):
            return all(map(self.is_spectral, node.terms))
        layer = outermost(node, self.fields)
        return is_scalar_of(node, self.fields) if layer is None else self.is_spectral(layer.of)

    def has_operator(self, node: Node) -> bool:
        """True if an operator that acts on modes stands outermost, behind signs, constants, remarks and sums."""
        if isinstance(node, Sum):
            return all(self.is_spectral(term) or self.has_operator(term) for term in node.terms)
        layer = outermost(node, self.fields)
        return layer is not None and (layer.kind == "operator" or self.has_operator(layer.of))

    def in_modes(self, node: Node) -> Node:
        """The node with every product in it as a slot: linear in fields and products."""
        if self.is_spectral(node):
            return node
        if isinstance(node, Sum):
            return self.sum_in_modes(node.terms)
        layer = outermost(node, self.fields)
        return self.as_product(self.at_points(node)) if layer is None else layer.around(self.in_modes(layer.of))

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
        in_modes = [term for term in terms if self.is_spectral(term) or self.has_operator(term)]
        together = [term for term in terms if term not in in_modes]
        if len(together) > 1:
            return plus([*map(self.in_modes, in_modes), self.as_product(plus(map(self.at_points, together)))])
        return plus(map(self.in_modes, terms))

    def at_points(self, node: Node) -> Node:
        """The node as a function of inner fields at a point."""
        if self.is_constant(node):
            return node
        if self.is_spectral(node) or self.has_operator(node):
            return self.as_inner(node)
        return node.map_children(self.at_points)

    def is_apart(self, node: Node) -> bool:
        """True if a node holds a separate field."""
        return not node.names.isdisjoint(self.separate)

    def as_inner(self, node: Node) -> Node:
        """An inner field; signs and constants stay at the points, so that equal fields are one."""
        for is_other in (self.is_constant, self.is_apart):
            if isinstance(node, Sum) and len({is_other(term) for term in node.terms}) > 1:
                parts = [[term for term in node.terms if is_other(term) is kind] for kind in (True, False)]
                return plus(self.at_points(plus(part)) for part in parts)
        layer = outermost(node, self.fields)
        if layer is None or layer.kind == "operator":
            return _numbered(self.inner, self.in_modes(node), "inner")
        at_points = self.at_points(layer.of)
        return at_points if layer.kind == "remark" else layer.around(at_points)


def _numbered(slots: dict[Node, int], node: Node, holds: str) -> Node:
    """The slot of a node: its own, or the slot of an equal node."""
    return Slot(holds, slots.setdefault(node, len(slots)))
