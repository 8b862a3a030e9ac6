"""Bodies and sponges in a text: `penalise(u)` becomes −r u + s, with r and s functions at the points.

r(x, t) = Σ χ/η is how strongly they draw the velocity u towards theirs, and s = Σ (χ/η) u_s, which is left out where
all are at rest. The functions are known when a text is carried out; here they are names.

`penalise(c, diffusivity)` of a scalar is what each body and sponge says of it: −r_c c + s_c, with r_c = Σ χ/η and
s_c = Σ (χ/η) v over those in which it has a value v, and κ g·∇c, with g = Σ ∇ψ/ψ over those whose surface it does not
pass and ψ the share of the fluid: with κ∇²c that is ∇·(ψκ∇c)/ψ, diffusion in the fluid alone.

Source: Yu, Chen & Thornton, Modelling Simul. Mater. Sci. Eng. 20 (2012) 075008 (the smoothed boundary method).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from solver.written.optional import lines_without
from solver.written.tree import Call, Contraction, Line, Name, Negative, Node, Product, Sum

Conditions: TypeAlias = frozenset[tuple[str, str]]

STRENGTH = "obstacle_strength"
SOURCES = ("obstacle_source_x", "obstacle_source_y", "obstacle_source_z")
UNIT_VECTORS = ("ex", "ey", "ez")
FIXED, FIXED_AT = "fixed_strength_of_", "fixed_source_of_"  # and the scalar
SEALED = ("sealed_slope_x_of_", "sealed_slope_y_of_", "sealed_slope_z_of_")
OF_SCALARS = (FIXED, FIXED_AT, *SEALED)
LEFT_OUT = "penalised"
WORD = "penalise"


def _told_later(*at: Any) -> Any:
    raise TypeError("the effect of bodies at the points is known to an equation with bodies")


FUNCTIONS: dict[str, Callable[..., Any]] = dict.fromkeys((STRENGTH, *SOURCES), _told_later)


def is_of_obstacles(function: str) -> bool:
    """True if a function says what bodies and sponges do."""
    return function in FUNCTIONS or function.startswith(OF_SCALARS)


def functions_of(conditions: Conditions) -> dict[str, Callable[..., Any]]:
    """All functions that a text with bodies may call, by name."""
    of_scalars = [kind + name for name in {name for name, _ in conditions} for kind in OF_SCALARS]
    return {**FUNCTIONS, **dict.fromkeys(of_scalars, _told_later)}


def called(line: Line) -> Iterator[Node]:
    """The velocities that `penalise` is called of."""
    yield from (call.arguments[0] for call in _penalties(line) if len(call.arguments) == 1)


def scalars(line: Line) -> Iterator[tuple[Node, Node]]:
    """The scalars of which each body says what it does to them, and their diffusivities."""
    yield from ((call.arguments[0], call.arguments[1]) for call in _penalties(line) if len(call.arguments) == 2)


def without_penalties(line: Line) -> Line:
    """An equation without what bodies do."""
    return lines_without([_mapped(line, lambda call: Name(LEFT_OUT))], frozenset({LEFT_OUT}))[0]


def with_penalties(line: Line, dimensions: int, move: bool, conditions: Conditions) -> Line:
    """An equation with −r u, and + s if bodies move; and what bodies do to scalars.

    Args:
        line: the equation.
        dimensions: number of dimensions of space.
        move: True if bodies draw the velocity towards another one than zero.
        conditions: name of a scalar, and `fixed` or `sealed`, of all bodies together.
    """
    at = tuple(map(Name, [*"xyz"[:dimensions], "t"]))
    force = lambda name: Call(name, at)  # noqa: E731
    vectors = zip(SOURCES, UNIT_VECTORS, range(dimensions), strict=False)
    sources = [Product(force(name), Name(vector)) for name, vector, _ in vectors] if move else []

    def made(call: Call) -> Node:
        of, *diffusivity = call.arguments
        if diffusivity:
            return _of_scalar(of, diffusivity[0], conditions, force, UNIT_VECTORS[:dimensions])
        drag = Negative(Product(force(STRENGTH), of))
        return Sum((drag, *sources)) if sources else drag

    return lines_without([_mapped(line, made)], frozenset({LEFT_OUT}))[0]


def _of_scalar(
    c: Node, diffusivity: Node, conditions: Conditions, force: Callable[[str], Node], vectors: tuple[str, ...]
) -> Node:
    """The term that bodies add to a scalar of this name, if there is one."""
    name, terms = c.name if isinstance(c, Name) else "", list[Node]()
    if (name, "fixed") in conditions:
        terms += [Negative(Product(force(FIXED + name), c)), force(FIXED_AT + name)]
    if (name, "sealed") in conditions:
        slope = Sum(tuple(Product(force(kind + name), Name(v)) for kind, v in zip(SEALED, vectors, strict=False)))
        terms += [Product(diffusivity, Contraction(slope, Call("grad", (c,))))]
    return Sum(tuple(terms)) if terms else Name(LEFT_OUT)


def _mapped(line: Line, made: Callable[[Call], Node]) -> Line:
    def rewrite(node: Node) -> Node | None:
        return made(node) if isinstance(node, Call) and node.function == WORD else None

    return replace(line, left=line.left.rewritten(rewrite), right=line.right.rewritten(rewrite))


def _penalties(line: Line) -> Iterator[Call]:
    for side in (line.left, line.right):
        for node in side.walk():
            if isinstance(node, Call) and node.function == WORD:
                yield node
