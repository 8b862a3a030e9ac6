"""Derivatives of what is made at a point with respect to one inner field."""

from __future__ import annotations

from solver.written.components import ONE, ZERO, minus, plus, times
from solver.written.tree import Call, Comparison, Negative, Node, Number, Power, Product, Quotient, Slot, Sum


class NoSlope(Exception):
    """An expression has no derivative that is known here."""


def slope(node: Node, slot: Slot) -> Node:  # noqa: C901 (one case for each kind of node)
    """∂ node/∂ slot; of |f|, f*, and the real and imaginary part that of f, which has the same modulus or a larger one.

    Raises:
        NoSlope: a function whose derivative is not known here.
    """
    if node == slot:
        return ONE
    if slot not in node.walk():
        return ZERO
    of = lambda part: slope(part, slot)  # noqa: E731
    match node:
        case Sum(terms):
            return plus(map(of, terms))
        case Negative(inner):
            return minus(of(inner))
        case Product(left, right):
            return plus((times(of(left), right), times(left, of(right))))
        case Quotient(above, below):
            whole = plus((times(of(above), below), minus(times(above, of(below)))))
            return ZERO if whole == ZERO else Quotient(whole, times(below, below))
        case Power(base, Number(exponent)):
            lower = Number(exponent - 1)
            return times(times(Number(exponent), base if lower == ONE else Power(base, lower)), of(base))
        case Power(base, exponent) if slot not in exponent.walk():
            return times(times(exponent, Power(base, plus((exponent, minus(ONE))))), of(base))
        case Call("cause", (_, term)) | Call("explicit", (term,)):
            return of(term)
        case Call("where", (Comparison(), first, second)):
            return Call("where", (node.arguments[0], of(first), of(second)))
        case Call("abs" | "conj" | "real" | "imag", (inner,)):
            return of(inner)
        case Call(function, (inner,)):
            return times(_of_function(function, inner), of(inner))
    raise NoSlope(node.function if isinstance(node, Call) else type(node).__name__)


def _of_function(function: str, of: Node) -> Node:
    """The derivative of a function of one number."""
    match function:
        case "sin":
            return Call("cos", (of,))
        case "cos":
            return minus(Call("sin", (of,)))
        case "exp":
            return Call("exp", (of,))
        case "log":
            return Quotient(ONE, of)
        case "sqrt":
            return Quotient(Number(0.5), Call("sqrt", (of,)))
        case "tanh":
            return plus((ONE, minus(Power(Call("tanh", (of,)), Number(2)))))
    raise NoSlope(function)
