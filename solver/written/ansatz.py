"""The problems of least squares that a system's quadratic terms pose.

Terms are separated where nothing ties them to each other: by rows that no projection mixes, by the groups of
multiplied scalars, and by their constants. Each part is a small problem of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from solver.written.dictionary import Dictionary, Inner, joined, rank
from solver.written.elimination import Reduced
from solver.written.parameters import Lengths, holds_parameters, inner_constants, order_and_rest, order_of
from solver.written.problem import Problem
from solver.written.samples import Samples, draw
from solver.written.symbols import derivative_of
from solver.written.terms import Made, Term, Weight, acting
from solver.written.tree import Node

SEED = 2
MOST_COLUMNS = 2500  # of one problem: a few seconds


@dataclass(frozen=True)
class _Part:
    """Terms that are matched together.

    Args:
        rows: which stand together.
        is_coupled: True if they are projected together.
        terms: terms of these rows.
        columns: products that match them.
    """

    rows: tuple[int, ...]
    is_coupled: bool
    terms: Sequence[Term]
    columns: Sequence[Term]


@dataclass(frozen=True)
class Ansatz:
    """Builds the problems of a system.

    Args:
        reduced: the system.
        terms: products of two linear factors; each names its row by number.
        choice: the inner fields.
        factors: known properties of every factor in the terms.
        lengths: as how many derivatives parameters count, as the inner fields were measured with.
        samples: a few, to see which terms are tied to each other.
    """

    reduced: Reduced
    terms: Sequence[Term]
    choice: Dictionary
    factors: Mapping[Node, Inner]
    samples: Samples
    lengths: Lengths

    def problems(self) -> list[Problem] | None:
        """All of them; None if one is too large."""
        parts = [part for part in self._parts() if part.terms]
        if any(len(part.columns) > MOST_COLUMNS for part in parts):
            return None
        most = max((len(part.columns) // max(1, self._independent(part)) for part in parts), default=0)
        samples = draw(self.reduced, int(1.3 * most) + 60, SEED)
        numbers = _Numbers(self, samples)
        found = [numbers.problem(part) for part in parts]
        return [problem for problem in found if problem is not None]

    # ---- what belongs together --------------------------------------------------------------------------------------

    def _independent(self, part: _Part) -> int:
        """Number of equations that one sample gives for the same coefficients."""
        return rank(self.samples.at.changes[-1][:, list(part.rows)]) if part.is_coupled else 1

    def _parts(self) -> list[_Part]:
        found = []
        constants = list(dict.fromkeys(term.weight.constants for term in self.terms))
        together = [tuple(constants)] if self.is_parametric else [(c,) for c in constants]
        for rows, is_coupled in self._row_groups():
            for of in together:
                terms = [t for t in self.terms if t.row in rows and t.weight.constants in of]
                for some, groups in self._by_groups(terms):
                    columns = self._columns(rows if is_coupled else rows[:1], some, groups)
                    found.append(_Part(rows, is_coupled, some, columns))
        return found

    def _row_groups(self) -> list[tuple[tuple[int, ...], bool]]:
        """Rows that a singular projection ties together, each group by itself, and all other rows."""
        changes = self.samples.at.changes[-1]
        tied = [set(np.flatnonzero(np.abs(scalar) > 1e-9).tolist()) for scalar in changes]
        groups = joined([{row} for row in range(changes.shape[1])], tied)
        ordered = sorted(tuple(sorted(group)) for group in groups)
        coupled = [group for group in ordered if rank(changes[:, list(group)].T) < len(group)]
        free = tuple(sorted(row for group in ordered if group not in coupled for row in group))
        return [(group, True) for group in coupled] + [(free, False)] * bool(free)

    @property
    def is_parametric(self) -> bool:
        """True if parameters stand inside linear expressions, where they cannot be distinguished from them."""
        return any(holds_parameters(inner.node) for inner in (*self.choice.inner, *self.factors.values()))

    def _factors(self, term: Term) -> list[Inner]:
        assert isinstance(term.made, tuple)
        return [self.factors[node] for node in term.made]

    def _by_groups(self, terms: Sequence[Term]) -> list[tuple[list[Term], set[tuple[int, int]]]]:
        """Terms by the pairs of groups that they multiply, with those that a product ties together as one."""
        signatures = [_pairs(a, b) for a, b in combinations_with_replacement(self.choice.inner, 2)]
        of_terms = [_pairs(*self._factors(term)) for term in terms]
        parts = joined([], [*signatures, *of_terms])
        split = [([t for t, s in zip(terms, of_terms, strict=True) if s & part], part) for part in parts]
        return [(some, part) for some, part in split if some]

    # ---- columns ----------------------------------------------------------------------------------------------------

    def _columns(self, rows: Sequence[int], terms: Sequence[Term], groups: set[tuple[int, int]]) -> list[Term]:
        """Every product of inner fields of these groups under every operator that may be before it."""
        kinds = list(dict.fromkeys(kind for term in terms for kind in self._kinds(term)))
        columns = []
        for (i, a), (j, b) in combinations_with_replacement(enumerate(self.choice.inner), 2):
            if not _pairs(a, b) & groups:
                continue
            before: dict[tuple[tuple[Node, ...], Node], None] = {}
            homogeneous = a.is_homogeneous and b.is_homogeneous
            for order, operator, constants, is_exact in kinds:
                degrees = _degrees(order - a.order - b.order, is_exact and homogeneous)
                symbols = [s for degree in degrees for s in _derivatives(operator, self.reduced.dimensions, degree)]
                before |= dict.fromkeys((constants, symbol) for symbol in symbols)
            columns += [Term(row, Weight(1.0, of), symbol, (i, j)) for of, symbol in before for row in rows]
        return columns

    def _kinds(self, term: Term) -> list[tuple[float, Node, tuple[Node, ...], bool]]:
        """Order, operator and constants that a product for a term may have, and whether the order is exact."""
        (number, operator), factors = order_and_rest(term.symbol), self._factors(term)
        order, is_exact = number + sum(inner.order for inner in factors), all(inner.is_homogeneous for inner in factors)
        if not self.is_parametric:
            return [(order, operator, term.weight.constants, is_exact)]
        kinds = [(order - order_of(constants, self.lengths), constants) for constants in [(), *self._inside]]
        return [(rest, operator, term.weight.times(Weight(1.0, more)).constants, is_exact) for rest, more in kinds]

    @cached_property
    def _inside(self) -> list[tuple[Node, ...]]:
        """The constants inside the operators of factors."""
        return list(inner_constants(self.factors))


def _pairs(a: Inner, b: Inner) -> set[tuple[int, int]]:
    return {(min(g, h), max(g, h)) for g in a.groups for h in b.groups}


def _degrees(rest: float, is_exact: bool) -> list[int]:
    """Numbers of derivatives that may be before a product."""
    whole = round(rest)
    if whole < 0 or abs(rest - whole) > 1e-6:
        return []
    return [whole] if is_exact else list(range(whole + 1))


def _derivatives(operator: Node, dimensions: int, degree: int) -> list[Node]:
    """An operator under every derivative of a degree."""
    axes = combinations_with_replacement(range(dimensions), degree)
    return [reduce(derivative_of, chosen, operator) for chosen in axes]


# ---- numbers --------------------------------------------------------------------------------------------------------


class _Numbers:
    """Values of everything at one set of samples."""

    def __init__(self, ansatz: Ansatz, samples: Samples) -> None:
        self.samples = samples
        nodes: dict[Any, Node] = {node: node for node in ansatz.factors}
        nodes |= {i: inner.node for i, inner in enumerate(ansatz.choice.inner)}
        self.at = {of: [modes.values(node) for modes in samples.factors.values()] for of, node in nodes.items()}
        self.products: dict[Any, np.ndarray] = {}

    def product(self, made: Made) -> np.ndarray:
        """The part of a product that holds the amplitudes of both modes."""
        if made not in self.products:
            assert isinstance(made, tuple)
            a, b = (self.at[of] for of in made)
            self.products[made] = a[0] * b[1] + a[1] * b[0]
        return self.products[made]

    def values(self, terms: Sequence[Term]) -> list[np.ndarray]:
        """Terms but for their numbers."""
        each = zip(terms, acting(terms, self.samples.whole, True), strict=True)
        return [acts * self.product(term.made) for term, acts in each]

    def problem(self, part: _Part) -> Problem | None:
        """The problem of a part; None if its terms cancel."""
        changes = self.samples.at.changes
        right: Any = np.zeros((self.samples.whole.count, len(part.rows)), complex)
        for term, value in zip(part.terms, self.values(part.terms), strict=True):
            right[:, part.rows.index(term.row)] += term.weight.number * value
        live, columns = np.abs(right).max(0) > 1e-9, self.values(part.columns)
        if part.is_coupled:
            right = np.einsum("sir,sr->is", changes[:, :, list(part.rows)], right).reshape(-1, 1)
            each = zip(part.columns, columns, strict=True)
            columns = [(changes[:, :, column.row] * values[:, None]).T.ravel() for column, values in each]
        else:
            right = right[:, live]
        if np.abs(right).max(initial=0.0) < 1e-9:
            return None
        rows = part.rows if part.is_coupled else tuple(np.array(part.rows)[live].tolist())
        matrix = np.array(columns).T if columns else np.zeros((len(right), 0))
        return Problem(rows, part.is_coupled, part.columns, _real(matrix), _real(right))


def _real(values: np.ndarray) -> np.ndarray:
    """Real numbers where all are."""
    return values.real.copy() if np.iscomplexobj(values) and not np.any(values.imag) else values
