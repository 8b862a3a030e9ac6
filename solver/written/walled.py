"""Unknowns with conditions at walls: the equations A ψ = S u + R that give them, in groups that are solved together.

Between walls no symbol divides a field: ψ has modes of its own, the eigenfunctions of ∇² under its conditions. A is a
number for each of them, or a small matrix of the unknowns of a group, where its derivatives across the walls are even.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from solver.written.arranged import Row
from solver.written.components import ZERO, minus, plus
from solver.written.degrees import degree, holds_time
from solver.written.formula import unicode
from solver.written.linear import linear_part
from solver.written.symbols import RandomModes, applied, key_of, mean_axes, random_modes
from solver.written.tree import Derivative, Node, WrittenError

if TYPE_CHECKING:
    from solver.written.system import System

Symbols: TypeAlias = Mapping[tuple[Row, Node], Node]

STEEP = 2.0**20  # a wavenumber across the walls at which the highest derivatives count alone
EQUAL = 1e-6  # relative difference of numbers that are the same but for rounding and lower derivatives
NEEDED = "a second derivative across them is needed, as in lap(psi) - F*psi = q"


@dataclass(frozen=True)
class Group:
    """Unknowns that are solved for together.

    Args:
        unknowns: scalars of the unknowns.
        rows: the rows that give them, as many.
        matrix: A, by row and unknown.
        linear: S, by row and scalar of a field, or of an unknown of a group before.
        rest: R, by row: sources and products.
    """

    unknowns: tuple[Node, ...]
    rows: tuple[Row, ...]
    matrix: Symbols
    linear: Symbols
    rest: Mapping[Row, Node]

    def right(self, row: Row) -> Node:
        """S u + R of a row."""
        return plus((self.linear_right(row), self.rest[row]))

    @property
    def needed(self) -> set[Node]:
        """All parts of the right-hand sides, among them the scalars of fields and of other unknowns."""
        return {scalar for _, scalar in self.linear} | {part for node in self.rest.values() for part in node.walk()}

    @property
    def names(self) -> set[str]:
        """Names of its unknowns, and all names in their right-hand sides."""
        return set().union(*(node.names for node in (*self.unknowns, *self.needed)))

    @property
    def linear_rows(self) -> dict[Row, dict[Node, Node]]:
        """S, row by row: the symbol of each scalar in it."""
        return {row: {s: symbol for (of, s), symbol in self.linear.items() if of == row} for row in self.rows}

    def linear_right(self, row: Row) -> Node:
        """S u of a row."""
        return plus(applied(symbol, scalar) for scalar, symbol in self.linear_rows[row].items())


def groups_of(rows: Mapping[Row, Node], unknowns: Sequence[Node], system: System) -> tuple[Group, ...]:
    """The groups of unknowns, each after those that it needs.

    Args:
        rows: expressions that are zero, in fields and these unknowns.
        unknowns: scalars of the unknowns.
        system: the system, in which these unknowns count as fields.

    Raises:
        WrittenError: an unknown that no equation gives, or one in a product of its own equation.
    """
    part = linear_part(rows, set(system.fields))
    found, open_rows, left = list[Group](), list(rows), list(unknowns)
    while left:
        together, own = _next_group(open_rows, left, part.symbols)
        if len(together) != len(own):
            raise WrittenError(
                f"the unknown {key_of(own[0])[0]!r} has conditions at walls: {len(own)} equation(s) without dt are "
                f"needed that give it, and there are {len(together)}"
            )
        found.append(_group(together, own, part.symbols, part.rest))
        open_rows = [row for row in open_rows if row not in together]
        left = [unknown for unknown in left if unknown not in own]
    if open_rows:
        place = system.lines[open_rows[0][0]].left.place
        raise place.error("one equation more than the unknowns with conditions at walls need")
    for group in found:
        _refuse_needing_itself(group, system)
    return tuple(found)


def _next_group(rows: Sequence[Row], left: Sequence[Node], symbols: Symbols) -> tuple[list[Row], list[Node]]:
    """The rows and the unknowns that are solved next: one that a row gives alone, or else all that are coupled."""
    held = {row: [unknown for unknown in left if (row, unknown) in symbols] for row in rows}
    for row, own in held.items():
        if len(own) == 1:
            return [row], own
    together, own = list[Row](), [left[0]]
    while more := [row for row in rows if row not in together and not {*held[row]}.isdisjoint(own)]:
        together += more
        own = [unknown for unknown in left if unknown in own or any(unknown in held[row] for row in together)]
    return together, own


def _group(rows: Sequence[Row], own: Sequence[Node], symbols: Symbols, rest: Mapping[Row, Node]) -> Group:
    inside = {key: symbol for key, symbol in symbols.items() if key[0] in rows}
    return Group(
        tuple(own),
        tuple(rows),
        {key: symbol for key, symbol in inside.items() if key[1] in own},
        {key: minus(symbol) for key, symbol in inside.items() if key[1] not in own},
        {row: minus(rest[row]) for row in rows},
    )


def _refuse_needing_itself(group: Group, system: System) -> None:
    for row in group.rows:
        for part in group.rest[row].walk():
            if part in group.unknowns:
                raise system.lines[row[0]].left.place.error(
                    f"the unknown {key_of(part)[0]!r} needs itself, in a function or times a place, the time or a "
                    "field: unknowns are solved for mode by mode, so that only numbers and parameters may multiply them"
                )


def refuse_not_elliptic(group: Group, system: System, dimensions: int) -> None:
    """Refuse equations that two walls with one condition each do not suit.

    Raises:
        WrittenError: a derivative across the walls that is odd, or of another order than two; a mean across them.
    """
    place = system.lines[group.rows[0][0]].left.place
    name = key_of(group.unknowns[0])[0]
    across = dimensions - 1
    for symbol in group.matrix.values():
        for part in symbol.calls("inverse_lap", "helmholtz", "symbol", "fraclap"):
            raise place.error(f"{unicode(part)} in the equation of {name!r}, which has conditions at walls: {NEEDED}")
        if any(not axes or across in axes for axes in map(mean_axes, symbol.calls("mean"))):
            raise place.error(f"a mean across the walls in the equation of {name!r}, which has conditions there")
    modes = random_modes(dimensions, 3)
    steep, steeper, opposite = (_across(modes, factor * STEEP) for factor in (1, 2, -1))
    at, at_twice, mirrored = (_matrix(group, one) for one in (steep, steeper, opposite))
    if np.any(np.abs(at - mirrored) > EQUAL * np.abs(at)):
        raise place.error(f"an odd derivative across the walls of {name!r}, which has conditions there: {NEEDED}")
    order = np.log2(np.abs(np.linalg.det(at_twice) / np.linalg.det(at))) / len(group.unknowns)
    highest = float(np.max(np.log2(np.abs(np.where(at == 0, 1, at_twice)) / np.abs(np.where(at == 0, 1, at)))))
    if np.any(np.abs(order - 2) > EQUAL) or highest > 2 + EQUAL:
        raise place.error(
            f"an equation of order {max(float(np.max(order)), highest):.0f} across the walls gives {name!r}, which has "
            f"one condition at each: {NEEDED}"
        )


def _across(modes: RandomModes, slope: float) -> RandomModes:
    """The same modes and parameters with another wavenumber across the walls."""
    slopes = modes.slopes.copy()
    slopes[-1] = slope
    return RandomModes(slopes, modes.random, modes.numbers)


def _matrix(group: Group, modes: RandomModes) -> np.ndarray:
    """A at some modes `(mode, row, unknown)`."""
    values = [[modes.values(group.matrix.get((row, u), ZERO)) for u in group.unknowns] for row in group.rows]
    return np.moveaxis(np.array(values, float), -1, 0)


def is_across(symbol: Node, dimensions: int) -> bool:
    """True if a symbol holds derivatives across the walls, or means, which are no number for each mode there."""
    derivatives = (part for part in symbol.walk() if isinstance(part, Derivative))
    return any(part.axis == dimensions - 1 for part in derivatives) or bool(symbol.calls("lap", "mean"))


def of_products(groups: Iterable[Group], system: System) -> set[Node]:
    """The unknowns that are not linear in the fields: products give them, or other unknowns that are not linear."""
    return depending(groups, lambda group: any(degree(node, set(system.fields)) for node in group.rest.values()))


def of_time(groups: Iterable[Group]) -> set[Node]:
    """The unknowns in whose equations the time is, and those that depend on them."""
    symbols = lambda group: (*group.matrix.values(), *group.linear.values(), *group.rest.values())  # noqa: E731
    return depending(groups, lambda group: any(map(holds_time, symbols(group))))


def depending(groups: Iterable[Group], is_one: Callable[[Group], bool]) -> set[Node]:
    """The unknowns of certain groups, and of groups that need these."""
    found: set[Node] = set()
    for group in groups:
        if is_one(group) or not found.isdisjoint(group.needed):
            found |= {*group.unknowns}
    return found
