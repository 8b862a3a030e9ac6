"""Bodies and sponges in a text: `penalise(u)` becomes −r u + s, with r and s functions at the points.

r(x, t) = Σ χ/η is how strongly they draw the velocity u towards theirs, and s = Σ (χ/η) u_s, which is left out where
all are at rest. `penalise(c, value)` of a scalar becomes −r (c − value), with bodies alone in r. What the functions are
is told when a text is carried out; here they are names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from solver.written.optional import lines_without, without
from solver.written.tree import Call, Line, Name, Negative, Node, Number, Product, Sum

STRENGTH = "obstacle_strength"
OF_BODIES = "body_strength"
SOURCES = ("obstacle_source_x", "obstacle_source_y", "obstacle_source_z")
UNIT_VECTORS = ("ex", "ey", "ez")
LEFT_OUT = "penalised"
WORD = "penalise"


def _told_later(*at: Any) -> Any:
    raise TypeError("what bodies do at the points is told by an equation that has some")


FUNCTIONS: dict[str, Callable[..., Any]] = dict.fromkeys((STRENGTH, OF_BODIES, *SOURCES), _told_later)


def called(line: Line) -> Iterator[Node]:
    """The velocities that `penalise` is called of."""
    yield from (call.arguments[0] for call in _penalties(line) if len(call.arguments) == 1)


def values(line: Line) -> Iterator[Node]:
    """The values to which scalars are drawn."""
    yield from (call.arguments[1] for call in _penalties(line) if len(call.arguments) == 2)


def without_penalties(line: Line) -> Line:
    """An equation without what bodies do."""
    return lines_without([_mapped(line, lambda call: Name(LEFT_OUT))], frozenset({LEFT_OUT}))[0]


def with_penalties(line: Line, dimensions: int, move: bool) -> Line:
    """An equation with −r u, and + s if bodies move; and −r (c − value) of scalars."""
    at = tuple(map(Name, [*"xyz"[:dimensions], "t"]))
    force = lambda name: Call(name, at)  # noqa: E731
    vectors = zip(SOURCES, UNIT_VECTORS, range(dimensions), strict=False)
    sources = [Product(force(name), Name(vector)) for name, vector, _ in vectors] if move else []

    def made(call: Call) -> Node:
        of, *value = call.arguments
        if value:
            return Product(force(OF_BODIES), Sum((value[0], Negative(of))))
        drag = Negative(Product(force(STRENGTH), of))
        return Sum((drag, *sources)) if sources else drag

    return _mapped(line, made)


def bare(node: Node) -> Node:
    """An expression at the points without what bodies do there: it carries nothing, however fast the flow is."""
    named = node.rewritten(
        lambda part: Name(LEFT_OUT) if isinstance(part, Call) and part.function in FUNCTIONS else None
    )
    return without(named, frozenset({LEFT_OUT})) or Number(0j)


def _mapped(line: Line, made: Callable[[Call], Node]) -> Line:
    def rewrite(node: Node) -> Node | None:
        return made(node) if isinstance(node, Call) and node.function == WORD else None

    return replace(line, left=line.left.rewritten(rewrite), right=line.right.rewritten(rewrite))


def _penalties(line: Line) -> Iterator[Call]:
    for side in (line.left, line.right):
        for node in side.walk():
            if isinstance(node, Call) and node.function == WORD:
                yield node
