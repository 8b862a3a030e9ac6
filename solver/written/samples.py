"""Modes, amplitudes and parameters drawn at random, and expressions of fields worked out on them.

A field is a sum of modes. A product of m factors is linear in each of them: with one mode in each, the terms of that
degree are distinguished. Quadratic terms are known from pairs of modes: one field has the wavevector p, the other q,
and their product has p + q. ∂ means a real number instead of i k. Amplitudes meet the constraints. Functions at the
points that are no polynomials, and coordinates, count as fields of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from solver.written.components import ONE
from solver.written.degrees import is_constant
from solver.written.elimination import Reduced
from solver.written.matrices import Matrices, matrices, multiplied
from solver.written.plan import Plan
from solver.written.symbols import Numbers, RandomModes, outermost, random_slopes
from solver.written.tree import Entry, Name, Node, Number, Power, Product, Quotient, Slot, Sum

Values: TypeAlias = dict[int, Any]  # by the factors that are in, as bits


@dataclass(frozen=True)
class Samples:
    """Sets of modes that are multiplied, one for each factor.

    Args:
        modes: modes of each subset of the factors, by the bits of its number: 1 is p, 2 is q, 3 is p + q. One factor's
            modes hold its amplitudes.
        at: the matrices at the sum of all.
    """

    modes: Mapping[int, RandomModes]
    at: Matrices

    @property
    def whole(self) -> RandomModes:
        """The modes that products have."""
        return self.modes[max(self.modes)]

    @property
    def factors(self) -> dict[int, RandomModes]:
        """The modes of each factor alone, by its bit."""
        return {bits: of for bits, of in self.modes.items() if bits.bit_count() == 1}


def draw(reduced: Reduced, count: int, seed: int, factors: int = 2) -> Samples:
    """Samples of fields that are multiplied, drawn at random.

    In a tenth of them one wavevector is zero, in another tenth their sum: inverses are zero there.
    """
    random = np.random.default_rng(seed)
    slopes, tenth = random_slopes(random, factors, reduced.dimensions, count), max(2, count // 10)
    slopes[0, :, :tenth] = 0
    slopes[-1, :, tenth : 2 * tenth] = -slopes[:-1, :, tenth : 2 * tenth].sum(0)
    return samples_at(reduced, slopes, random)


def samples_at(reduced: Reduced, slopes: np.ndarray, random: np.random.Generator) -> Samples:
    """Random amplitudes at given wavevectors `(factor, axis, sample)`."""
    factors, numbers = range(len(slopes)), Numbers()
    modes = {
        bits: RandomModes(slopes[[i for i in factors if bits >> i & 1]].sum(0), random, numbers)
        for bits in range(2 ** len(slopes))
    }
    for bits in (1 << i for i in factors):
        projector = matrices(reduced, modes[bits]).projector
        free = random.normal(size=(modes[bits].count, len(reduced.scalars)))
        modes[bits] = modes[bits].holding(reduced.scalars, multiplied(projector, free))
    return Samples(modes, matrices(reduced, modes[max(modes)]))


class Multilinear:
    """Values of expressions, by the factors whose amplitudes they hold.

    Args:
        reduced: the system.
        samples: modes and amplitudes of each factor.
        plan: gives the expressions of slots.
        functions: amplitudes of expressions that are no polynomials, by its expression in the fields.
    """

    def __init__(
        self,
        reduced: Reduced,
        samples: Samples,
        plan: Plan[Any] | None = None,
        functions: dict[Node, Values] | None = None,
    ) -> None:
        self.fields, self.samples, self.modes, self.plan = reduced.system.fields, samples, samples.modes, plan
        self.functions = {} if functions is None else functions
        self.random = np.random.default_rng(5)
        self.slots: dict[Slot, Values] = {}

    def stacked(self, nodes: Iterable[Node], bits: int) -> np.ndarray:
        """Values of several expressions, with these factors in `(sample, expression)`."""
        values = (np.asarray(self.value(node).get(bits, 0.0), complex) for node in nodes)
        return np.stack([np.broadcast_to(value, self.samples.whole.count) for value in values], axis=1)

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
                return _added((bits, v) for term in terms for bits, v in self.value(term).items())
            case Product(left, right):
                return _multiplied(self.value(left), self.value(right))
            case Quotient(above, below) if above != ONE:
                return _multiplied(self.value(above), self.value(Quotient(ONE, below)))
            case Power(base, Number(exponent)) if exponent.real > 0 and exponent == int(exponent.real):
                return reduce(_multiplied, [self.value(base)] * int(exponent.real))
        return self.function(node)

    def slot(self, slot: Slot) -> Values:
        """The value of a slot of the plan."""
        assert self.plan is not None
        if slot not in self.slots:
            self.slots[slot] = self.value(self.plan.held(slot))
        return self.slots[slot]

    def function(self, node: Node) -> Values:
        """A function at the points, or a coordinate: the same amplitudes for the same expression."""
        key = node if self.plan is None else self.plan.without_slots(node)
        if key not in self.functions:
            drawn = self.random.normal(size=(len(self.samples.factors), self.samples.whole.count))
            self.functions[key] = dict(zip(self.samples.factors, drawn, strict=True))
        return self.functions[key]


def _added(parts: Iterable[tuple[int, Any]]) -> Values:
    total: Values = {}
    for bits, v in parts:
        total[bits] = total.get(bits, 0) + v
    return total


def _multiplied(left: Values, right: Values) -> Values:
    return _added((a | b, v * w) for a, v in left.items() for b, w in right.items() if not a & b)
