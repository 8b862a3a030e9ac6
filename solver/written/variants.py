"""Texts that are made of a text: with bodies, without them, without the terms of some parameters."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from solver.written.canonical import canonical
from solver.written.obstacles import WORD, Conditions, called, functions_of, scalars, with_penalties, without_penalties
from solver.written.optional import lines_without, table_without, without
from solver.written.parse import read_expression, read_line
from solver.written.worked import columns_that_fit

if TYPE_CHECKING:
    from solver.written.text import Text


@cache
def penalised(text: Text) -> str:
    """The velocity that `penalise` is called of, as text; empty without `penalise`."""
    read = [read_line(line, text.words) for line in text.write if WORD in line]
    found = {node for line in read for node in called(line)}
    if len(found) > 1:
        raise min(found, key=repr).place.error("bodies act on one velocity: penalise is called of another one, too")
    return canonical(found.pop()) if found else ""


@cache
def without_obstacles(text: Text) -> Text:
    """The text without the terms of bodies and sponges, once these are checked."""
    plain, _ = _without_word(text), penalised(text)  # which refuses two velocities
    for line in (read_line(line, text.words) for line in text.write):
        for scalar, diffusivity in scalars(line):
            if dict(text.fields).get(canonical(scalar)) != "scalar":
                raise scalar.place.error("penalise of two things: a scalar field is needed first, and its diffusivity")
            if alone := sorted(diffusivity.names - plain.system.parameters.keys() - {"pi"}):
                raise diffusivity.place.error(
                    f"{alone[0]} in the diffusivity of a scalar at bodies: a number is needed, or a parameter that "
                    "stands elsewhere, too"
                )
    return plain


def _without_word(text: Text) -> Text:
    return replace(text, write=[canonical(without_penalties(read_line(line, text.words))) for line in text.write])


@cache
def with_obstacles(text: Text, dimensions: int, move: bool, conditions: Conditions) -> Text:
    """The text with bodies and sponges, as `Text.with_obstacles` says."""
    lines = [with_penalties(read_line(line, text.words), dimensions, move, conditions) for line in text.write]
    plain = text.without_obstacles  # whose columns may make sense in fewer dimensions than these functions do
    return replace(
        text,
        write=list(map(canonical, lines)),
        functions={**dict(text.functions), **functions_of(conditions)},
        series=columns_that_fit(plain, text.series, dimensions),
        invariants=None if text.invariants is None else columns_that_fit(plain, text.invariants, dimensions),
    )


@cache
def without_parameters(text: Text, names: frozenset[str]) -> Text:
    """The text without the terms that hold these parameters, and without columns of which nothing is left."""
    changed: dict[str, Any] = {}
    for table in ("define", "energies", "series", "invariants", "vectors", "conserved"):
        given = getattr(text, table)
        read = {name: read_expression(own, text.words) for name, own in given or ()}
        kept, names = table_without(read, names)
        changed[table] = None if given is None else {name: canonical(node) for name, node in kept.items()}
    lines = lines_without((read_line(line, text.words) for line in text.write), names)
    rate_left = without(read_expression(text.rate, text.words), names) if text.rate else None
    return replace(
        text,
        write=[canonical(line) for line in lines],
        **changed,
        parameters=None if text.parameters is None else [pair for pair in text.parameters if pair[0] not in names],
        limits=[pair for pair in text.limits if pair[0] not in names],
        units=[pair for pair in text.units if pair[0] not in names],
        spectra=[name for name in text.spectra if name not in names],
        rate="" if rate_left is None else canonical(rate_left),
    )
