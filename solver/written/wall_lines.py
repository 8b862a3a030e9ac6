"""Lines of a text that say what a field meets at a wall: `u(bottom) = 0`, `T(top) = 1`, `dz(b)(top) = -1`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from solver.written.parse import read_expression
from solver.written.tree import Name, Negative, Node, Number, Product, Quotient, WrittenError

SIDES = {"bottom": "lower", "top": "upper"}
PLACE = re.compile(r"\(\s*(bottom|top)\s*\)")
LINE = re.compile(
    r"\s*(?:d(?P<axis>[xyz])\(\s*(?P<of>\w+)\s*\)|(?P<name>\w+))\(\s*(?P<side>bottom|top)\s*\)\s*=(?P<right>.*)"
)
FORMS = "u(bottom) = 0, T(top) = 1 or dz(T)(top) = 0 is needed"


class WallLine(NamedTuple):
    """A condition at a wall.

    Args:
        field: name of the field.
        side: `lower` or `upper`.
        axis: axis of the derivative that is given, `x`, `y` or `z`; empty if the value is given.
        number: the value, or the slope.
        text: the line.
    """

    field: str
    side: str
    axis: str
    number: float
    text: str


def apart(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """The lines of equations, and the lines of walls."""
    equations: list[str] = []
    walls: list[str] = []
    for line in lines:
        (walls if PLACE.search(line) else equations).append(line)
    return equations, walls


def read_wall_line(line: str) -> WallLine:
    """A condition at a wall.

    Raises:
        WrittenError: another form, or a right-hand side that is no number.
    """
    match = LINE.fullmatch(line)
    if match is None:
        raise WrittenError(f"{line.strip()}: at a wall {FORMS}")
    node = read_expression(match["right"], {})
    number = _number(node)
    if number is None:
        raise node.place.error(f"at a wall {FORMS}, with a number; walls= of the equation takes a parameter")
    return WallLine(match["of"] or match["name"], SIDES[match["side"]], match["axis"] or "", number, line.strip())


def _number(node: Node) -> float | None:
    match node:
        case Number(value) if value.imag == 0:
            return float(value.real)
        case Name("pi"):
            return math.pi
        case Negative(of):
            return None if (inner := _number(of)) is None else -inner
        case Product(left, right) | Quotient(left, right):
            sides = _number(left), _number(right)
            if None in sides:
                return None
            a, b = sides
            return a * b if isinstance(node, Product) else a / b  # type: ignore[operator]
    return None
