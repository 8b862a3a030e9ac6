"""A system with every term on its side: rates of change on the left, all else on the right, and constraints.

M ∂t u = F(u, p), 0 = C(u, p), a row for each scalar: M acts on each mode by itself, F and C hold fields u, unknowns p.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from solver.written.components import ZERO, minus, plus, written_out
from solver.written.linear import linear_part, taken_apart
from solver.written.real_parts import in_real_parts
from solver.written.system import System
from solver.written.tree import Call, Node

Row: TypeAlias = tuple[int, tuple[int, ...]]  # number of the line, and index of its component


@dataclass(frozen=True)
class Arranged:
    """A system in components.

    Args:
        mass: M, by row and by the scalar of a field.
        right: F, by row.
        constraints: C, by row.
    """

    mass: Mapping[tuple[Row, Node], Node]
    right: Mapping[Row, Node]
    constraints: Mapping[Row, Node]


def arranged(system: System, dimensions: int) -> Arranged:
    """Move every term of a system to its side.

    Raises:
        WrittenError: a rate of change that does not stand where each mode can be solved by itself.
    """
    kinds = system.kinds
    moving = {*system.fields, *system.unknowns}
    rates, right, constraints = {}, {}, {}
    for number, line in enumerate(system.lines):
        left, behind = (
            written_out(side, kinds, dimensions).each(lambda entry: in_real_parts(entry, system.complex_names))
            for side in (line.left, line.right)
        )
        is_constraint = not any(node.calls("dt") for node in left.entries.values())
        for index, node in left.entries.items():
            rate, rest = _rate_apart(node, moving)
            if rest.calls("dt"):
                raise line.left.place.error("dt is where each mode cannot be solved by itself")
            moved = plus((behind.entries.get(index, ZERO), minus(rest)))
            if is_constraint:
                constraints[number, index] = minus(moved)
            else:
                rates[number, index], right[number, index] = rate, moved
    for row in _twice(rates):
        if right.pop(row) != right[row[0], row[1][::-1]]:
            place = system.lines[row[0]].right.place
            raise place.error("not symmetric, in the equation of a symmetric tensor: sym(…) is needed")
        del rates[row]
    for row in _twice(constraints):
        del constraints[row]
    return Arranged(linear_part(rates, set(system.fields)).symbols, right, constraints)


def _twice(rows: Mapping[Row, Node]) -> list[Row]:
    """The rows of a tensor below its diagonal that say what those above it say."""
    mirrored = lambda row: (row[0], row[1][::-1])  # noqa: E731
    return [row for row in rows if row[1] > row[1][::-1] and rows[row] == rows[mirrored(row)]]


def _rate_apart(node: Node, moving: set[str]) -> tuple[Node, Node]:
    """The operand of dt in a left-hand side, with the operators that act on dt; and the terms without dt."""

    def take(part: Node) -> tuple[Node, Node] | None:
        if isinstance(part, Call) and part.function == "dt":
            return part.arguments[0], ZERO
        is_remark = isinstance(part, Call) and part.function == "cause"  # of a term, not of a rate of change
        return None if part.calls("dt") and not is_remark else (ZERO, part)

    return taken_apart(node, moving, take)
