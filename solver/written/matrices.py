"""The operators of a reduced system as matrices of numbers, one for each mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from solver.written.arranged import Row
from solver.written.components import ZERO, plus, times
from solver.written.elimination import Reduced, Symbols, named
from solver.written.linear import linear_part
from solver.written.symbols import (
    Modes,
    RandomModes,
    applied,
    key_of,
    modes_of_all_kinds,
    random_modes,
    vanishes,
    with_nyquist_modes,
)
from solver.written.tree import Node, Number, WrittenError

PINV = 1e-9  # singular values below this share of the largest count as zero
EQUAL = 1e-9  # of the size of the terms that cancel
ROUNDED = 1e-13  # of the size of the terms beside them


@dataclass(frozen=True)
class Matrices:
    """Matrices of each mode: ∂t u = R (S u + N) for fields that meet C u = 0.

    Args:
        changes: R `(mode, scalar, row)`.
        constraints: C `(mode, constraint, scalar)`.
        projector: V `(mode, scalar, scalar)`, onto the fields that meet the constraints.
    """

    changes: np.ndarray
    constraints: np.ndarray
    projector: np.ndarray


def matrices(reduced: Reduced, modes: Modes) -> Matrices:
    """The matrices of a system at some modes."""
    constraints = matrix(reduced.constraints, list(reduced.constraint_rows), reduced.scalars, modes)
    return Matrices(
        matrix(reduced.responses, reduced.scalars, list(reduced.rest), modes), constraints, projector(constraints)
    )


def multiplied(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A matrix of each mode times the values there `(mode, column)`."""
    return np.asarray(np.einsum("sij,sj->si", matrix, values))


def projector(constraints: np.ndarray) -> np.ndarray:
    """V = I − C⁺C `(mode, scalar, scalar)`, onto what meets the constraints C `(mode, constraint, scalar)`."""
    return np.eye(constraints.shape[-1]) - np.linalg.pinv(constraints, rcond=PINV) @ constraints


def matrix(symbols: Symbols, rows: Sequence[Any], columns: Sequence[Any], modes: Modes) -> np.ndarray:
    """Symbols by row and column as an array `(mode, row, column)`."""
    count = np.size(modes.derivative(0))
    values = [np.broadcast_to(modes.value(symbols.get((r, c), ZERO)), count) for r in rows for c in columns]
    return np.reshape(values, (len(rows), len(columns), count)).transpose(2, 0, 1)


# ---- the linear operator --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Linear:
    """L of ∂t u = L u + N.

    Args:
        symbols: by pairs of scalars, or of fields' names where it is the same for each component.
        couples: `nothing` where it is diagonal, `fields` where it is the same for each component of the fields, or
            `components`.
    """

    symbols: Symbols
    couples: str

    def matrix(self, scalars: Sequence[Node], modes: Modes) -> np.ndarray:
        """The operator on all scalars `(mode, scalar, scalar)`."""
        return matrix(self.between(scalars), scalars, scalars, modes)

    def between(self, scalars: Sequence[Node]) -> Symbols:
        """The symbols by pairs of scalars."""
        if self.couples != "fields":
            return self.symbols
        pairs = [(s, r) for s in scalars for r in scalars if key_of(s)[1] == key_of(r)[1]]
        return {(s, r): self.symbols[named(s), named(r)] for s, r in pairs if (named(s), named(r)) in self.symbols}


def linear_operator(reduced: Reduced, rows: Mapping[Row, Node] | None = None) -> Linear:
    """L in its plainest form on fields that meet the constraints.

    What acts on each scalar by itself and keeps the constraints stays out of the projection, so that it damps what
    rounding leaves next to them, too.

    Args:
        reduced: the system.
        rows: other linear right-hand sides than the system's.

    Raises:
        WrittenError: a constraint that the linear part breaks, and that no unknown keeps.
    """
    scalars = reduced.scalars
    modes = with_nyquist_modes(modes_of_all_kinds(reduced.dimensions, count=4 * len(scalars)))
    at, fields = matrices(reduced, modes), set(reduced.system.fields)
    before = linear_part(reduced.without_mass(reduced.linear_rows() if rows is None else rows), fields).symbols
    own = {(s, s): before[s, s] for s in scalars if (s, s) in before}
    of_own = matrix(own, scalars, scalars, modes)
    if not _is_zero(at.constraints @ of_own @ at.projector, _along_rows(at.constraints, of_own)):
        own, of_own = {}, np.zeros_like(of_own)
    others = {
        s: plus(applied(before[s, r], r) for r in scalars if (s, r) in before and (s, r) not in own) for s in scalars
    }
    mixed = linear_part(reduced.projected(others), fields).symbols
    mixed = {key: symbol for key, symbol in mixed.items() if not vanishes(symbol, modes)}
    symbols = {key: plus((own.get(key, ZERO), mixed.get(key, ZERO))) for key in dict.fromkeys([*own, *mixed])}
    of_mixed, of_all = matrix(mixed, scalars, scalars, modes), matrix(symbols, scalars, scalars, modes)
    if not _is_zero(at.constraints @ of_all @ at.projector, _along_rows(at.constraints, of_all)):
        raise WrittenError("the linear terms break a constraint, and no unknown keeps it: a multiplier is needed")
    if _is_zero(of_mixed @ at.projector, _along_rows(of_mixed)):
        return Linear(own, "nothing")
    by_field = _same_for_components(reduced, symbols, of_all, at.projector, modes)
    return Linear(by_field, "fields") if by_field else Linear(symbols, "components")


