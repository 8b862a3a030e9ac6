"""Proofs on random modes: a plan gives the rates of change of the text, and N conserves a quadratic form.

N keeps constraints, and quadratic forms whose change vanishes on every triad of modes p + q + r = 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from solver.written.arranged import Row
from solver.written.components import ZERO
from solver.written.degrees import degree, holds_place, is_constant
from solver.written.elimination import Reduced
from solver.written.energies import Square, without_causes
from solver.written.matrices import matrices, multiplied
from solver.written.plan import Plan
from solver.written.samples import Multilinear, Samples, draw, samples_at
from solver.written.symbols import outermost, random_slopes
from solver.written.tree import Node, Power, Product, Sum

SAMPLES, SEED = 40, 11
MOST_FACTORS = 7
AGREED = 1e-8  # of the largest values
PAIRS = ((0b011, 0b100), (0b101, 0b010), (0b110, 0b001))  # two modes that are multiplied, and the third one
CANCELS = 1e-9  # of the size of what cancels
BROKEN = 1e-12  # of the same: terms that keep a constraint leave 3e-16


def agrees(reduced: Reduced, plan: Plan[Row]) -> bool:
    """True if a plan gives the rates of change of the text, for fields that meet the constraints."""
    for samples in samples_of(reduced):
        of_text = Multilinear(reduced, samples)
        of_plan = Multilinear(reduced, samples, plan, of_text.functions)
        for bits, at in ((max(samples.modes), samples.at.changes), (0, matrices(reduced, samples.modes[0]).changes)):
            texts = of_text.stacked(reduced.rest.values(), bits)
            plans = of_plan.stacked([plan.rows[row] for row in reduced.rest], bits)
            sizes = np.maximum(np.abs(texts), np.abs(plans)).max(axis=0)  # of each row: one may be far smaller
            if np.any(np.abs(multiplied(at, texts - plans)) > AGREED * np.abs(at).max(axis=0) @ sizes):
                return False
    return True


def samples_of(reduced: Reduced) -> Iterator[Samples]:
    """Samples of one factor, of two, and so on, as many as the right-hand sides multiply."""
    most = max((degree(node, tuple(reduced.system.fields)) for node in reduced.rest.values()), default=0)
    for factors in range(1, int(min(max(most, 2), MOST_FACTORS)) + 1):
        yield draw(reduced, SAMPLES, SEED + factors, factors)


def refuse_broken_constraints(reduced: Reduced) -> None:
    """Refuse an N that breaks a constraint which no unknown serves.

    Raises:
        WrittenError: it does, for fields of a few modes drawn at random.
    """
    rows = list(reduced.constraint_rows)
    for samples in samples_of(reduced) if rows else ():
        right = Multilinear(reduced, samples).stacked(reduced.rest.values(), max(samples.modes))
        change = multiplied(samples.at.changes, right)
        broken = np.abs(multiplied(samples.at.constraints, change)).max(axis=0)
        # what is a gradient leaves round-off alone, which counts beside the terms that cancel in it
        terms = multiplied(np.abs(samples.at.changes), np.abs(right))
        sizes = multiplied(np.abs(samples.at.constraints), terms).max(axis=0)
        for row, error, size in zip(rows, broken, sizes, strict=True):
            if error > BROKEN * size:
                place = reduced.system.lines[row[0]].left.place
                raise place.error("the right-hand sides break this constraint, and no unknown keeps it")


def is_conserved(squares: Sequence[Square], reduced: Reduced) -> bool:
    """True if a quadratic form of real fields cannot be changed by N, which is to be quadratic; False if not proved.

    Lines that do not reach the fields of the form, such as a passive scalar's with its source, are left out.
    """
    fields = tuple(reduced.system.fields)
    if any(kind.is_complex for kind in reduced.system.kinds.values()):
        return False
    held = {part for square in squares for side in (square.left, square.right) for part in side.walk()}
    acting = {row for (scalar, row), response in reduced.responses.items() if scalar in held and response != ZERO}
    rest = {row: without_causes(node, fields) if row in acting else ZERO for row, node in reduced.rest.items()}
    if any(holds_place(node) or _degrees(node, fields) - {2} for node in rest.values()):
        return False  # sources, and what the causes of a budget do not have
    samples = _triads(reduced)
    values, total, size = Multilinear(reduced, samples), 0.0, 0.0
    for bits, third in PAIRS:
        modes = samples.modes[bits]
        change = multiplied(matrices(reduced, modes).changes, values.stacked(rest.values(), bits))
        sides = modes.holding(reduced.scalars, change), samples.modes[third]
        for square in squares:
            for left, right in (sides, sides[::-1]):
                part = samples.whole.value(square.number) * left.value(square.left) * right.value(square.right)
                total, size = total + part, size + np.abs(part)
    return bool(np.abs(total).max() <= CANCELS * max(np.max(size), 1e-300))


def _degrees(node: Node, fields: tuple[str, ...]) -> set[float]:
    """The degrees of the terms of an expression."""
    if node == ZERO:
        return set()
    if isinstance(node, Sum):
        return set().union(*(_degrees(term, fields) for term in node.terms))
    if (layer := outermost(node, fields)) is not None and not is_constant(node, fields):
        return _degrees(layer.of, fields)
    if isinstance(node, Product):
        return {a + b for a in _degrees(node.left, fields) for b in _degrees(node.right, fields)}
    if isinstance(node, Power) and len(_degrees(node.base, fields)) > 1:
        return {math.inf}
    return {degree(node, fields)}


def _triads(reduced: Reduced) -> Samples:
    """Three modes whose wavevectors add up to zero, with amplitudes that meet the constraints."""
    random = np.random.default_rng(13)
    slopes = random_slopes(random, 3, reduced.dimensions, SAMPLES)
    slopes[2] = -slopes[0] - slopes[1]
    return samples_at(reduced, slopes, random)
