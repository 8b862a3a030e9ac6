"""Wavevectors, amplitudes and parameters drawn at random, on which products of fields are compared.

A field is a sum of modes. What is quadratic is known from pairs of modes: one field has the wavevector p, the other q,
and their product has p + q. ∂ stands for a real number instead of i k. Amplitudes meet the constraints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.written.linear import linear_part
from solver.written.matrices import Matrices, Operators, matrix
from solver.written.symbols import RandomModes
from solver.written.tree import Node


class SampledModes(RandomModes):
    """Modes that are given, each with parameters of its own.

    Args:
        slopes: what ∂ stands for `(axis, mode)`.
        numbers: parameters that were drawn already; new ones are put in.
        random: draws them.
    """

    def __init__(self, slopes: np.ndarray, numbers: dict[Any, Any], random: np.random.Generator) -> None:
        self.slopes, self.numbers, self.random = slopes, numbers, random

    def number(self, name: str, index: tuple[int, ...]) -> Any:
        if (name, index) not in self.numbers:
            self.numbers[name, index] = self.random.uniform(0.5, 1.5, self.slopes.shape[1])
        return self.numbers[name, index]

    def scaled(self, factor: float, lengths: Mapping[Any, float]) -> SampledModes:
        """The same with all wavevectors multiplied, and with parameters that count as so many derivatives."""
        numbers = {key: value * factor ** lengths.get(key, 0.0) for key, value in self.numbers.items()}
        return SampledModes(factor * self.slopes, numbers, self.random)


@dataclass(frozen=True)
class Samples:
    """Pairs of modes.

    Args:
        modes: of each subset of the factors, by the bits of its number: 1 is p, 2 is q, 3 is p + q.
        amplitudes: of each factor `(sample, scalar)`, which meet the constraints.
        at: the matrices at the sum of all.
    """

    modes: Mapping[int, SampledModes]
    amplitudes: Sequence[np.ndarray]
    at: Matrices

    @property
    def whole(self) -> SampledModes:
        """The modes that products have."""
        return self.modes[max(self.modes)]


def draw(operators: Operators, dimensions: int, count: int, seed: int, factors: int = 2) -> Samples:
    """Random samples. In a tenth of them one wavevector is zero, in another tenth their sum: inverses are zero there.

    Args:
        operators: of the system.
        dimensions: of space.
        count: how many samples.
        seed: of the numbers.
        factors: how many fields are multiplied.
    """
    random = np.random.default_rng(seed)
    shape = (factors, dimensions, count)
    slopes = random.uniform(0.5, 1.5, shape) * random.choice([-1, 1], shape)
    tenth = max(2, count // 10)
    slopes[0, :, :tenth] = 0
    slopes[-1, :, tenth : 2 * tenth] = -slopes[:-1, :, tenth : 2 * tenth].sum(0)
    numbers: dict[Any, Any] = {}
    sums = {
        bits: SampledModes(sum(slopes[i] for i in range(factors) if bits >> i & 1), numbers, random)  # type: ignore[arg-type]
        for bits in range(1, 2**factors)
    }
    amplitudes = []
    for i in range(factors):
        projector = operators.at(sums[1 << i]).projector
        free = random.normal(size=(count, len(operators.scalars)))
        amplitudes.append(np.einsum("sij,sj->si", projector, free))
    return Samples(sums, amplitudes, operators.at(sums[2**factors - 1]))


@dataclass(frozen=True)
class Forms:
    """Linear expressions as functions of amplitudes.

    Args:
        symbols: of each expression, by its place and by scalar.
        count: how many expressions.
        scalars: of the fields.
    """

    symbols: Mapping[tuple[int, Node], Node]
    count: int
    scalars: Sequence[Node]

    @classmethod
    def of(cls, nodes: Sequence[Node], scalars: Sequence[Node], fields: Sequence[str]) -> Forms:
        """The forms of linear expressions."""
        return cls(linear_part(dict(enumerate(nodes)), fields).symbols, len(nodes), scalars)

    def matrix(self, modes: SampledModes) -> np.ndarray:
        """What each scalar adds `(sample, expression, scalar)`."""
        return matrix(self.symbols, range(self.count), self.scalars, modes)

    def values(self, samples: Samples, factor: int) -> np.ndarray:
        """The expressions of one of the factors `(sample, expression)`."""
        return np.einsum("sij,sj->si", self.matrix(samples.modes[1 << factor]), samples.amplitudes[factor])
