"""Lines of a text that say what a field meets at a wall: `u(bottom) = 0`, `T(top) = 1 + a*sin(t)`, `dz(b)(top) = -1`.

Places may be written as Dedalus does, `u(z=0) = 0` and `u(z=Lz) = 0`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from solver.written.parse import read_expression
from solver.written.tree import Name, Negative, Node, Number, Product, Quotient, WrittenError

SIDES = {"bottom": "lower", "top": "upper"}
WHERE = r"\(\s*(?:(?P<side>bottom|top)|(?P<along>[xyz])\s*=(?P<height>[^()=]+))\s*\)"
PLACE = re.compile(WHERE)
LINE = re.compile(rf"\s*(?:d(?P<axis>[xyz])\(\s*(?P<of>\w+)\s*\)|(?P<name>\w+))\s*{WHERE}\s*=(?P<right>.*)")
FORMS = "u(bottom) = 0, T(top) = 1 + a*sin(t), T(z=0) = 1 or dz(T)(top) = 0 is needed"


class WallLine(NamedTuple):
    """A condition at a wall.

    Args:
        field: name of the field.
        side: `lower` or `upper`.
        axis: axis of the derivative that is given, `x`, `y` or `z`; empty if the value is given.
        right: the value, or the slope, as text.
        text: the line.
        along: `x`, `y` or `z` of a place such as `z=Lz`; empty of `bottom` and `top`.
        height: the number there.
    """

    field: str
    side: str
    axis: str
    right: str
    text: str
    along: str = ""
    height: float = 0.0

    def of_field(self, field: str, define: Mapping[str, str]) -> WallLine:
        """The same condition of a field of this name, with definitions written out."""
        right = with_definitions(self.right, define)
        return self._replace(field=field, right=upward(right) if self.along == "z" else right)


def apart(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """The lines of equations, and the lines of walls."""
    equations: list[str] = []
    walls: list[str] = []
    for line in lines:
        (walls if isinstance(line, str) and PLACE.search(line) else equations).append(line)
    return equations, walls


def upward(text: str) -> str:
    """A text in which `ez` and `dz(…)` of a plane x, z, whose second direction is y here, cross the walls."""
    text = re.sub(r"\bez\b", "up", text)
    while match := re.search(r"\bdz\(", text):
        start, depth = match.end(), 1
        stop = start
        while depth and stop < len(text):
            depth += {"(": 1, ")": -1}.get(text[stop], 0)
            stop += 1
        text = f"{text[: match.start()]}(up@grad({text[start:stop]}){text[stop:]}"
    return text


def with_definitions(text: str, define: Mapping[str, str]) -> str:
    """A text with each definition, in brackets, in the place of its name."""
    in_brackets = lambda name: f"({define[name[0]]})" if name[0] in define else name[0]  # noqa: E731
    while (found := re.sub(r"\b[A-Za-z_]\w*", in_brackets, text)) != text:
        text = found
    return text


def read_wall_lines(lines: str | Iterable[str], define: Mapping[str, str]) -> list[WallLine]:
    """The conditions at walls among the lines of a text, with its definitions."""
    _, walls = apart([lines] if isinstance(lines, str) else lines)
    return [read_wall_line(line, define) for line in walls]


def read_wall_line(line: str, define: Mapping[str, str]) -> WallLine:
    """A condition at a wall.

    Args:
        line: its text.
        define: definitions of the text, which may name the height.

    Raises:
        WrittenError: another form, or a place that is no number.
    """
    match = LINE.fullmatch(line)
    if match is None:
        raise WrittenError(f"{line.strip()}: at a wall {FORMS}")
    height = 0.0
    if match["along"]:
        place = read_expression(match["height"], {})
        found = _number(place, define)
        if found is None:
            raise place.place.error('at a wall a number is needed, or a definition: define = { Lz = "1" }')
        height = found
    side = SIDES[match["side"]] if match["side"] else "upper" if height else "lower"
    field, axis, right = match["of"] or match["name"], match["axis"] or "", match["right"].strip()
    if match["along"] == "z":  # in a plane x, z the second direction is called y here
        right = upward(right)
    return WallLine(field, side, axis, right, line.strip(), match["along"] or "", height)


def _number(node: Node, define: Mapping[str, str]) -> float | None:
    match node:
        case Number(value) if value.imag == 0:
            return float(value.real)
        case Name("pi"):
            return math.pi
        case Name(name) if name in define:
            others = {other: text for other, text in define.items() if other != name}
            return _number(read_expression(define[name], {}), others)
        case Negative(of):
            return None if (inner := _number(of, define)) is None else -inner
        case Product(left, right) | Quotient(left, right):
            a, b = _number(left, define), _number(right, define)
            if a is None or b is None:
                return None
            return a * b if isinstance(node, Product) else a / b
    return None