def _along_rows(*factors: np.ndarray) -> np.ndarray:
    """Bound of the terms of each row of a product of matrices, `(1, row, 1)`.

    Not mode by mode: entries that are zero at one mode are rounding there themselves.
    """
    return np.asarray(reduce(np.matmul, map(np.abs, factors)).sum(axis=-1, keepdims=True).max(axis=0, keepdims=True))


def _is_zero(values: np.ndarray, size: np.ndarray | float, others: np.ndarray | float = 0.0) -> bool:
    """True if matrices are rounding alone.

    Args:
        values: `(mode, row, column)`.
        size: size of the terms that cancel in the matrices.
        others: size of other terms, which leave their rounding in the matrices.
    """
    return bool(np.all(np.abs(values) <= EQUAL * size + ROUNDED * others))


def _same_for_components(
    reduced: Reduced, symbols: Symbols, of_all: np.ndarray, projector: np.ndarray, modes: RandomModes
) -> dict[tuple[str, str], Node]:
    """Symbols between fields that act on each component in the same way; none where there is no such form.

    Between two vectors without divergence, a − k (a·k)/k² and a·k − a k act as a scalar does: it is the trace, divided
    by one less than the number of components.
    """
    of_field = {name: [s for s in reduced.scalars if named(s) == name] for name in reduced.system.fields}
    count = len(next(iter(of_field.values())))
    if count == 1 or any(len(scalars) != count for scalars in of_field.values()):
        return {}
    found = {}
    for f, rows in of_field.items():
        for g, columns in of_field.items():
            trace = plus(symbols.get(pair, ZERO) for pair in zip(rows, columns, strict=True))
            for symbol in (symbols.get((rows[0], columns[0]), ZERO), times(Number(1 / (count - 1)), trace)):
                alike = dict.fromkeys(zip(rows, columns, strict=True), symbol)
                of_alike = matrix(alike, reduced.scalars, reduced.scalars, modes)
                at, to = (list(map(reduced.scalars.index, side)) for side in (rows, columns))
                left = ((of_all - of_alike) @ projector)[:, at][:, :, to]
                size = _along_rows(of_all[:, at][:, :, to]) + _along_rows(of_alike[:, at])
                if _is_zero(left, size, _along_rows(of_all[:, at])):
                    found[f, g] = symbol
                    break
            else:
                return {}
    return {key: symbol for key, symbol in found.items() if symbol != ZERO}


def without_divergence(reduced: Reduced) -> set[str]:
    """The vector fields u that a constraint ∇·u = 0 keeps free of divergence.

    Raises:
        WrittenError: a constraint of another form, which nothing would keep against rounding.
    """
    found = set()
    for row, of_row in reduced.constraint_rows.items():
        if not _is_divergence(of_row, reduced):
            place = reduced.system.lines[row[0]].left.place
            raise place.error("a constraint on fields: div(u) = 0 of one vector can be kept, and no other")
        found |= {named(scalar) for scalar in of_row}
    return found


def _is_divergence(of_row: Mapping[Node, Node], reduced: Reduced) -> bool:
    """True if a constraint is ∇·u = 0, but for a factor."""
    if len({named(scalar) for scalar in of_row}) > 1 or len(of_row) != reduced.dimensions or reduced.dimensions == 1:
        return False
    modes = random_modes(reduced.dimensions)
    symbols = np.array([modes.values(of_row[scalar]) for scalar in reduced.scalars if scalar in of_row])
    size = float(np.max(np.abs(symbols * modes.slopes[0]) + np.abs(symbols[0] * modes.slopes)))
    return _is_zero(symbols * modes.slopes[0] - symbols[0] * modes.slopes, size)  # as i k is
