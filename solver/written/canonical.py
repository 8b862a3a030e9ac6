"""A text printed from its tree in one way, so that two texts which differ only in how they are set are equal.

The printed text is read again as the same tree. Nothing is computed or put in another order: `a + b` and `b + a`
differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from solver.written.parse import read_expression, read_line
from solver.written.tree import (
    Call,
    Comparison,
    Component,
    Contraction,
    Label,
    Line,
    Name,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    WrittenError,
)
from solver.written.vocabulary import Word

ADDED, MULTIPLIED, RAISED, WHOLE = range(4)  # how tightly a part holds together
MOST_ARGUMENTS = 1000  # of functions of the user's, whose numbers of arguments are not known here
SIGNS = {Product: "*", Quotient: "/", Contraction: "@"}


def canonical_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table of an equation of a run, its texts printed in one way, other values as they are."""
    named = table.get("functions")
    words = {name: Word(name, 0, MOST_ARGUMENTS) for name in (named if isinstance(named, Mapping) else ())}
    changed = dict(table)
    if isinstance(lines := table.get("write"), list | tuple):
        changed["write"] = [_printed(read_line, line, words) for line in lines]
    for key in ("define", "energies", "series"):
        if isinstance(texts := table.get(key), Mapping):
            changed[key] = {name: _printed(read_expression, text, words) for name, text in texts.items()}
    return changed


def _printed(read: Callable[..., Node | Line], text: Any, words: Mapping[str, Word]) -> Any:
    try:
        return canonical(read(text, words))
    except WrittenError:
        return text


def canonical(node: Node | Line) -> str:
    """The tree that was read from a text, printed in the language."""
    if isinstance(node, Line):
        return f"{canonical(node.left)} = {canonical(node.right)}"
    return _part(node)[0]


def _bound(node: Node, tightness: int) -> str:
    text, own = _part(node)
    return text if own >= tightness else f"({text})"


def _part(node: Node) -> tuple[str, int]:
    """A node, and how tightly it holds together."""
    match node:
        case Number(value):
            return _number(value), WHOLE
        case Name(name) | Label(name, _):
            return name, WHOLE
        case Sum((first, *others)):
            return _bound(first, MULTIPLIED) + "".join(map(_added, others)), ADDED
        case Negative(of):
            return "-" + _bound(of, RAISED if isinstance(of, Negative) else MULTIPLIED), MULTIPLIED
        case Product(left, right) | Quotient(left, right) | Contraction(left, right):
            return f"{_bound(left, MULTIPLIED)}{SIGNS[type(node)]}{_bound(right, RAISED)}", MULTIPLIED
        case Power(base, exponent):
            return f"{_bound(base, WHOLE)}**{_bound(exponent, WHOLE)}", RAISED
        case Component(of, direction):
            return f"{_bound(of, WHOLE)}.{direction}", WHOLE
        case Comparison(left, sign, right):
            return f"{canonical(left)} {sign} {canonical(right)}", ADDED
        case Call(function):
            return f"{function}({', '.join(map(canonical, node.written))})", WHOLE
    raise TypeError(f"{type(node).__name__} is no part of a text")


def _added(term: Node) -> str:
    """A term of a sum behind the first, with its sign."""
    if isinstance(term, Negative):
        return f" - {_bound(term.of, RAISED if isinstance(term.of, Negative) else MULTIPLIED)}"
    return f" + {_bound(term, MULTIPLIED)}"


def _number(value: complex) -> str:
    """A number as it is read again; whole ones without a point."""
    if value.imag:
        return repr(value)
    whole = value.real.is_integer() and abs(value.real) < 1e15
    return str(int(value.real)) if whole else repr(value.real)
