"""A text without some of its parameters: the terms that hold them are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from solver.written.tree import Call, Line, Node, Number, Sum


def without(node: Node, names: frozenset[str]) -> Node | None:
    """An expression whose terms with these names are left out, at any depth; None if nothing is left."""
    if node.names.isdisjoint(names):
        return node
    if isinstance(node, Call) and node.function == "cause":  # whose name is no parameter, and may be called as one
        term = without(node.arguments[1], names)
        return None if term is None else replace(node, arguments=(node.arguments[0], term))
    if isinstance(node, Sum):
        terms = [term for term in (without(part, names) for part in node.terms) if term is not None]
        return terms[0] if len(terms) == 1 else Sum(tuple(terms), place=node.place) if terms else None
    kept = {child: without(child, names) for child in node.children}
    if not kept or None in kept.values():
        return None
    return node.map_children(lambda child: kept[child] or child)


def lines_without(lines: Iterable[Line], names: frozenset[str]) -> list[Line]:
    """Equations without some names; a side of which nothing is left is 0."""
    side = lambda node: without(node, names) or Number(0j)  # noqa: E731
    return [Line(side(line.left), side(line.right), line.text) for line in lines]


def table_without(table: Mapping[str, Node], names: frozenset[str]) -> tuple[dict[str, Node], frozenset[str]]:
    """Named expressions without some names; and these names with the names of expressions that became empty.

    Later expressions may hold the names of earlier ones.
    """
    kept: dict[str, Node] = {}
    for name, node in table.items():
        left = without(node, names)
        if left is None:
            names |= {name}
        else:
            kept[name] = left
    return kept, names
