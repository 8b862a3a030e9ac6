"""The problems of least squares that a system's quadratic terms pose.

Terms are told apart where nothing ties them to each other: by rows that no projection mixes, by the groups of scalars
that are multiplied, and by their constants. Each part is a small problem of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from solver.written.dictionary import Dictionary, Inner, rank
from solver.written.elimination import Reduced
from solver.written.matrices import Operators
from solver.written.parameters import Lengths, apart, holds_parameters, inner_constants, order_of
from solver.written.problem import Column, Outer, Pair, Problem, outer_values
from solver.written.samples import Forms, Samples, draw
from solver.written.terms import Term, Weight
from solver.written.tree import Node

SEED = 2
MOST_COLUMNS = 2500  # of one problem: a few seconds


@dataclass(frozen=True)
class _Part:
    """Terms that are matched together.

    Args:
        rows: which stand together.
        is_coupled: whether they are projected together.
        terms: of these rows.
        columns: what matches them.
    """

    rows: tuple[int, ...]
    is_coupled: bool
    terms: Sequence[Term]
    columns: Sequence[Column]


@dataclass(frozen=True)
class Ansatz:
    """Builds the problems of a system.

    Args:
        less: the system.
        operators: its R and C.
        terms: of two linear factors; rows by their places.
        choice: the inner fields.
        factors: every factor in the terms, measured as the inner fields are.
        lengths: as how many derivatives parameters count, as the inner fields were measured with.
        samples: a few, to see what is tied to what.
    """

    less: Reduced
    operators: Operators
    terms: Sequence[Term]
    choice: Dictionary
    factors: Dictionary
    samples: Samples
    lengths: Lengths

    def problems(self) -> list[Problem] | None:
        """All of them; None if one is too large."""
        parts = [part for part in self._parts() if part.terms]
        if any(len(part.columns) > MOST_COLUMNS for part in parts):
            return None
        most = max((len(part.columns) // max(1, self._independent(part)) for part in parts), default=0)
        samples = draw(self.operators, self.less.dimensions, int(1.3 * most) + 60, SEED)
        numbers = _Numbers(self, samples)
        found = [numbers.problem(part) for part in parts]
        return [problem for problem in found if problem is not None]

    # ---- what belongs together --------------------------------------------------------------------------------------

    def _independent(self, part: _Part) -> int:
        """How many equations one sample gives for the same coefficients."""
        return rank(self.samples.at.changes[-1][:, list(part.rows)]) if part.is_coupled else 1

    def _parts(self) -> list[_Part]:
        found = []
        constants = list(dict.fromkeys(term.weight.constants for term in self.terms))
        together = [tuple(constants)] if self.is_parametric else [(c,) for c in constants]
        for rows, is_coupled in self._row_groups():
            for of in together:
                terms = [t for t in self.terms if t.row in rows and t.weight.constants in of]
                for some, groups in self._by_groups(terms):
                    columns = self._columns(rows if is_coupled else (None,), some, groups)
                    found.append(_Part(rows, is_coupled, some, columns))
        return found

    def _row_groups(self) -> list[tuple[tuple[int, ...], bool]]:
        """Rows that a singular projection ties together, each group by itself, and all other rows."""
        changes = self.samples.at.changes[-1]
        groups = [{row} for row in range(changes.shape[1])]
        for scalar in changes:
            tied = {int(row) for row in np.flatnonzero(np.abs(scalar) > 1e-9)}
            hit = [group for group in groups if group & tied]
            groups = [group for group in groups if group not in hit] + [set().union(*hit)] * bool(hit)
        ordered = sorted(tuple(sorted(group)) for group in groups)
        coupled = [group for group in ordered if rank(changes[:, list(group)].T) < len(group)]
        free = tuple(sorted(row for group in ordered if group not in coupled for row in group))
        return [(group, True) for group in coupled] + [(free, False)] * bool(free)

    @property
    def is_parametric(self) -> bool:
        """Whether parameters stand inside linear expressions, where they cannot be told apart from them."""
        return any(holds_parameters(inner.node) for inner in (*self.choice.inner, *self.factors.inner))

    def _signature(self, factors: Sequence[Node]) -> set[tuple[int, int]]:
        measured = [self._measured(node) for node in factors]
        return _pairs(*measured) if all(measured) else set()

    def _measured(self, node: Node) -> Inner | None:
        return next((inner for inner in self.factors.inner if inner.node == node), None)

    def _by_groups(self, terms: Sequence[Term]) -> list[tuple[list[Term], set[tuple[int, int]]]]:
        """Terms by the pairs of groups that they multiply, with those that a product ties together as one."""
        signatures = [_pairs(a, b) for a, b in combinations_with_replacement(self.choice.inner, 2)]
        of_terms = [self._signature(term.factors) for term in terms]
        parts: list[set[tuple[int, int]]] = []
        for signature in [*signatures, *of_terms]:
            hit = [part for part in parts if part & signature]
            parts = [part for part in parts if part not in hit] + [signature.union(*hit)] * bool(signature)
        split = [([t for t, s in zip(terms, of_terms, strict=True) if s & part], part) for part in parts]
        return [(some, part) for some, part in split if some]

    # ---- columns ----------------------------------------------------------------------------------------------------

    def _columns(self, rows: Iterable[int | None], terms: Sequence[Term], groups: set[tuple[int, int]]) -> list[Column]:
        """Every product of inner fields of these groups under every operator that may stand before it."""
        kinds = list(dict.fromkeys(kind for term in terms for kind in self._kinds(term)))
        rows, columns = list(rows), []
        for (i, a), (j, b) in combinations_with_replacement(enumerate(self.choice.inner), 2):
            if not _pairs(a, b) & groups:
                continue
            outers: dict[Outer, None] = {}
            homogeneous = a.is_homogeneous and b.is_homogeneous
            for order, operator, constants, is_exact in kinds:
                degrees = _degrees(order - a.order - b.order, is_exact and homogeneous)
                powers = [p for degree in degrees for p in _powers(self.less.dimensions, degree)]
                outers |= dict.fromkeys(Outer(constants, p, operator) for p in powers)
            columns += [Column(row, (i, j), outer) for outer in outers for row in rows]
        return columns

    def _kinds(self, term: Term) -> list[tuple[float, Node, tuple[Node, ...], bool]]:
        """Order, operator and constants that a product for a term may have, and whether the order is exact."""
        measured = [self._measured(node) for node in term.factors]
        if not all(measured):
            return []
        number, operator = apart(term.outer)
        order = number + sum(inner.order for inner in measured if inner)
        is_exact = all(inner.is_homogeneous for inner in measured if inner)
        if not self.is_parametric:
            return [(order, operator, term.weight.constants, is_exact)]
        inside = inner_constants(inner.node for inner in self.factors.inner)
        kinds = [(order - order_of(constants, self.lengths), constants) for constants in [(), *inside]]
        return [(rest, operator, term.weight.times(Weight(1.0, more)).constants, is_exact) for rest, more in kinds]


def _pairs(a: Inner | None, b: Inner | None) -> set[tuple[int, int]]:
    assert a is not None
    assert b is not None
    return {(min(g, h), max(g, h)) for g in a.groups for h in b.groups}


def _degrees(rest: float, is_exact: bool) -> list[int]:
    """Numbers of derivatives that may stand before a product."""
    whole = round(rest)
    if whole < 0 or abs(rest - whole) > 1e-6:
        return []
    return [whole] if is_exact else list(range(whole + 1))


def _powers(dimensions: int, degree: int) -> list[tuple[int, ...]]:
    axes = combinations_with_replacement(range(dimensions), degree)
    return [tuple(chosen.count(axis) for axis in range(dimensions)) for chosen in axes]


# ---- numbers --------------------------------------------------------------------------------------------------------


class _Numbers:
    """Values of everything at one set of samples."""

    def __init__(self, ansatz: Ansatz, samples: Samples) -> None:
        self.samples = samples
        fields = tuple(ansatz.less.system.fields)
        self.factors = list(dict.fromkeys(node for term in ansatz.terms for node in term.factors))
        of = lambda nodes: Forms.of(nodes, ansatz.less.scalars, fields)  # noqa: E731
        inner, factors = of([inner.node for inner in ansatz.choice.inner]), of(self.factors)
        self.inner_at = [inner.values(samples, i) for i in range(2)]
        self.factors_at = [factors.values(samples, i) for i in range(2)]

    def pair(self, pair: Pair) -> np.ndarray:
        """The part of a product that holds the amplitudes of both modes."""
        return _both(self.inner_at, *pair)

    def right(self, part: _Part) -> np.ndarray:
        """The terms of each row `(sample, row)`."""
        count, modes = self.samples.whole.slopes.shape[1], self.samples.whole
        rows = {row: np.zeros(count, complex) for row in part.rows}
        for term in part.terms:
            value = term.weight.number * _both(self.factors_at, *map(self.factors.index, term.factors))
            outer = Outer(term.weight.constants, (), term.outer)
            rows[term.row] = rows[term.row] + value * outer_values([outer], modes, True)[outer]
        return np.stack([rows[row] for row in part.rows], axis=1)

    def problem(self, part: _Part) -> Problem | None:
        """The problem of a part; None if its terms cancel."""
        outers = outer_values(list(dict.fromkeys(c.outer for c in part.columns)), self.samples.whole, True)
        pairs = {pair: self.pair(pair) for pair in dict.fromkeys(c.pair for c in part.columns)}
        right, changes = self.right(part), self.samples.at.changes
        valued = [(c, outers[c.outer] * pairs[c.pair]) for c in part.columns]
        live = np.abs(right).max(0) > 1e-9
        if part.is_coupled:
            right = np.einsum("sir,sr->is", changes[:, :, list(part.rows)], right).reshape(-1, 1)
            columns = [(changes[:, :, c.row] * values[:, None]).T.ravel() for c, values in valued]
        else:
            right = right[:, live]
            columns = [values for _, values in valued]
        if np.abs(right).max(initial=0.0) < 1e-9:
            return None
        rows = part.rows if part.is_coupled else tuple(np.array(part.rows)[live].tolist())
        matrix = np.array(columns).T if columns else np.zeros((len(right), 0))
        return Problem(rows, part.is_coupled, part.columns, _real(matrix), _real(right))


def _both(values: Sequence[np.ndarray], i: int, j: int) -> np.ndarray:
    return values[0][:, i] * values[1][:, j] + values[0][:, j] * values[1][:, i]


def _real(values: np.ndarray) -> np.ndarray:
    """Real numbers where all are."""
    return values.real.copy() if np.iscomplexobj(values) and not np.any(values.imag) else values
