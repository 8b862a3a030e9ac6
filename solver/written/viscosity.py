"""The viscosity of a text's velocity: the terms of L that damp its small scales, whatever they are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from solver.written.components import ZERO, minus, plus, times
from solver.written.derivation import without_unknowns
from solver.written.elimination import Symbols
from solver.written.energies import vector_of
from solver.written.matrices import linear_operator
from solver.written.symbols import RandomModes, key_of, random_modes, random_slopes
from solver.written.tree import Call, Derivative, Negative, Node, Product, Quotient, Solved, Sum
from solver.written.vocabulary import OPERATORS

if TYPE_CHECKING:
    from solver.written.text import Text

EQUAL = 1e-9  # relative difference of two numbers that are the same but for rounding


@dataclass(frozen=True)
class Viscosity:
    """Terms of L that damp a velocity: real, even in k, and growing with |k|; drag and waves do not count.

    Args:
        kinematic: ν∇², the symbol of the terms that are −ν|k|² in all directions; None if no term is.
        further: the symbols of the other terms, for each component of the velocity.
        couples: True if such terms of one component act on another, so that `further` is not all that damps.
    """

    kinematic: Node | None
    further: tuple[Node, ...]
    couples: bool


@cache
def viscosity_of(text: Text, dimensions: int) -> Viscosity | None:
    """The viscosity of a text's velocity, its first vector; None if it has no velocity, or nothing damps it."""
    reduced = without_unknowns(text, dimensions)
    given = (
        [own for _, own in text.vectors] + [name for name, rank in text.fields if rank == "vector"] + [text.penalised]
    )
    if not given[0]:
        return None
    components = vector_of(given[0], reduced)
    held = [[s for s in reduced.scalars if s in set(component.walk())] for component in components]
    scalars = list(dict.fromkeys(s for own in held for s in own))
    if not scalars or any(key_of(s)[0] in reduced.system.complex_names for s in scalars):
        return None
    whole = linear_operator(reduced).between(reduced.scalars)
    symbols = {pair: _without_own(symbol) for pair, symbol in whole.items()}
    own = any(symbol.calls("symbol") for (row, _), symbol in whole.items() if row in scalars)  # which may damp
    damping = {s: _Damping.of(symbols.get((s, s), ZERO), dimensions) for s in scalars}
    return _of_components(held, damping, own or _couples(symbols, scalars, dimensions))


def _without_own(symbol: Node) -> Node:
    """A symbol without the terms that hold symbols of the user's."""
    return plus(term for term in _terms(symbol) if not term.calls("symbol")) if symbol.calls("symbol") else symbol


def _of_components(held: Sequence[Sequence[Node]], damping: dict[Node, _Damping], couples: bool) -> Viscosity | None:
    first, *others = damping.values()
    if any(len(own) > 1 for own in held):  # a component of several scalars decays as they do only if they decay alike
        couples = couples or any(other != first for other in others)
    if any(other.kinematic != first.kinematic for other in others):
        damping = {s: _Damping(None, plus((one.kinematic or ZERO, one.further))) for s, one in damping.items()}
    kinematic = next(iter(damping.values())).kinematic
    further = tuple(damping[own[0]].further if own else ZERO for own in held)
    if kinematic is None and not couples and all(symbol == ZERO for symbol in further):
        return None
    return Viscosity(kinematic, further, couples)


def _couples(symbols: Symbols, scalars: Sequence[Node], dimensions: int) -> bool:
    pairs = [(row, column) for row in scalars for column in scalars if row != column]
    found = [_Damping.of(symbols.get(pair, ZERO), dimensions) for pair in pairs]
    return any(one != _Damping(None, ZERO) for one in found)


@dataclass(frozen=True)
class _Damping:
    """The damping terms of one symbol, as in `Viscosity`."""

    kinematic: Node | None
    further: Node

    @classmethod
    def of(cls, symbol: Node, dimensions: int) -> _Damping:
        modes = _ModesAndOthers(dimensions)
        damping = [group for group in _groups(symbol, modes) if modes.damps(plus(group))]
        together = [term for group in damping for term in group]
        if together and modes.is_laplacian(plus(together)):
            return cls(plus(together), ZERO)
        kinematic, further = [], []
        for group in damping:
            if modes.is_laplacian(plus(group)):
                kinematic += group
                continue
            kinematic += [term for term in group if modes.is_laplacian(term)]
            further += [term for term in group if not modes.is_laplacian(term)]
        return cls(plus(kinematic) if kinematic else None, plus(further))


class _ModesAndOthers:
    """Random modes, the opposite ones, longer ones, and others, all with the same parameters."""

    def __init__(self, dimensions: int) -> None:
        self.modes = random_modes(dimensions, count=8)
        slopes = random_slopes(np.random.default_rng(1), dimensions, 8)
        self.opposite, self.others = self.modes.opposite(), RandomModes(slopes, self.modes.random, self.modes.numbers)

    def _values(self, symbol: Node) -> tuple[np.ndarray, np.ndarray]:
        here = self.modes.values(symbol)
        return here, self.modes.scaled(2.0, {}).values(symbol)

    def is_power(self, symbol: Node) -> bool:
        """True if a symbol is a power of k of the same order at all modes."""
        here, longer = self._values(symbol)
        return _all_equal(longer * here[0], here * longer[0])

    def damps(self, symbol: Node) -> bool:
        """True if a symbol is even in k and grows with |k|; of real fields it is real, then."""
        here, longer = self._values(symbol)
        return _all_equal(here, self.opposite.values(symbol)) and bool(
            np.all(np.abs(longer) > (1 + EQUAL) * np.abs(here))
        )

    def is_laplacian(self, symbol: Node) -> bool:
        """True if a symbol is a number times ∇²."""
        here, others = self.modes.values(symbol), self.others.values(symbol)
        return _all_equal(here * self.others.laplacian(), others * self.modes.laplacian())


def _all_equal(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.all(np.abs(one - other) <= EQUAL * np.abs(one)))


def _groups(symbol: Node, modes: _ModesAndOthers) -> Iterable[list[Node]]:
    """The terms of a symbol, one by one where each is a power of k; of the others those with the same parameters."""
    groups: dict[object, list[Node]] = {}
    for i, term in enumerate(_terms(symbol)):
        groups.setdefault(i if modes.is_power(term) else frozenset(term.names), []).append(term)
    return groups.values()


def _terms(node: Node) -> list[Node]:
    """The terms of a symbol, multiplied out."""
    match node:
        case Sum(terms):
            return [part for term in terms for part in _terms(term)]
        case Negative(of):
            return [minus(part) for part in _terms(of)]
        case Product(left, right):
            return [times(a, b) for a in _terms(left) for b in _terms(right)]
        case Quotient(above, below):
            return [Quotient(part, below) for part in _terms(above)]
        case Derivative(of, axis):
            return [Derivative(part, axis) for part in _terms(of)]
        case Solved(of, by):
            return [Solved(part, by) for part in _terms(of)]
        case Call(function, (of, *others)) if function in OPERATORS:
            return [Call(function, (part, *others)) for part in _terms(of)]
    return [node]
