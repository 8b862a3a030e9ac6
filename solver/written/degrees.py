"""The degree of an expression in a system's fields: 0 without fields, 1 if linear in them, and so on."""

from __future__ import annotations

import math
from collections.abc import Collection

from solver.written.tree import (
    Call,
    Contraction,
    Derivative,
    Entry,
    Name,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Solved,
)
from solver.written.vocabulary import ALONG, COORDINATES, OPERATORS, POINTWISE, WORDS

MULTIPLIED = ("dot", "cross", "outer")


def degree(node: Node, fields: Collection[str]) -> float:
    """The degree in the named fields, of an expression whose definitions are written out.

    Returns:
        A whole number; infinity if it is no polynomial in the fields, such as `sin(u)` and `1/u`.
    """
    match node:
        case Name(name) | Entry(name, _):
            return 1 if name in fields else 0
        case Product(left, right) | Contraction(left, right):
            return degree(left, fields) + degree(right, fields)
        case Quotient(above, below):
            return degree(above, fields) if degree(below, fields) == 0 else math.inf
        case Power(base, exponent):
            return _of_power(degree(base, fields), exponent)
        case Call(function):
            return _of_call(function, [degree(argument, fields) for argument in _expressions(node)])
    return max((degree(child, fields) for child in node.children), default=0)


def is_constant(node: Node, fields: Collection[str]) -> bool:
    """True if a node is a number for the whole box: without fields, coordinates, products and operators on modes."""
    return degree(node, fields) == 0 and not (holds_place(node) or node.slots or holds_operator(node))


def holds_operator(node: Node) -> bool:
    """True if anything in a node acts on modes."""
    return bool(node.calls(*OPERATORS)) or any(isinstance(part, Derivative | Solved) for part in node.walk())


def holds_place(node: Node) -> bool:
    return not node.names.isdisjoint(COORDINATES)


def holds_time(node: Node) -> bool:
    return "t" in node.names


def is_scalar_of(node: Node, fields: Collection[str]) -> bool:
    """True if a node is a scalar of one of the named fields."""
    return isinstance(node, Name | Entry) and node.name in fields


def _expressions(call: Call) -> tuple[Node, ...]:
    """The arguments of a call that are expressions: not the name of a cause, nor the axes of a mean."""
    if call.function == "cause":
        return call.arguments[1:]
    return call.arguments[:1] if call.function in ALONG else call.arguments


def _of_power(base: float, exponent: Node) -> float:
    if base == 0:
        return 0
    if isinstance(exponent, Number) and exponent.value.imag == 0 and exponent.value.real >= 0:
        power = exponent.value.real
        return base * power if power == int(power) else math.inf
    return math.inf


def _of_call(function: str, degrees: list[float]) -> float:
    if function in MULTIPLIED:
        return sum(degrees)
    if function not in WORDS:  # the user's own: of any form, and never worked out mode by mode
        return math.inf
    if function in POINTWISE:
        return 0 if not any(degrees) else math.inf
    if function in ("fraclap", "helmholtz") and degrees[1]:
        return math.inf
    return max(degrees, default=0)
