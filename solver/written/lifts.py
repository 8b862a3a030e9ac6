"""Dedalus' `lift(tau)`: zero here, since every field meets its conditions at the walls by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from solver.written.canonical import canonical
from solver.written.parse import read_expression, read_line
from solver.written.tree import Call, Line, Node, Number, Sum
from solver.written.vocabulary import Word

LIFT = "lift"


def without_lifts(
    lines: Iterable[str], define: Mapping[str, str], unknowns: Mapping[str, str], words: Mapping[str, Word]
) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Lines, definitions and unknowns of a text without the terms that hold `lift`; other texts are as they were.

    An unknown that is lifted and stands nowhere else goes, too.
    """
    lines, names, left = list(lines), set[str](), set[str]()

    def plain(node: Node) -> Node:
        names.update(name for part in node.calls(LIFT) for name in part.names)
        kept = _without(node)
        left.update(kept.names)
        return kept

    if not any(f"{LIFT}(" in text for text in (*lines, *define.values()) if isinstance(text, str)):
        return lines, dict(define), dict(unknowns)
    read = [read_line(text, words) for text in lines]
    made = [canonical(Line(plain(line.left), plain(line.right), line.text)) for line in read]
    defined = {name: canonical(plain(read_expression(text, words))) for name, text in define.items()}
    return made, defined, {name: rank for name, rank in unknowns.items() if name not in names - left}


def _without(node: Node) -> Node:
    """The expression without the terms that hold a lift; zero if none is left."""
    if isinstance(node, Sum):
        terms = tuple(_without(term) for term in node.terms if not _is_lifted(term))
        return Number(0, place=node.place) if not terms else Sum(terms, place=node.place) if terms[1:] else terms[0]
    if _is_lifted(node):
        return Number(0, place=node.place)
    return node.map_children(_without)


def _is_lifted(node: Node) -> bool:
    """True if a term is a product, a quotient or a sign of a lift: of a sum inside it each term counts by itself."""
    if isinstance(node, Call):
        return node.function == LIFT
    return not isinstance(node, Sum) and any(map(_is_lifted, node.children))
