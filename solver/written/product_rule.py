"""Derivatives of products along one axis, written out by the product rule as products of derivatives.

Between walls a product has more polynomials than the modes keep, and its derivative needs them all. Products of
derivatives need none of them.
"""

from __future__ import annotations

from collections.abc import Callable

from solver.written.components import ONE, ZERO, minus, plus, times
from solver.written.plan import Planner
from solver.written.symbols import derivative_of, outermost
from solver.written.tree import Call, Derivative, Name, Negative, Node, Number, Power, Product, Quotient, Sum
from solver.written.vocabulary import COORDINATES


def by_product_rule(node: Node, planner: Planner, dimensions: int) -> Node:
    """A right-hand side without derivatives of products along the last axis, where the product rule removes them.

    Args:
        node: the right-hand side, written out in components.
        planner: finds the parts that are linear in the fields.
        dimensions: number of dimensions of space.

    Returns:
        The same function of the fields. Derivatives of functions such as `sin(u)` stay.
    """
    axis = dimensions - 1
    again = lambda part: by_product_rule(part, planner, dimensions)  # noqa: E731
    if planner.is_spectral(node):
        return node
    if isinstance(node, Call) and node.function == "lap" and len(node.arguments) == 1:
        of = node.arguments[0]
        return plus(again(derivative_of(derivative_of(of, i), i)) for i in range(dimensions))
    node = node.map_children(again)
    if isinstance(node, Derivative) and node.axis == axis and not planner.is_spectral(node.of):
        return _Slopes(planner, axis).of(node.of) or node
    return _over_terms(node, planner)


def _over_terms(node: Node, planner: Planner) -> Node:
    """A constant times a sum as a sum: some of its terms may be products, and others derivatives of products."""
    if isinstance(node, Sum):
        return plus(node.terms)
    layer = outermost(node, planner.fields)
    if layer is None or layer.kind == "operator" or not isinstance(layer.of, Sum):
        return node
    return plus(layer.around(term) for term in layer.of.terms)


class _Slopes:
    """Derivatives along an axis by the rules of sums, products, quotients and powers."""

    def __init__(self, planner: Planner, axis: int) -> None:
        self.planner, self.axis = planner, axis

    def of(self, node: Node) -> Node | None:
        """The derivative of an expression; None where no rule gives it."""
        if self.planner.is_constant(node):
            return ZERO
        if isinstance(node, Name) and node.name in COORDINATES:
            return ONE if COORDINATES[node.name] == self.axis else ZERO
        if not self.planner.is_constant(node) and self.planner.is_spectral(node):
            return derivative_of(node, self.axis)
        return self._of_operation(node)

    def _of_operation(self, node: Node) -> Node | None:
        match node:
            case Sum(terms):
                return self._made(lambda *slopes: plus(slopes), *terms)
            case Negative(of):
                return self._made(minus, of)
            case Product(left, right):
                return self._made(lambda a, b: plus((times(a, right), times(left, b))), left, right)
            case Quotient(above, below):
                return self._made(lambda a, b: _quotient(above, below, a, b), above, below)
            case Power(base, Number(exponent) as power):
                lower = base if exponent == 2 else Power(base, Number(exponent - 1))
                return self._made(lambda slope: times(power, times(lower, slope)), base)
            case Derivative(of, axis):
                return self._made(lambda slope: derivative_of(slope, axis), of)
            case Call("cause" | "explicit" as function, (*label, of)):
                return self._made(lambda slope: Call(function, (*label, slope)), of)
        return None

    def _made(self, make: Callable[..., Node], *parts: Node) -> Node | None:
        slopes = [self.of(part) for part in parts]
        return None if None in slopes else make(*slopes)


def _quotient(above: Node, below: Node, of_above: Node, of_below: Node) -> Node:
    """a'/b − a b'/b²."""
    first = ZERO if of_above == ZERO else Quotient(of_above, below)
    second = times(above, of_below)
    return plus((first, ZERO if second == ZERO else minus(Quotient(second, times(below, below)))))
