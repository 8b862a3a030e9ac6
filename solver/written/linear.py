"""The linear part of right-hand sides: the terms of degree one in the fields, with the same coefficients everywhere.

It becomes a symbol for each pair of a row and a scalar that it acts on: an expression in which the scalar is 1, ∂ along
an axis means i k, and `lap` for −k². The rest is for a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from solver.written.components import ONE, ZERO, factors, minus, plus, times, times_all
from solver.written.degrees import degree, holds_place, holds_time, is_constant, is_scalar_of
from solver.written.symbols import outermost
from solver.written.tree import (
    Call,
    Derivative,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
)

Row = TypeVar("Row")
IN_TIME = "its coefficient depends on time"


@dataclass(frozen=True)
class LinearPart(Generic[Row]):
    """Right-hand sides, taken apart.

    Args:
        symbols: by row and by the scalar that it acts on; pairs that are not there are zero.
        rest: terms of each row that remain.
        left_out: terms of degree one in the rest, each with the reason.
    """

    symbols: Mapping[tuple[Row, Node], Node]
    rest: Mapping[Row, Node]
    left_out: Sequence[tuple[Node, str]]


def linear_part(rows: Mapping[Row, Node], fields: Collection[str]) -> LinearPart[Row]:
    """Take the linear part out of right-hand sides.

    Args:
        rows: written out in components.
        fields: names of what they are functions of.
    """
    symbols, rest, left_out = {}, {}, []
    for row, node in rows.items():
        linear, rest[row] = _taken_apart(node, fields)
        left_out += [(term, reason) for term in _terms(rest[row]) if (reason := _reason(term, fields))]
        for scalar in dict.fromkeys(part for part in linear.walk() if is_scalar_of(part, fields)):
            symbols[row, scalar] = coefficient(linear, scalar)
    return LinearPart(symbols, rest, left_out)


def _taken_apart(node: Node, fields: Collection[str]) -> tuple[Node, Node]:
    """The linear part of a node, and the rest."""

    def take(part: Node) -> tuple[Node, Node] | None:
        if is_scalar_of(part, fields):
            return part, ZERO
        multiplied_out = _multiplied_out(part, fields)
        if multiplied_out is not None:
            return taken_apart(multiplied_out, fields, take)
        return None if isinstance(part, Sum) or not holds_time(part) or _is_below(part) else (ZERO, part)

    def _is_below(part: Node) -> bool:
        """True if the time is inside the outermost operator alone."""
        layer = outermost(part, fields)
        return layer is not None and not holds_time(layer.symbol)

    return taken_apart(node, fields, take)


def _multiplied_out(node: Node, fields: Collection[str]) -> Node | None:
    """A product in which one factor is a sum with constants, as the sum of two products; None for any other node."""
    if isinstance(node, Power) and _has_constants(node.base, fields) and _whole(node.exponent) > 1:
        lower = _whole(node.exponent) - 1
        node = times(node.base, node.base if lower == 1 else Power(node.base, Number(lower)))
    if not isinstance(node, Product) or is_constant(node, fields):
        return None
    parts = factors(node)
    for i, factor in enumerate(parts):
        others = times_all(parts[:i] + parts[i + 1 :])
        if _has_constants(factor, fields) and not is_constant(others, fields):
            assert isinstance(factor, Sum)
            constants = plus(term for term in factor.terms if is_constant(term, fields))
            varying = plus(term for term in factor.terms if not is_constant(term, fields))
            return plus((times(constants, others), times(varying, others)))
    return None


def _has_constants(node: Node, fields: Collection[str]) -> bool:
    is_sum = isinstance(node, Sum) and not is_constant(node, fields)
    return is_sum and any(is_constant(term, fields) for term in node.children)


def _whole(exponent: Node) -> int:
    """A whole number that is an exponent; 0 for any other."""
    value = exponent.value if isinstance(exponent, Number) else complex(0)
    return int(value.real) if value.imag == 0 and value.real == int(value.real) else 0


def taken_apart(
    node: Node, fields: Collection[str], take: Callable[[Node], tuple[Node, Node] | None]
) -> tuple[Node, Node]:
    """Two parts of an expression whose sum it is, told apart through sums, constant factors and operators on modes.

    Args:
        node: written out in components.
        fields: names of what it is a function of.
        take: is asked first of every node; the two parts of the node, or None to look below it.

    Returns:
        What `take` puts first, with all that acts on it, and the rest, to which belongs what nothing takes.
    """
    if (parts := take(node)) is not None:
        return parts
    if isinstance(node, Sum):
        pairs = [taken_apart(term, fields, take) for term in node.terms]
        return plus(pair[0] for pair in pairs), plus(pair[1] for pair in pairs)
    layer = outermost(node, fields)
    if layer is None or node == Call("explicit", (layer.of,)):
        return ZERO, node
    is_zero = lambda part: part == ZERO or (isinstance(node, Derivative) and isinstance(part, Number))  # noqa: E731
    linear, rest = (ZERO if is_zero(part) else layer.around(part) for part in taken_apart(layer.of, fields, take))
    return linear, rest


SLOPES: Mapping[str, Callable[[Node], Node]] = {
    "sin": lambda of: Call("cos", (of,)),
    "cos": lambda of: minus(Call("sin", (of,))),
    "exp": lambda of: Call("exp", (of,)),
    "log": lambda of: Quotient(ONE, of),
    "sqrt": lambda of: Quotient(Number(0.5), Call("sqrt", (of,))),
    "tanh": lambda of: plus((ONE, minus(Power(Call("tanh", (of,)), Number(2))))),
}


class NoSlope(Exception):
    """An expression has no derivative that is known here."""


def coefficient(node: Node, scalar: Node) -> Node:  # noqa: C901 (one case for each kind of node)
    """∂ node/∂ scalar: of a linear expression the symbol by which it holds the scalar.

    Of |f|, f*, and the real and imaginary part it is the size of f, which has the same modulus or a larger one.

    Raises:
        NoSlope: a function whose derivative is not known here.
    """
    if node == scalar:
        return ONE
    if scalar not in node.walk():
        return ZERO
    of = lambda part: coefficient(part, scalar)  # noqa: E731
    match node:
        case Sum(terms):
            return plus(map(of, terms))
        case Product(left, right):
            return plus((times(of(left), right), times(left, of(right))))
        case Quotient(above, below) if scalar not in below.walk():
            return Quotient(of(above), below)
        case Quotient(above, below):
            whole = plus((times(of(above), below), minus(times(above, of(below)))))
            return ZERO if whole == ZERO else Quotient(whole, times(below, below))
        case Power(base, Number(exponent)):
            lower = Number(exponent - 1)
            return times(times(Number(exponent), base if lower == ONE else Power(base, lower)), of(base))
        case Power(base, exponent) if scalar not in exponent.walk():
            return times(times(exponent, Power(base, plus((exponent, minus(ONE))))), of(base))
        case Call("where", (condition, first, second)):
            return Call("where", (condition, of(first), of(second)))
        case Call("abs" | "conj" | "real" | "imag" | "cause" | "explicit", arguments):
            return of(arguments[-1])
    layer = outermost(node, ())
    if layer is not None:
        return layer.around(of(layer.of))
    if isinstance(node, Call) and node.function in SLOPES:
        return times(SLOPES[node.function](*node.arguments), of(node.arguments[0]))
    raise NoSlope(node.function if isinstance(node, Call) else type(node).__name__)


# ---- what stays in the rest -----------------------------------------------------------------------------------------


def _terms(node: Node) -> list[Node]:
    """The terms of a rest, behind signs, constants and operators."""
    match node:
        case Sum(terms):
            return [below for term in terms for below in _terms(term)]
        case Negative(of):
            return _terms(of)
    return [] if node == ZERO else [node]


def _reason(term: Node, fields: Collection[str]) -> str:
    """Why a term of degree one is not in the linear part; empty for a term of another degree."""
    if degree(term, fields) != 1:
        return ""
    if term.calls("explicit"):
        return "explicit"
    if holds_place(term):
        return "its coefficient depends on the place"
    if holds_time(term):
        return IN_TIME
    return "it does not act on each mode by itself"
