"""Finds the fewest scalars to take back from the points: products that modes need in combinations are one.

R(k) Σ A(k) f = R(k) Σ A'(k) F with fewer F, each a sum of f with constant coefficients: their number is the rank of R A
over all k. Constants that are no plain numbers are before F, or inside it where that costs less: nothing is divided
by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from solver.written.elimination import Reduced
from solver.written.problem import rounded
from solver.written.samples import draw
from solver.written.terms import Made, Term, Weight, acting, constant
from solver.written.tree import Node

SEED = 3
NEGLIGIBLE = 1e-6
LAST = 10**6
Key: TypeAlias = tuple[Made, tuple[Node, ...]]  # with the constants inside
Vectors: TypeAlias = Mapping[Key, np.ndarray]


@dataclass(frozen=True)
class Combination:
    """The scalars that are taken back from the points.

    Args:
        keys: expressions at the points, with the constants that are inside.
        pivots: places of those that lead a combination.
        mix: by combination and key.
        outside: products whose constants stand outside.
    """

    keys: Sequence[Key]
    pivots: Sequence[int]
    mix: np.ndarray
    outside: Sequence[Made]

    def weight(self, pivot: int, term: Term) -> Weight | None:
        """The weight of the combination of a pivot in a term; None if the term belongs to another key."""
        made, constants = self.keys[pivot]
        if made in self.outside:
            return term.weight if term.made == made else None
        return Weight(term.weight.number) if term.key == (made, constants) else None


class Forward:
    """Works out ranks at one set of random modes."""

    def __init__(self, reduced: Reduced, count: int) -> None:
        samples = draw(reduced, count, SEED)
        usual = np.any(samples.whole.slopes != 0, axis=0)
        self.modes = samples.whole
        self.changes = samples.at.changes * usual[:, None, None]

    def vectors(self, terms: Sequence[Term]) -> dict[Key, np.ndarray]:
        """R A of the expressions at the points, over all modes."""
        found: dict[Key, np.ndarray] = {}
        for term, acts in zip(terms, acting(terms, self.modes, False), strict=True):
            vector = self.changes[:, :, term.row] * (term.weight.number * acts)[:, None]
            found[term.key] = found[term.key] + vector if term.key in found else vector
        return found

    def outside(self, vectors: Vectors, of: Iterable[Made]) -> dict[Key, np.ndarray]:
        """The same with the constants of some products outside of them."""
        chosen, found = set(of), dict[Key, np.ndarray]()
        for (made, constants), vector in vectors.items():
            if made in chosen and constants:
                vector = vector * np.reshape(self.modes.value(constant(Weight(1.0, constants))), (-1, 1))
            key = (made, () if made in chosen else constants)
            found[key] = found[key] + vector if key in found else vector
        return found

    def least(self, vectors: Vectors) -> int:
        """The rank, with constants inside or outside of all products."""
        ranks = [self._rank(vectors)]
        if any(constants for _, constants in vectors):
            ranks.append(self._rank(self.outside(vectors, [made for made, _ in vectors])))
        return min(ranks)

    def _rank(self, vectors: Vectors) -> int:
        if not vectors:
            return 0
        matrix = np.array([vector.ravel() for vector in vectors.values()])
        sizes = np.abs(matrix).max(1, keepdims=True)
        matrix = matrix / np.where(sizes > 1e-12, sizes, np.inf)
        return int(np.linalg.matrix_rank(matrix @ matrix.conj().T, tol=1e-8, hermitian=True))

    def combined(self, terms: Sequence[Term]) -> Combination:
        """The fewest combinations that are found; constants stand outside where that is no dearer."""
        vectors = self.vectors(terms)
        fewest, outside = self._rank(vectors), list[Made]()
        everywhere = list(dict.fromkeys(made for made, _ in vectors))
        for tried in [everywhere, *([made] for made in everywhere)]:
            rank = self._rank(self.outside(vectors, [*outside, *tried]))
            if rank <= fewest:
                fewest, outside = rank, [*outside, *tried]
        return self._mixed(self.outside(vectors, outside), outside)

    def _mixed(self, vectors: Vectors, outside: Sequence[Made]) -> Combination:
        keys = sorted(vectors, key=_place)
        matrix = np.array([vectors[key].ravel() for key in keys]).T if keys else np.zeros((1, 0))
        pivots: list[int] = []
        basis = np.zeros((len(matrix), 0))
        for i in range(len(keys)):
            left = matrix[:, i]
            for _ in range(2):
                left = left - basis @ (basis.conj().T @ left)
            if np.linalg.norm(left) > NEGLIGIBLE * max(1e-9, float(np.linalg.norm(matrix[:, i]))):
                pivots.append(i)
                basis = np.hstack([basis, left[:, None] / np.linalg.norm(left)])
        mix, *_ = np.linalg.lstsq(matrix[:, pivots], matrix, rcond=None)
        return Combination(keys, pivots, _clean(mix), outside)


def _clean(mix: np.ndarray) -> np.ndarray:
    """Coefficients with plain ones rounded, and without those that are rounding."""
    plain = lambda part: rounded(float(part)) if abs(part) > NEGLIGIBLE else 0.0  # noqa: E731
    return np.reshape([complex(plain(value.real), plain(value.imag)) for value in mix.ravel()], mix.shape)


def _place(key: Key) -> tuple[tuple[int, int], str]:
    """The order of expressions at the points: products of two first."""
    made, constants = key
    return (made if isinstance(made, tuple) else (LAST, LAST)), repr(constants)
