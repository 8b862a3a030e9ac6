"""Texts that are made of a text: with bodies, without the terms of some parameters, without some columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from solver.written.canonical import canonical
from solver.written.closures import LOSS, MEAN_VISCOSITY, Of, Resolved, with_closures
from solver.written.kinds import SCALAR, kind_of
from solver.written.obstacles import Conditions, functions_of, with_penalties
from solver.written.optional import lines_without, table_without, without
from solver.written.parse import read_expression, read_line
from solver.written.system import insert
from solver.written.text import Text
from solver.written.tree import Call, Node, WrittenError
from solver.written.vocabulary import EXTREMES


@cache
def with_obstacles(text: Text, dimensions: int, *, move: bool, conditions: Conditions) -> Text:
    """The text with bodies and sponges, as functions at the points (`solver.written.obstacles`).

    Args:
        text: that says `penalise`.
        dimensions: number of dimensions of space.
        move: True if some draw the velocity towards another one than zero.
        conditions: scalar, and `fixed` or `sealed`, of what bodies do to scalars.
    """
    lines = [with_penalties(read_line(line, text.words), dimensions, move, conditions) for line in text.write]
    plain = text.plain  # whose columns may make sense in fewer dimensions than these functions do
    return replace(
        text,
        write=list(map(canonical, lines)),
        functions={**dict(text.functions), **functions_of(conditions)},
        series=columns_that_fit(plain, text.series, dimensions),
        invariants=None if text.invariants is None else columns_that_fit(plain, text.invariants, dimensions),
    )


@cache
def with_closure(text: Text, of: Of, dimensions: int, by_plane: bool = False) -> Text:
    """The text with a closure at the points, as functions there (`solver.written.closures`), and with its columns.

    Args:
        text: that says `closure`.
        of: `strain` or `gradient`, on which the subgrid stress depends.
        dimensions: number of dimensions of space.
        by_plane: True if the closure has numbers of each plane normal to the last axis.
    """
    resolved, velocity = Resolved(of, dimensions, by_plane), text.closed_velocity
    lines = [with_closures(read_line(line, text.words), resolved) for line in text.write]
    plain, columns = text.plain, {LOSS: canonical(resolved.loss), MEAN_VISCOSITY: canonical(resolved.viscosity)}
    return replace(
        text,
        write=list(map(canonical, lines)),
        define={resolved.name: resolved.definition.format(velocity), **dict(text.define)},
        functions={**dict(text.functions), **resolved.functions},
        series={**columns_that_fit(plain, text.series, dimensions), **columns},
        symbols={**dict(text.symbols), resolved.name: "S" if of == "strain" else "A"},
        invariants=None if text.invariants is None else columns_that_fit(plain, text.invariants, dimensions),
    )


@cache
def without_parameters(text: Text, names: frozenset[str]) -> Text:
    """The text without the terms that hold these parameters, and without columns of which nothing is left."""
    if not names:
        return text
    changed: dict[str, Any] = {}
    for table in ("define", "energies", "series", "invariants", "vectors", "conserved"):
        given = getattr(text, table)
        read = {name: read_expression(own, text.words) for name, own in given or ()}
        kept, names = table_without(read, names)
        changed[table] = None if given is None else {name: canonical(node) for name, node in kept.items()}
    lines = lines_without((read_line(line, text.words) for line in text.write), names)
    rate_left = without(read_expression(text.rate, text.words), names) if text.rate else None
    made = replace(
        text,
        write=[canonical(line) for line in lines],
        **changed,
        parameters=None if text.parameters is None else [pair for pair in text.parameters if pair[0] not in names],
        limits=[],
        units=[pair for pair in text.units if pair[0] not in names],
        spectra=[name for name in text.spectra if name not in names],
        rate="" if rate_left is None else canonical(rate_left),
    )
    gone = text.system.parameters.keys() - made.system.parameters.keys()  # a power goes with what it is a power of
    return replace(made, limits=[pair for pair in text.limits if pair[0] not in gone])


def columns_that_fit(text: Text, table: Sequence[tuple[str, str]], dimensions: int) -> dict[str, str]:
    """Columns that make sense in so many dimensions; one that makes sense in no dimension stays, and is refused later.

    So a helicity may be declared with an enstrophy, which is a scalar in two dimensions alone.
    """
    system, names = text.system, {name: SCALAR for name, _ in [*(text.energies or ()), *text.series]}

    def fits(own: str, d: int) -> bool:
        node = insert(read_expression(own, text.words), system.definitions)
        try:
            return kind_of(_without_extremes(node), {**names, **system.kinds}, d, system.functions).order == 0
        except WrittenError:
            return False

    others = [d for d in system.dimensions if d != dimensions]
    left_out = lambda own: not fits(own, dimensions) and any(fits(own, d) for d in others)  # noqa: E731
    return {name: own for name, own in table if not left_out(own)}


def _without_extremes(node: Node) -> Node:
    """An expression with what `max(f)` and `min(f)` are taken of in their place."""
    if isinstance(node, Call) and node.function in EXTREMES and len(node.arguments) == 1:
        return _without_extremes(node.arguments[0])
    return node.map_children(_without_extremes)
