"""Linear terms whose coefficients depend on time: Λ(t), next to the L that does not.

Every number that depends on time gets a name, as if it was a parameter. The linear part of N in these names is Λ. It is
used where Λ and L are diagonal, so that they commute at all times and exp ∫(L + Λ) dt solves u_t = (L + Λ) u.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

from solver.written.arranged import Row
from solver.written.degrees import holds_operator, holds_place, holds_time
from solver.written.derivation import linear_of, without_unknowns
from solver.written.linear import linear_part
from solver.written.matrices import Linear, linear_operator
from solver.written.text import Text
from solver.written.tree import Name, Node, WrittenError


@dataclass(frozen=True)
class LinearInTime:
    """Λ(t) of a text.

    Args:
        linear: Λ, diagonal, in parameters and in names of numbers that depend on time.
        numbers: expression of each such number in parameters and the time, by its name.
        rest: the right-hand side of each row without L and Λ.
    """

    linear: Linear
    numbers: Mapping[str, Node]
    rest: Mapping[Row, Node]


@cache
def linear_in_time(text: Text, dimensions: int) -> LinearInTime | None:
    """Λ(t) of a text in so many dimensions of space; None without one that commutes with L."""
    if linear_of(text, dimensions).couples != "nothing":
        return None
    reduced = without_unknowns(text, dimensions)
    fields, names = {*reduced.system.fields}, dict[Node, Name]()
    rows = {row: _with_names(node, fields, {*text.of_whole_fields}, names) for row, node in reduced.rest.items()}
    if not names:
        return None
    try:
        linear = linear_operator(reduced, rows)
    except WrittenError:  # Λ breaks a constraint that N keeps
        return None
    if linear.couples != "nothing" or not linear.symbols:
        return None
    back: dict[Node, Node] = {name: node for node, name in names.items()}
    rest = {row: node.rewritten(lambda part: back.get(part)) for row, node in linear_part(rows, fields).rest.items()}
    return LinearInTime(linear, {name.name: node for node, name in names.items()}, rest)


def _with_names(node: Node, fields: Collection[str], whole: Collection[str], names: dict[Node, Name]) -> Node:
    """An expression in which every number that depends on time has a name, which is added to `names`."""

    def name(part: Node) -> Node | None:
        is_number = part.names.isdisjoint(fields) and not (holds_place(part) or holds_operator(part) or part.slots)
        if not (is_number and holds_time(part)) or part.calls(*whole):
            return None
        return names.setdefault(part, Name(f"number {len(names)} of the time"))

    return node.rewritten(name)
