"""Bodies and sponges in a text: `penalise(u)` becomes −r u + s, with r and s functions at the points.

r(x, t) = Σ χ/η is how strongly they draw the velocity u towards theirs, and s = Σ (χ/η) u_s, which is left out where
all are at rest. What the functions are is told when a text is carried out; here they are names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from solver.written.optional import lines_without, without
from solver.written.tree import Call, Line, Name, Negative, Node, Number, Product, Sum

STRENGTH = "obstacle_strength"
SOURCES = ("obstacle_source_x", "obstacle_source_y", "obstacle_source_z")
UNIT_VECTORS = ("ex", "ey", "ez")
LEFT_OUT = "penalised"


def _told_later(*at: Any) -> Any:
    raise TypeError("what bodies do at the points is told by an equation that has some")


FUNCTIONS: dict[str, Callable[..., Any]] = dict.fromkeys((STRENGTH, *SOURCES), _told_later)


def called(line: Line) -> Iterator[Node]:
    """What `penalise` is called of."""
    for side in (line.left, line.right):
        for node in side.walk():
            if _is_penalty(node):
                assert isinstance(node, Call)
                yield node.arguments[0]


def without_penalties(line: Line) -> Line:
    """An equation without what bodies do."""
    return lines_without([_mapped(line, lambda of: Name(LEFT_OUT))], frozenset({LEFT_OUT}))[0]


def with_penalties(line: Line, dimensions: int, move: bool) -> Line:
    """An equation with −r u, and + s if bodies move."""
    at = tuple(map(Name, [*"xyz"[:dimensions], "t"]))
    force = lambda name: Call(name, at)  # noqa: E731
    vectors = zip(SOURCES, UNIT_VECTORS, range(dimensions), strict=False)
    sources = [Product(force(name), Name(vector)) for name, vector, _ in vectors] if move else []
    drag = lambda of: Negative(Product(force(STRENGTH), of))  # noqa: E731
    return _mapped(line, lambda of: Sum((drag(of), *sources)) if sources else drag(of))


def bare(node: Node) -> Node:
    """An expression at the points without what bodies do there: it carries nothing, however fast the flow is."""
    named = node.rewritten(
        lambda part: Name(LEFT_OUT) if isinstance(part, Call) and part.function in FUNCTIONS else None
    )
    return without(named, frozenset({LEFT_OUT})) or Number(0j)


def _mapped(line: Line, made: Callable[[Node], Node]) -> Line:
    def rewrite(node: Node) -> Node | None:
        return made(node.arguments[0]) if isinstance(node, Call) and _is_penalty(node) else None

    return replace(line, left=line.left.rewritten(rewrite), right=line.right.rewritten(rewrite))


def _is_penalty(node: Node) -> bool:
    return isinstance(node, Call) and node.function == "penalise"
