"""Which products of inner fields give the quadratic terms, as problems of least squares.

T(p, q) = Σ A(p + q) g(p) h(q) for all p and q: the products g h are chosen, and the coefficients of the polynomials A
are sought. Where unknowns project the rows, both sides are projected: the rows of such a problem are coupled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from solver.written.terms import LARGEST_DENOMINATOR, Term, Weight

Pair: TypeAlias = tuple[int, int]  # two inner fields, by their places in the dictionary

ROUGH, EXACT = 1e-4, 1e-9  # left over by normal equations, and by the samples themselves
RIDGE = 1e-13
BLOCK = 64  # rows that are brought to a triangle at once


@dataclass
class Problem:
    """Does Σ x[column] matrix[:, column] = right hold?

    Args:
        rows: to which the columns of `right` belong; all of them together in a coupled problem.
        is_coupled: True if rows are projected together.
        columns: terms of products of inner fields, whose numbers are sought; in a problem that is not coupled, for each
            row.
        matrix, right: left and right sides of the equations of the samples.
    """

    rows: tuple[int, ...]
    is_coupled: bool
    columns: Sequence[Term]
    matrix: np.ndarray
    right: np.ndarray
    of_pair: dict[Pair, list[int]] = field(init=False)
    _known: dict[tuple[Pair, ...], bool] = field(init=False, default_factory=dict)
    _minimal: dict[Any, list[tuple[Pair, ...]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.of_pair = {}
        for i, column in enumerate(self.columns):
            assert isinstance(column.made, tuple)
            self.of_pair.setdefault(column.made, []).append(i)
        self.scale = np.maximum(np.linalg.norm(self.matrix, axis=0), 1e-30)
        self.matrix = self.matrix / self.scale
        self.gram = self.matrix.conj().T @ self.matrix
        self.moments = self.matrix.conj().T @ self.right
        self.sizes = np.maximum((np.abs(self.right) ** 2).sum(0), 1e-300)

    def within(self, inner: Iterable[int]) -> tuple[Pair, ...]:
        chosen = set(inner)
        return tuple(pair for pair in self.of_pair if chosen.issuperset(pair))

    def _picked(self, pairs: Sequence[Pair]) -> np.ndarray:
        return np.array(sorted(i for pair in pairs for i in self.of_pair[pair]), int)

    def suffices(self, pairs: tuple[Pair, ...]) -> bool:
        """True if these products are enough, by normal equations."""
        if pairs not in self._known:
            self._known[pairs] = self._left_over(self._picked(pairs)) < ROUGH
        return self._known[pairs]

    def _left_over(self, picked: np.ndarray) -> float:
        """The largest share of a right-hand side that these columns leave."""
        if not len(picked):
            return 1.0
        gram, moments = self.gram[np.ix_(picked, picked)], self.moments[picked]
        x = np.linalg.solve(gram + RIDGE * np.eye(len(picked)), moments)
        left = self.sizes - 2 * (x.conj() * moments).sum(0).real + (x.conj() * (gram @ x)).sum(0).real
        return float(np.sqrt(np.abs(left / self.sizes).max()))

    def minimal(
        self, pairs: tuple[Pair, ...], keys: Sequence[Callable[[Pair], Any]], needed: int
    ) -> list[tuple[Pair, ...]]:
        """Sets of products of which none can be dropped: the rest when they are dropped in several orders."""
        if pairs not in self._minimal:
            found = dict.fromkeys(self._dropped(pairs, key) for key in keys)
            self._minimal[pairs] = sorted(found, key=len)[:needed]
        return self._minimal[pairs]

    def _dropped(self, pairs: tuple[Pair, ...], key: Callable[[Pair], Any]) -> tuple[Pair, ...]:
        """Products that remain when each product is dropped for which the others suffice.

        Many at once are tried first: if they can go together, each of them can.
        """
        left = dict.fromkeys(pairs)

        def drop(some: list[Pair]) -> None:
            without = tuple(pair for pair in left if pair not in some)
            if self.suffices(without):
                for pair in some:
                    del left[pair]
            elif len(some) > 1:
                drop(some[: len(some) // 2])
                drop(some[len(some) // 2 :])

        drop(sorted(pairs, key=key))
        return tuple(left)

    def solved(self, pairs: tuple[Pair, ...]) -> list[Term] | None:
        """Coefficients from these products, few of them where there is a choice; None if they are not enough."""
        picked = self._picked(pairs)
        matrix = self.matrix[:, picked]
        x = _least_squares(matrix, self.right, rcond=1e-10)
        left = np.linalg.norm(matrix @ x - self.right, axis=0) / np.sqrt(self.sizes)
        if left.max() > EXACT:
            return None
        null = _null_space(self.gram[np.ix_(picked, picked)]) / self.scale[picked, None]
        x = x / self.scale[picked, None]
        found = []
        for j in range(x.shape[1]):
            for i, value in zip(picked, sparse(x[:, j], null), strict=True):
                column = self.columns[i]
                row = column.row if self.is_coupled else self.rows[j]
                if value:
                    found.append(replace(column, row=row, weight=Weight(value, column.weight.constants)))
        return found


def _least_squares(matrix: np.ndarray, right: np.ndarray, rcond: float) -> np.ndarray:
    """As `np.linalg.lstsq`, with rows brought to a triangle block by block, so that BLAS starts no threads for them.

    OpenBLAS' threads wait for each other in loops: where other programs have the processors, a matrix of 2000 × 60
    took a second instead of milliseconds.
    """
    both, count = np.hstack([matrix, right]), matrix.shape[1]
    triangle = both[:0]
    for start in range(0, len(both), BLOCK):
        triangle = np.linalg.qr(np.vstack([triangle, both[start : start + BLOCK]]), mode="r")
    x, *_ = np.linalg.lstsq(triangle[:, :count], triangle[:, count:], rcond=rcond)
    return np.asarray(x)


def _null_space(gram: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors[:, values < 1e-9 * values[-1]])


def sparse(x: np.ndarray, null: np.ndarray) -> list[float]:
    """x plus what makes no difference, so that few entries are left; small ones are dropped, plain ones rounded.

    Args:
        x: a solution.
        null: combinations that can be added to the solution, column by column.
    """
    null, size = np.array(null), np.abs(x).max(initial=0.0)
    while null.shape[1]:
        best = None
        for i in np.flatnonzero(np.abs(null).max(1) > 1e-6 * np.abs(null).max()):
            j = int(np.argmax(np.abs(null[i])))
            tried = x - null[:, j] * (x[i] / null[i, j])
            key = (int((np.abs(tried) > 1e-7 * size).sum()), round(float(np.abs(tried).sum()) / size, 6), -i)
            if best is None or key < best[0]:
                best = (key, i, j, tried)
        if best is None:
            break
        _, i, j, x = best
        others = [n for n in range(null.shape[1]) if n != j]
        null = null[:, others] - np.outer(null[:, j], null[i, others] / null[i, j])
    return [rounded(float(value.real)) if abs(value) > 1e-7 * size else 0.0 for value in x]


def rounded(value: float) -> float:
    """The fraction with a denominator of at most 48 that a value is to 1e-7, but for zero; else the value."""
    near = float(Fraction(value).limit_denominator(LARGEST_DENOMINATOR))
    return near if near and abs(near - value) < 1e-7 else value
