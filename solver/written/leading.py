"""The leading order of a symbol at a large wavenumber, in parameters as a text has them."""

from __future__ import annotations

from dataclasses import dataclass

from solver.written.components import ONE, ZERO, plus, times
from solver.written.tree import (
    Call,
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
from solver.written.vocabulary import POINTWISE


def leading_order(symbol: Node, axis: int) -> Node | None:
    """Coefficient of the highest power of a wavenumber along an axis, in parameters; None if it is not known.

    ∂ along the axis is the wavenumber, without its i. Terms of a sum that cancel at this order are not seen to: the
    caller compares with a number.
    """
    try:
        return _leading(symbol, axis).factor
    except _NotKnown:
        return None


class _NotKnown(Exception):
    """A symbol that is no sum of powers of the wavenumber."""


@dataclass(frozen=True)
class _Leading:
    """`factor` times the wavenumber to the power `order`."""

    order: float
    factor: Node

    def times(self, other: _Leading) -> _Leading:
        return _Leading(self.order + other.order, times(self.factor, other.factor))

    def over(self, other: _Leading) -> _Leading:
        if other.factor == ZERO:
            raise _NotKnown
        factor = self.factor if other.factor == ONE else Quotient(self.factor, other.factor)
        return _Leading(self.order - other.order, factor)


def _leading(symbol: Node, axis: int) -> _Leading:  # noqa: C901 (one case for each kind of node)
    within = lambda node: _leading(node, axis)  # noqa: E731
    match symbol:
        case Number() | Name() | Entry():
            return _Leading(0, symbol)
        case Negative(of):
            return _Leading(0, Number(-1)).times(within(of))
        case Sum(terms):
            parts = [within(term) for term in terms]
            highest = max((part.order for part in parts if part.factor != ZERO), default=0)
            return _Leading(highest, plus(part.factor for part in parts if part.order == highest))
        case Product(left, right):
            return within(left).times(within(right))
        case Quotient(left, right) | Solved(left, right):
            return within(left).over(within(right))
        case Power(base, Number()) if within(base).order == 0:
            return _Leading(0, symbol)
        case Derivative(of, along):
            return _Leading(1, ONE if along == axis else ZERO).times(within(of))
        case Call("lap", (of,)):
            return _Leading(2, ONE).times(within(of))
        case Call("inverse_lap", (of,)):
            return _Leading(-2, ONE).times(within(of))
        case Call("helmholtz", (of, _)):
            return _Leading(-2, Number(-1)).times(within(of))
        case Call(function, (of,)) if function in POINTWISE and within(of).order == 0:  # of numbers, not of fields
            return _Leading(0, symbol)
    raise _NotKnown
