"""Complex expressions of real fields, as two real ones: their real and their imaginary part.

The modes that are stored of a real field represent real values alone: no operator may act on u + iv, and no energy hold
it as one. So behind `real`, `imag` and `abs` both parts are written out before anything else is derived.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import TypeAlias

from solver.written.components import ZERO, minus, plus, times
from solver.written.symbols import Layer, outermost
from solver.written.tree import Call, Negative, Node, Number, Power, Product, Quotient, Sum
from solver.written.vocabulary import MADE_REAL

Parts: TypeAlias = tuple[Node, Node]  # real and imaginary

MOST = 8  # of a power that is multiplied out


def is_complex_of_real(node: Node, names: Collection[str]) -> bool:
    """True if numbers alone make an expression complex, and no field.

    Args:
        node: in components.
        names: names of complex fields and parameters.
    """
    return node.names.isdisjoint(names) and holds_complex_number(node)


def in_real_parts(node: Node, names: Collection[str]) -> Node:
    """An expression with `real`, `imag` and `abs` of complex expressions of real fields written out.

    What has no plain parts, such as the sine of a complex number, stays: it is worked out at the points.
    """
    match node:
        case Power(Call("abs", (of,)), Number(exponent)) if exponent in range(2, MOST + 1, 2):
            if (parts := _of_complex(of, names)) is not None:
                return reduce(times, [_square_of_modulus(parts)] * (int(exponent.real) // 2))
        case Call("abs", (of,)):
            if (parts := _of_complex(of, names)) is not None:
                return Call("sqrt", (_square_of_modulus(parts),))
        case Call("real" | "imag" as function, (of,)):
            if (parts := _of_complex(of, names)) is not None:
                return parts[function == "imag"]
    return node.map_children(lambda child: in_real_parts(child, names))


def real_part(node: Node, names: Collection[str]) -> Node:
    """The real part of an expression that numbers alone make complex; `in_real_parts` of another one."""
    parts = _of_complex(node, names)
    return in_real_parts(node, names) if parts is None else parts[0]


def _of_complex(node: Node, names: Collection[str]) -> Parts | None:
    return _parts(node, names) if is_complex_of_real(node, names) else None


def holds_complex_number(node: Node) -> bool:
    """True if a complex number is in a node outside of `MADE_REAL`."""
    if isinstance(node, Number):
        return node.value.imag != 0
    return not (isinstance(node, Call) and node.function in MADE_REAL) and any(map(holds_complex_number, node.children))


def _parts(node: Node, names: Collection[str]) -> Parts | None:
    """The two parts; None where they have no plain form."""
    if not holds_complex_number(node):
        return in_real_parts(node, names), ZERO
    match node:
        case Number(value):
            return Number(value.real), Number(value.imag)
        case Sum() | Negative() | Product() | Quotient():
            below = [_parts(child, names) for child in node.children]
            parts = [pair for pair in below if pair is not None]
            return _joined(node, parts) if len(parts) == len(below) else None
        case Power(base, Number(exponent)) if exponent in range(1, MOST + 1):
            pair = _parts(base, names)
            return None if pair is None else reduce(_product, [pair] * int(exponent.real))
        case Call("conj" | "exp" as function, (of,)):
            pair = _parts(of, names)
            if pair is None:
                return None
            re, im = pair
            if function == "conj":
                return re, minus(im)
            size = Call("exp", (re,))
            return times(size, Call("cos", (im,))), times(size, Call("sin", (im,)))
    layer = outermost(node, ())
    if layer is None or holds_complex_number(layer.symbol):
        return None
    pair = _parts(layer.of, names)
    return None if pair is None else (_around(layer, pair[0]), _around(layer, pair[1]))


def _joined(node: Node, parts: list[Parts]) -> Parts:
    """The parts of a sum, a negative, a product or a quotient, from the parts of its operands."""
    if isinstance(node, Sum):
        return plus(re for re, _ in parts), plus(im for _, im in parts)
    if isinstance(node, Negative):
        return minus(parts[0][0]), minus(parts[0][1])
    if isinstance(node, Product):
        return _product(*parts)
    (re, im), below = parts
    divisor = below[0]
    if below[1] != ZERO:
        (re, im), divisor = _product((re, im), (below[0], minus(below[1]))), _square_of_modulus(below)
    return (ZERO if re == ZERO else Quotient(re, divisor)), (ZERO if im == ZERO else Quotient(im, divisor))


def _product(left: Parts, right: Parts) -> Parts:
    (a, b), (c, d) = left, right
    return plus((times(a, c), minus(times(b, d)))), plus((times(a, d), times(b, c)))


def _square_of_modulus(parts: Parts) -> Node:
    return plus(Power(part, Number(2)) for part in parts if part != ZERO)


def _around(layer: Layer, part: Node) -> Node:
    """An operator or a remark around a part that is not zero."""
    return ZERO if part == ZERO else layer.around(part)
