"""An expression as a tree: names, numbers, and operators on them.

Nodes are immutable and compare by what they say, not by where they are in the text, so that two equal expressions are
one key in a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any


class WrittenError(ValueError):
    """A text that is no equation: one line says why, and two more show the text with a caret."""


@dataclass(frozen=True)
class Place:
    """Place of a node in a text: its first and last character.

    Args:
        text: the whole line.
        start, stop: index of the first character, and of the character after the last.
    """

    text: str
    start: int
    stop: int

    def error(self, message: str) -> WrittenError:
        """An error that shows this place."""
        caret = " " * self.start + "^" * max(1, self.stop - self.start)
        return WrittenError(f"{message}\n    {self.text}\n    {caret}")


NOWHERE = Place("", 0, 0)


@dataclass(frozen=True)
class Node:
    """Shared by all nodes."""

    place: Place = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes below this one, from left to right."""
        below: list[Node] = []
        for value in vars(self).values():
            if isinstance(value, Node):
                below.append(value)
            elif isinstance(value, tuple):
                below += [part for part in value if isinstance(part, Node)]
        return tuple(below)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, each before its operands."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)

    def calls(self, *functions: str) -> list[Call]:
        """The calls of some functions in this node."""
        return [part for part in self.walk() if isinstance(part, Call) and part.function in functions]

    @property
    def slots(self) -> list[Slot]:
        return [part for part in self.walk() if isinstance(part, Slot)]

    @property
    def names(self) -> set[str]:
        return {part.name for part in self.walk() if isinstance(part, Name | Entry)}

    def rewritten(self, change: Callable[[Node], Node | None]) -> Node:
        """A copy in which parts are changed, outermost first; parts that `change` gives None for are copied."""
        changed = change(self)
        return self.map_children(lambda child: child.rewritten(change)) if changed is None else changed

    def map_children(self, change: Callable[[Node], Node]) -> Node:
        """A copy of this node whose children are changed."""
        changed: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Node):
                changed[entry.name] = change(value)
            elif isinstance(value, tuple):
                changed[entry.name] = tuple(change(part) if isinstance(part, Node) else part for part in value)
        return replace(self, **changed)


@dataclass(frozen=True)
class Number(Node):
    """A number, real or complex."""

    value: complex


@dataclass(frozen=True)
class Name(Node):
    """A field, an unknown, a definition, a parameter or a constant."""

    name: str


@dataclass(frozen=True)
class Label(Node):
    """The name of a function of the wavenumber, as `symbol` takes it first: no name of a field or a parameter.

    Args:
        function: its name.
        arguments: number of its arguments: one, |k|, or one for each axis.
    """

    function: str
    arguments: int


@dataclass(frozen=True)
class Sum(Node):
    """Terms that are added; a difference holds a `Negative`."""

    terms: tuple[Node, ...]


@dataclass(frozen=True)
class Negative(Node):
    """Minus a node."""

    of: Node


@dataclass(frozen=True)
class Product(Node):
    """Two factors, of which at least one is a scalar."""

    left: Node
    right: Node


@dataclass(frozen=True)
class Quotient(Node):
    """`above` divided by a scalar, point by point."""

    above: Node
    below: Node


@dataclass(frozen=True)
class Power(Node):
    """A scalar to a power: a number, or a parameter."""

    base: Node
    exponent: Node


@dataclass(frozen=True)
class Contraction(Node):
    """`left @ right`: the last index of the left one and the first of the right one, summed over."""

    left: Node
    right: Node


@dataclass(frozen=True)
class Component(Node):
    """A component along the first index: `x`, `y`, `z`, or `up`, the last direction."""

    of: Node
    direction: str


@dataclass(frozen=True)
class Call(Node):
    """An operator or a function of expressions."""

    function: str
    arguments: tuple[Node, ...]

    @property
    def written(self) -> tuple[Node, ...]:
        """The arguments as a text has them: `symbol(name, f)`, and `ramp` without its time."""
        known = {"symbol": self.arguments[::-1], "ramp": self.arguments[:-1]}
        return known.get(self.function, self.arguments)


@dataclass(frozen=True)
class Comparison(Node):
    """Two real scalars that are compared, as `where` needs it: `<`, `<=`, `>` or `>=`."""

    left: Node
    sign: str
    right: Node


@dataclass(frozen=True)
class Entry(Node):
    """A component of a vector or a tensor that has a name, by its indices; written out from the text."""

    name: str
    index: tuple[int, ...]


@dataclass(frozen=True)
class Derivative(Node):
    """∂ of a scalar along an axis; written out from the text."""

    of: Node
    axis: int


@dataclass(frozen=True)
class Solved(Node):
    """The inverse of a symbol, mode by mode: `of` divided by it, and 0 where the symbol vanishes.

    Args:
        of: a scalar.
        by: a symbol, which is not zero for modes in general.
    """

    of: Node
    by: Node


@dataclass(frozen=True)
class Slot(Node):
    """A scalar of a plan: an inner field, which is taken to the points, or a product, which is made there.

    Args:
        holds: `inner` or `product`.
        number: its place among these in the plan.
    """

    holds: str
    number: int


@dataclass(frozen=True)
class Line:
    """An equation, `left = right`.

    Args:
        left, right: its sides.
        text: as it was written.
    """

    left: Node
    right: Node
    text: str = field(compare=False)
