"""Parameters inside linear operators: a plan may need them outside, and they set the scale of lengths.

Where lap − κ² is in an operator, κ counts as one derivative: an expression is homogeneous if wavenumbers and κ grow
together. So fewer products are possible than without dimensional analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from solver.written.components import ONE
from solver.written.degrees import holds_operator
from solver.written.symbols import key_of, outermost
from solver.written.terms import weight_of
from solver.written.tree import Call, Derivative, Entry, Name, Node, Number, Power, Solved, Sum

Lengths: TypeAlias = Mapping[tuple[str, tuple[int, ...]], float]  # of a parameter: as how many derivatives it counts


def holds_parameters(node: Node) -> bool:
    """True if an operator in a linear expression has parameters inside."""
    for part in node.walk():
        inside = (part.by,) if isinstance(part, Solved) else part.arguments[1:] if isinstance(part, Call) else ()
        if any(argument.names for argument in inside):
            return True
    return False


def inner_constants(nodes: Iterable[Node]) -> dict[tuple[Node, ...], float]:
    """The constants inside the operators of linear expressions, and as how many derivatives each counts."""
    parts = [part for node in nodes for part in node.walk() if isinstance(part, Solved | Call)]
    return {constants: order for part in reversed(parts) for constants, order in _constants(part)}


def lengths(nodes: Iterable[Node]) -> Lengths:
    """As how many derivatives each parameter inside these expressions counts."""
    found = {}
    for constants, order in inner_constants(nodes).items():
        match constants:
            case (Name() | Entry() as of,):
                found[key_of(of)] = order
            case (Power(Name() | Entry() as of, Number(power)),):
                found[key_of(of)] = order / power.real
    return found


def order_of(constants: tuple[Node, ...], of: Lengths) -> float:
    """As how many derivatives a product of constants counts."""
    total = 0.0
    for node in constants:
        base, power = (node.base, node.exponent) if isinstance(node, Power) else (node, ONE)
        if isinstance(base, Name | Entry) and isinstance(power, Number):
            total += of.get(key_of(base), 0.0) * power.value.real
    return total


def _constants(part: Node) -> list[tuple[tuple[Node, ...], int]]:
    """The constants inside an operator, each with the number of derivatives that it counts as.

    All terms of a symbol count alike: in lap − κ², κ² means two derivatives; in 1 − λ lap, λ for two fewer.
    """
    match part:
        case Call("helmholtz", (_, argument)):
            terms: Sequence[Node] = (Call("lap", (ONE,)), argument)
        case Solved(_, Sum(summed)):
            terms = summed
        case _:
            return []
    monomials = [
        (weight_of(rest).constants, order) for order, rest in map(order_and_rest, terms) if not holds_operator(rest)
    ]
    whole = max((order for constants, order in monomials if not constants), default=0)
    return [(constants, whole - order) for constants, order in monomials if constants]


def order_and_rest(symbol: Node) -> tuple[int, Node]:
    """The number of derivatives in a symbol, and the symbol without them."""
    layer = outermost(symbol, ())
    if layer is None:
        return 0, symbol
    order, rest = order_and_rest(layer.of)
    match symbol:
        case Derivative():
            return order + 1, rest
        case Call("lap"):
            return order + 2, rest
        case Call("fraclap", (_, Number(power))) if power.imag == 0 and power.real >= 0 and power.real % 1 == 0:
            return order + 2 * int(power.real), rest
    return order, layer.around(rest)
