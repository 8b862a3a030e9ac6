"""Wavevectors, amplitudes and parameters drawn at random, on which products of fields are compared.

A field is a sum of modes. What is quadratic is known from pairs of modes: one field has the wavevector p, the other q,
and their product has p + q. ∂ stands for a real number instead of i k. Amplitudes meet the constraints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from solver.written.elimination import Reduced
from solver.written.matrices import Matrices, matrices, multiplied
from solver.written.symbols import Numbers, RandomModes, random_slopes


@dataclass(frozen=True)
class Samples:
    """Sets of modes that are multiplied, one for each factor.

    Args:
        modes: of each subset of the factors, by the bits of its number: 1 is p, 2 is q, 3 is p + q. Those of one factor
            alone hold its amplitudes.
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


def draw(less: Reduced, count: int, seed: int, factors: int = 2) -> Samples:
    """Samples of fields that are multiplied, drawn at random.

    In a tenth of them one wavevector is zero, in another tenth their sum: inverses are zero there.
    """
    random = np.random.default_rng(seed)
    slopes, tenth = random_slopes(random, factors, less.dimensions, count), max(2, count // 10)
    slopes[0, :, :tenth] = 0
    slopes[-1, :, tenth : 2 * tenth] = -slopes[:-1, :, tenth : 2 * tenth].sum(0)
    return samples_at(less, slopes, random)


def samples_at(less: Reduced, slopes: np.ndarray, random: np.random.Generator) -> Samples:
    """Random amplitudes at given wavevectors `(factor, axis, sample)`."""
    factors, numbers = range(len(slopes)), Numbers()
    modes = {
        bits: RandomModes(slopes[[i for i in factors if bits >> i & 1]].sum(0), random, numbers)
        for bits in range(2 ** len(slopes))
    }
    for bits in (1 << i for i in factors):
        projector = matrices(less, modes[bits]).projector
        free = random.normal(size=(modes[bits].count, len(less.scalars)))
        modes[bits] = modes[bits].holding(less.scalars, multiplied(projector, free))
    return Samples(modes, matrices(less, modes[max(modes)]))
