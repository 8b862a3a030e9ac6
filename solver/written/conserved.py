"""What N leaves as it is: quadratic forms, whose change vanishes on every triad of modes p + q + r = 0; constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solver.written.agreement import AGREED, SAMPLES, Multilinear, samples_of, stacked
from solver.written.components import plus
from solver.written.degrees import degree
from solver.written.elimination import Reduced
from solver.written.energies import Square
from solver.written.matrices import operators
from solver.written.samples import Forms, SampledModes, Samples
from solver.written.tree import Call, Node, Sum

PAIRS = ((0b011, 2), (0b101, 1), (0b110, 0))  # two modes that are multiplied, and the third one
CANCELS = 1e-9  # of the size of what cancels


def refuse_broken_constraints(less: Reduced) -> None:
    """Refuse an N that breaks a constraint which no unknown serves.

    Raises:
        WrittenError: it does, for fields of a few modes drawn at random.
    """
    rows = list(less.constraint_rows)
    for samples in samples_of(less, operators(less)) if rows else ():
        values = Multilinear(less, samples, None)
        right = stacked(map(values.value, less.rest.values()), max(samples.modes))
        change = np.einsum("sij,sj->si", samples.at.changes, right)
        broken = np.abs(np.einsum("sij,sj->si", samples.at.constraints, change)).max(axis=0)
        for row, error in zip(rows, broken, strict=True):
            if error > AGREED * max(np.abs(change).max(), 1e-300):
                place = less.system.lines[row[0]].left.place
                raise place.error("the right-hand sides break this constraint, and no unknown keeps it")


def is_conserved(squares: Sequence[Square], less: Reduced) -> bool:
    """Whether a quadratic form of real fields cannot be changed by N, which is to be quadratic; False if not proved."""
    fields = tuple(less.system.fields)
    if any(kind.is_complex for kind in less.system.kinds.values()):
        return False
    rest = {row: _without_causes(node, fields) for row, node in less.rest.items()}
    if any(degree(node, fields) not in (0, 2) for node in rest.values()):
        return False
    samples, used = _triads(less), operators(less)
    values, total, size = Multilinear(less, samples, None), 0.0, 0.0
    for bits, third in PAIRS:
        rows = stacked(map(values.value, rest.values()), bits)
        change = np.einsum("sij,sj->si", used.at(samples.modes[bits]).changes, rows)
        sides = (samples.modes[bits], change), (samples.modes[1 << third], samples.amplitudes[third])
        for square in squares:
            number = np.asarray(samples.whole.value(square.number))
            for left, right in (sides, sides[::-1]):
                part = number * _form(square.left, less, *left) * _form(square.right, less, *right)
                total, size = total + part, size + np.abs(part)
    return bool(np.abs(total).max() <= CANCELS * max(np.max(size), 1e-300))


def _without_causes(node: Node, fields: tuple[str, ...]) -> Node:
    """A right-hand side without the terms of degree one whose cause is named: a budget has them on their own."""
    terms = node.terms if isinstance(node, Sum) else (node,)
    return plus(term for term in terms if not (degree(term, fields) == 1 and _is_named(term)))


def _is_named(term: Node) -> bool:
    return any(isinstance(part, Call) and part.function == "cause" for part in term.walk())


def _triads(less: Reduced) -> Samples:
    """Three modes whose wavevectors add up to zero, with amplitudes that meet the constraints."""
    random, d = np.random.default_rng(13), less.dimensions
    slopes = random.uniform(0.5, 1.5, (3, d, SAMPLES)) * random.choice([-1, 1], (3, d, SAMPLES))
    slopes[2] = -slopes[0] - slopes[1]
    numbers: dict[object, object] = {}
    sums = {bits: sum(slopes[i] for i in range(3) if bits >> i & 1) for bits in range(1, 8)}
    modes = {bits: SampledModes(np.asarray(of), numbers, random) for bits, of in sums.items()}
    used, amplitudes = operators(less), []
    for i in range(3):
        free = random.normal(size=(SAMPLES, len(less.scalars)))
        amplitudes.append(np.einsum("sij,sj->si", used.at(modes[1 << i]).projector, free))
    return Samples(modes, amplitudes, used.at(modes[7]))


def _form(node: Node, less: Reduced, modes: SampledModes, amplitudes: np.ndarray) -> np.ndarray:
    """A linear expression of amplitudes."""
    of_fields = Forms.of([node], less.scalars, tuple(less.system.fields)).matrix(modes)
    return np.asarray(np.einsum("sij,sj->si", of_fields, amplitudes)[:, 0])
