"""Whether a plan gives what stands in the text: both are worked out for fields of a few modes drawn at random.

A product of m factors is linear in each of them: with one mode in each, the terms of that degree are told apart.
Functions at the points that are no polynomials, and coordinates, count as fields of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from solver.written.arranged import Row
from solver.written.components import ONE
from solver.written.degrees import degree, is_constant
from solver.written.elimination import Reduced, replaced
from solver.written.matrices import matrices, multiplied
from solver.written.plan import Plan
from solver.written.samples import Samples, draw
from solver.written.symbols import outermost
from solver.written.tree import Entry, Name, Node, Number, Power, Product, Quotient, Slot, Sum
from solver.written.vocabulary import COORDINATES

Values: TypeAlias = dict[int, Any]  # by the factors that are in, as bits

SAMPLES, SEED = 40, 11
MOST_FACTORS = 4
AGREED = 1e-8  # of the largest value


def agrees(less: Reduced, plan: Plan[Row]) -> bool:
    """Whether the rates of change by a plan are those of the text, for fields that meet the constraints."""
    for samples in samples_of(less):
        of_text = Multilinear(less, samples, None)
        of_plan = Multilinear(less, samples, plan, of_text.functions)
        for bits, at in ((max(samples.modes), samples.at.changes), (0, matrices(less, samples.modes[0]).changes)):
            rows = [(of_text.value(node), of_plan.value(plan.rows[row])) for row, node in less.rest.items()]
            texts, plans = (stacked([pair[side] for pair in rows], bits) for side in range(2))
            size = max(np.abs(texts).max(), np.abs(plans).max(), 1e-300)
            if np.abs(multiplied(at, texts - plans)).max() > AGREED * size * max(1.0, np.abs(at).max()):
                return False
    return True


def samples_of(less: Reduced) -> Iterator[Samples]:
    """Samples of one factor, of two, and so on, as many as the right-hand sides multiply."""
    most = max((degree(node, tuple(less.system.fields)) for node in less.rest.values()), default=0)
    for factors in range(1, int(min(max(most, 2), MOST_FACTORS)) + 1):
        yield draw(less, SAMPLES, SEED + factors, factors)


def stacked(values: Iterable[Values], bits: int) -> np.ndarray:
    """What several expressions are, with these factors in `(sample, expression)`."""
    arrays = [np.broadcast_to(np.asarray(each.get(bits, 0.0), complex), SAMPLES) for each in values]
    return np.stack(arrays, axis=1)


class Multilinear:
    """Values of expressions, by the factors whose amplitudes they hold.

    Args:
        less: the system.
        samples: modes and amplitudes of each factor.
        plan: what slots stand for.
        functions: amplitudes of what is no polynomial, by its expression in the fields.
    """

    def __init__(
        self, less: Reduced, samples: Samples, plan: Plan[Row] | None, functions: dict[Node, Values] | None = None
    ) -> None:
        self.fields, self.samples, self.modes, self.plan = less.system.fields, samples, samples.modes, plan
        self.functions = {} if functions is None else functions
        self.random = np.random.default_rng(5)
        self.slots: dict[Node, Values] = {}

    def value(self, node: Node) -> Values:
        """The values of an expression."""
        if is_constant(node, self.fields):
            return {0: self.modes[0].value(node)}
        if (layer := outermost(node, self.fields)) is not None:
            return {bits: self.modes[bits].value(layer.symbol) * v for bits, v in self.value(layer.of).items()}
        match node:
            case Slot():
                return self.slot(node)
            case Name(name) | Entry(name, _) if name in self.fields:
                return {bits: modes.values(node) for bits, modes in self.samples.factors.items()}
            case Sum(terms):
                return _added([self.value(term) for term in terms])
            case Product(left, right):
                return _multiplied(self.value(left), self.value(right))
            case Quotient(above, below) if above != ONE:
                return _multiplied(self.value(above), self.value(Quotient(ONE, below)))
            case Power(base, Number(exponent)) if exponent.real > 0 and exponent == int(exponent.real):
                whole = self.value(base)
                for _ in range(int(exponent.real) - 1):
                    whole = _multiplied(whole, self.value(base))
                return whole
        return self.function(node)

    def slot(self, slot: Slot) -> Values:
        """What a slot of the plan stands for."""
        if slot not in self.slots:
            self.slots[slot] = self.value(self.held(slot))
        return self.slots[slot]

    def held(self, slot: Slot) -> Node:
        """The expression of a slot."""
        assert self.plan is not None
        return (self.plan.inner if slot.holds == "inner" else self.plan.products)[slot.number]

    def function(self, node: Node) -> Values:
        """A function at the points, or a coordinate: the same amplitudes for the same expression."""
        if isinstance(node, Name):
            assert node.name in COORDINATES
        key = self.in_fields(node)
        if key not in self.functions:
            drawn = self.random.normal(size=(len(self.samples.factors), SAMPLES))
            self.functions[key] = dict(zip(self.samples.factors, drawn, strict=True))
        return self.functions[key]

    def in_fields(self, node: Node) -> Node:
        """An expression with what its slots stand for, in one form."""
        slots = {slot: self.in_fields(self.held(slot)) for slot in node.slots}
        return replaced(node, slots)  # type: ignore[arg-type]


def _added(parts: Sequence[Values]) -> Values:
    total: Values = {}
    for part in parts:
        for bits, v in part.items():
            total[bits] = total[bits] + v if bits in total else v
    return total


def _multiplied(left: Values, right: Values) -> Values:
    total: Values = {}
    for a, v in left.items():
        for b, w in right.items():
            if not a & b:
                total[a | b] = total.get(a | b, 0) + v * w
    return total
