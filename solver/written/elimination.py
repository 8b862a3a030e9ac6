"""Unknowns, eliminated mode by mode: the result is the rate of change of every scalar of the fields.

M ∂t u = S u + G p + N(u),  0 = C u + D p + K(u): an unknown with a column in D is diagnosed, by Gaussian elimination on
symbols, and means its expression wherever it is used. The others are multipliers: they keep what is left of the
constraints, C ∂t u = 0. For ∇·u = 0 and a pressure that is the Leray projection.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

from solver.written.arranged import Row, arranged
from solver.written.components import ONE, ZERO, minus, plus, times, written_out
from solver.written.linear import LinearPart, linear_part
from solver.written.symbols import (
    RandomModes,
    applied,
    derivative_of,
    key_of,
    modes_of_all_kinds,
    random_modes,
    solved,
    vanishes,
)
from solver.written.system import System
from solver.written.tree import (
    Call,
    Derivative,
    Name,
    Negative,
    Node,
    Product,
    Quotient,
    Solved,
    Sum,
    WrittenError,
)
from solver.written.walled import Group, groups_of, of_products

Symbols: TypeAlias = Mapping[tuple[Any, Any], Node]  # by row and by the scalar that is acted on


@dataclass(frozen=True)
class Reduced:
    """A system whose unknowns are eliminated: ∂t u = changes(S u + N).

    Args:
        system: as it was read.
        dimensions: number of dimensions of space.
        scalars: scalars of the fields, one after another.
        right: the right-hand sides, with their causes; diagnosed unknowns are written out in them and below.
        linear: S, by row and scalar.
        rest: N, by row.
        left_out: terms of degree one in the rest, each with the reason.
        mass: M, by row and scalar.
        gradients: G, by row and multiplier.
        constraints: C, by row and scalar: what the fields keep.
        diagnosed: the expression of each unknown that an equation gives.
        gauged: the row, and the expression that its operator divides, of each of them that has a gauge along axes.
        walled: unknowns with conditions at walls, which count as fields of the system here and are no scalars.
    """

    system: System
    dimensions: int
    scalars: tuple[Node, ...]
    right: Mapping[Row, Node]
    linear: Symbols
    rest: Mapping[Row, Node]
    left_out: Sequence[tuple[Node, str]]
    mass: Symbols
    gradients: Symbols
    constraints: Symbols
    diagnosed: Mapping[Node, Node]
    gauged: Mapping[Node, tuple[Row, Node]]
    walled: tuple[Group, ...] = ()

    def holds_product(self, node: Node) -> bool:
        """True if an expression holds an unknown with conditions at walls that products of fields give."""
        found = of_products(self.walled, self.system) if self.walled else ()
        return any(part in found for part in node.walk())

    def changes(self, rows: Mapping[Row, Node]) -> dict[Node, Node]:
        """∂t of each scalar, from the right-hand sides without multipliers: they are found and put in."""
        return self.projected(self.without_mass(rows))

    def projected(self, rates: Mapping[Node, Node]) -> dict[Node, Node]:
        """Rates of change without multipliers, with what they add."""
        projected, pushes = dict(rates), self.pushes
        for multiplier, node in self.multipliers(rates).items():
            for scalar in self.scalars:
                if multiplier in pushes[scalar]:
                    projected[scalar] = plus((projected[scalar], applied(pushes[scalar][multiplier], node)))
        return projected

    def linear_rows(self) -> dict[Row, Node]:
        """S u, as an expression for each row."""
        return rows_of(self.linear, self.rest)

    @cached_property
    def constraint_rows(self) -> dict[Row, dict[Node, Node]]:
        """C, row by row: the symbol of each scalar in it."""
        rows: dict[Row, dict[Node, Node]] = {}
        for (row, scalar), symbol in self.constraints.items():
            rows.setdefault(row, {})[scalar] = symbol
        return rows

    def without_mass(self, rows: Mapping[Row, Node]) -> dict[Node, Node]:
        """M⁻¹ of right-hand sides.

        Raises:
            WrittenError: rates of change that cannot be distinguished.
        """
        solution = eliminated(self.mass, rows, self.scalars, self.dimensions)
        if solution.rest or solution.free:
            raise WrittenError("the rates of change cannot be solved for: each field needs an equation of its own")
        return {scalar: solution.values[scalar] for scalar in self.scalars}

    @cached_property
    def pushes(self) -> dict[Node, dict[Node, Node]]:
        """The rate that a multiplier of 1 adds to each scalar, by scalar and multiplier."""
        pushes: dict[Node, dict[Node, Node]] = {scalar: {} for scalar in self.scalars}
        for multiplier in dict.fromkeys(unknown for _, unknown in self.gradients):
            column = {row: self.gradients.get((row, multiplier), ZERO) for row in self.rest}
            for scalar, symbol in self.without_mass(column).items():
                if symbol != ZERO:
                    pushes[scalar][multiplier] = symbol
        return pushes

    def multipliers(self, rates: Mapping[Node, Node]) -> dict[Node, Node]:
        """The multipliers that keep the constraints with these rates of the scalars.

        Raises:
            WrittenError: one that no constraint determines.
        """
        matrix, right, pushes = {}, {}, self.pushes
        multipliers = list(dict.fromkeys(unknown for _, unknown in self.gradients))
        for row, of_row in self.constraint_rows.items():
            right[row] = minus(plus(applied(symbol, rates[scalar]) for scalar, symbol in of_row.items()))
            for multiplier in multipliers:
                push = plus(applied(symbol, pushes[s].get(multiplier, ZERO)) for s, symbol in of_row.items())
                if push != ZERO:
                    matrix[row, multiplier] = push
        solution = eliminated(matrix, right, multipliers, self.dimensions)
        for unknown in solution.free:
            raise WrittenError(
                f"nothing determines the unknown {named(unknown)!r}: a constraint that it serves is needed"
            )
        return solution.values

    @cached_property
    def walled_in_fields(self) -> dict[Node, Node]:
        """Linear expressions of the unknowns with conditions at walls as a periodic box has them, for short waves."""
        found: dict[Node, Node] = {}
        for group in self.walled:
            right = {row: replaced(group.linear_right(row), found) for row in group.rows}
            found |= eliminated(group.matrix, right, group.unknowns, self.dimensions, may_be_singular=True).values
        return found

    @cached_property
    def responses(self) -> Symbols:
        """R: the symbols by which a right-hand side of each row changes each scalar, by scalar and row."""
        found: dict[tuple[Any, Any], Node] = {}
        for row in self.rest:
            of_row = self.changes({other: ONE if other == row else ZERO for other in self.rest})
            found |= {(scalar, row): symbol for scalar, symbol in of_row.items()}
        return found


def rows_of(symbols: Symbols, rows: Iterable[Row]) -> dict[Row, Node]:
    """The result of symbols on the scalars that they act on, as an expression for each row."""
    terms: dict[Row, list[Node]] = {row: [] for row in rows}
    for (row, scalar), symbol in symbols.items():
        terms[row].append(applied(symbol, scalar))
    return {row: plus(of_row) for row, of_row in terms.items()}


def reduce_system(system: System, dimensions: int) -> Reduced:
    """Eliminate the unknowns of a system.

    Args:
        system: that was read.
        dimensions: number of dimensions of space, one of the system's.

    Raises:
        WrittenError: an unknown that no equation determines or that is in a product without being diagnosed, or a
            constraint that is not linear in the fields.
    """
    arranged_system, kinds = arranged(system, dimensions), system.kinds
    asked, system = system, system.with_walled_as_fields
    scalars = {
        name: tuple(dict.fromkeys(written_out(Name(name), kinds, dimensions).entries.values())) for name in kinds
    }
    fields = tuple(scalar for name in asked.fields for scalar in scalars[name])
    walled = tuple(scalar for name in asked.walled for scalar in scalars[name])
    unknowns = tuple(scalar for name in system.unknowns for scalar in scalars[name])
    moving = {*system.fields, *system.unknowns}
    given = linear_part(arranged_system.constraints, moving)
    diagnosed, kept, undetermined, gauged = _diagnosed(system, given, (*fields, *walled), unknowns, dimensions)
    groups = groups_of(kept.rest, walled, system)
    right = {row: replaced(node, diagnosed) for row, node in arranged_system.right.items()}
    part = linear_part(right, {*system.fields, *(named(scalar) for scalar in undetermined)})
    _refuse_multipliers_in_products(system, part.rest, undetermined)
    reduced = Reduced(
        system=system,
        dimensions=dimensions,
        scalars=fields,
        right=right,
        linear={key: symbol for key, symbol in part.symbols.items() if key[1] in (*fields, *walled)},
        rest=part.rest,
        left_out=part.left_out,
        mass=arranged_system.mass,
        gradients={key: symbol for key, symbol in part.symbols.items() if key[1] in undetermined},
        constraints=kept.symbols,
        diagnosed=diagnosed,
        gauged=gauged,
        walled=groups,
    )
    reduced.changes(reduced.rest)  # raises what it raises before anything is done with it
    return reduced


def _diagnosed(
    system: System, given: LinearPart[Row], fields: Sequence[Node], unknowns: Sequence[Node], dimensions: int
) -> tuple[dict[Node, Node], LinearPart[Row], list[Node], dict[Node, tuple[Row, Node]]]:
    """Expressions of the unknowns that constraints give, what constraints then say of the fields, the others,
    and the numerators of those with a gauge.

    Of the constraints those that hold unknowns with conditions at walls are the rest, and the symbols are of others.
    """
    right = {}
    for row, rest in given.rest.items():
        of_fields = [applied(given.symbols[row, field], field) for field in fields if (row, field) in given.symbols]
        right[row] = minus(plus((rest, *of_fields)))
    matrix = {key: symbol for key, symbol in given.symbols.items() if key[1] in unknowns}
    texts = {row: system.lines[row[0]].text for row in right}
    solution = eliminated(matrix, right, unknowns, dimensions, texts, system.gauges)
    _refuse_idle_gauges(system, solution)
    diagnosed = _in_fields(solution.values, given.rest, system)
    of_walled = {row: node for row, node in solution.rest.items() if not node.names.isdisjoint(system.walled)}
    kept = linear_part({row: node for row, node in solution.rest.items() if row not in of_walled}, set(system.fields))
    for row, node in kept.rest.items():
        if node != ZERO:
            line = system.lines[row[0]]
            raise line.left.place.error("a constraint that is not linear in the fields, and gives no unknown")
    kept = replace(kept, rest={row: replaced(node, diagnosed) for row, node in of_walled.items()})
    gauged = {
        column: (row, replaced(numerator, diagnosed))
        for column, (row, numerator) in solution.numerators.items()
        if named(column) in system.gauges
    }
    return diagnosed, kept, solution.free, gauged


def _refuse_idle_gauges(system: System, solution: Elimination) -> None:
    given = {named(column) for column in solution.values}
    for name, axes in system.gauges.items():
        if name not in given:
            along = "xyz"[axes[0]]
            if name in system.walled:
                raise WrittenError(f"mean({name}, {along}) = 0: {name!r} has conditions at walls, which give its mean")
            raise WrittenError(f"mean({name}, {along}) = 0: {name!r} is given by no equation without dt")


def _in_fields(values: Mapping[Node, Node], rest: Mapping[Row, Node], system: System) -> dict[Node, Node]:
    """Expressions of unknowns, with other unknowns written out.

    Raises:
        WrittenError: an unknown that needs itself, since it is in a product that differs from point to point.
    """
    done: dict[Node, Node] = {}

    def write_out(unknown: Node, above: tuple[Node, ...]) -> None:
        if unknown in above:
            row = next(row for row, node in rest.items() if unknown in node.walk())
            line = system.lines[row[0]]
            raise line.left.place.error(
                f"the unknown {named(unknown)!r} needs itself, in a function or times a place, the time or a field: "
                "unknowns are solved for mode by mode, so that only numbers and parameters may multiply them"
            )
        for inner in dict.fromkeys(part for part in values[unknown].walk() if part in values):
            if inner not in done:
                write_out(inner, (*above, unknown))
        done[unknown] = replaced(values[unknown], done)

    for unknown in values:
        if unknown not in done:
            write_out(unknown, ())
    return done


def _refuse_multipliers_in_products(system: System, rest: Mapping[Row, Node], multipliers: Collection[Node]) -> None:
    for row, node in rest.items():
        for part in node.walk():
            if part in multipliers:
                place = system.lines[row[0]].right.place
                raise place.error(f"{named(part)!r} is in a product, and no equation without dt gives it")


def named(scalar: Node) -> str:
    """The name of the field or unknown that a scalar belongs to."""
    return key_of(scalar)[0]


def replaced(node: Node, by: Mapping[Node, Node]) -> Node:
    """An expression in components with others in place of some of its scalars."""
    if node in by:
        return by[node]
    again = lambda part: replaced(part, by)  # noqa: E731
    match node:
        case Sum(terms):
            return plus(map(again, terms))
        case Negative(of):
            return minus(again(of))
        case Product(left, right):
            return times(again(left), again(right))
        case Quotient(above, below):
            inner = again(above)
            return ZERO if inner == ZERO else Quotient(inner, again(below))
        case Derivative(of, axis):
            return derivative_of(again(of), axis)
        case Solved(of, symbol):
            return solved(again(of), symbol)
        case Call("cause", (label, term)):
            return Call("cause", (label, again(term)))
    return node.map_children(again)


# ---- Gaussian elimination -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Elimination:
    """The solution of linear equations of symbols.

    Args:
        values: the expression of each column that could be solved for; columns that are free may be in it.
        rest: right-hand sides of rows that are left without any column; they are zero where the rows can be met.
        free: columns that no row determines.
        numerators: by column, the expression that its pivot divides, and the row.
    """

    values: dict[Node, Node]
    rest: dict[Row, Node]
    free: list[Node]
    numerators: dict[Node, tuple[Row, Node]]


def eliminated(
    matrix: Symbols,
    right: Mapping[Row, Node],
    columns: Sequence[Node],
    dimensions: int,
    texts: Mapping[Row, str] | None = None,
    gauges: Mapping[str, tuple[int, ...]] | None = None,
    may_be_singular: bool = False,
) -> Elimination:
    """Solve Σ matrix[row, column] · column = right[row], mode by mode.

    Pivots that vanish for the mean mode alone leave its columns at zero.

    Args:
        matrix: symbols; those that are not there are zero.
        right: expressions.
        columns: the unknowns of the equations.
        dimensions: number of dimensions of space.
        texts: texts of the rows, for messages.
        gauges: by name of an unknown, axes along which it has no modes that are constant: there its pivot may vanish.
        may_be_singular: True if pivots may vanish for any modes.

    Raises:
        WrittenError: a pivot that vanishes for other modes that are constant along some axes only, or that does not
            vanish where a gauge says so.
    """
    modes, right = modes_of_all_kinds(dimensions), dict(right)
    rows: dict[Row, dict[Node, Node]] = {row: {} for row in right}
    for (row, column), symbol in matrix.items():
        if not vanishes(symbol, modes):
            rows[row][column] = symbol
    pivots: dict[Row, Node] = {}
    while open_rows := [row for row in rows if rows[row] and row not in pivots]:
        row = min(open_rows, key=lambda row: len(rows[row]))
        column = min(
            rows[row], key=lambda column: (sum(column in entries for entries in rows.values()), columns.index(column))
        )
        if not may_be_singular:
            gauge = (gauges or {}).get(named(column), ())
            _refuse_singular(rows[row][column], dimensions, (texts or {}).get(row, ""), gauge)
        for other in open_rows:
            if other != row and column in rows[other]:
                _subtract(rows, right, row, other, column, modes)
        pivots[row] = column
    values: dict[Node, Node] = {}
    numerators = {}
    for row, column in reversed(pivots.items()):
        others = [applied(symbol, values.get(c, c)) for c, symbol in rows[row].items() if c != column]
        numerators[column] = row, plus((right[row], *map(minus, others)))
        values[column] = solved(numerators[column][1], rows[row][column])
    rest = {row: right[row] for row in rows if row not in pivots and right[row] != ZERO}
    return Elimination(values, rest, [column for column in columns if column not in values], numerators)


def _subtract(
    rows: dict[Row, dict[Node, Node]], right: dict[Row, Node], pivot: Row, row: Row, column: Node, modes: RandomModes
) -> None:
    """Take the pivot's row away from another one, so that the column is gone from it."""
    factor = solved(rows[row].pop(column), rows[pivot][column])
    for other, symbol in rows[pivot].items():
        if other != column:
            rows[row][other] = plus((rows[row].get(other, ZERO), minus(applied(factor, symbol))))
            if vanishes(rows[row][other], modes):
                del rows[row][other]
    right[row] = plus((right[row], minus(applied(factor, right[pivot]))))


def _refuse_singular(pivot: Node, dimensions: int, text: str, gauge: tuple[int, ...]) -> None:
    """Refuse a division by zero for whole planes or lines of modes, but for those that a gauge leaves out."""
    shown = f"\n    {text}" if text else ""
    in_words = lambda axes: " and ".join("xyz"[axis] for axis in axes)  # noqa: E731
    if gauge and (max(gauge) >= dimensions or not vanishes(pivot, random_modes(dimensions, constant_along=gauge))):
        raise WrittenError(
            f"mean(…, {in_words(gauge)}) = 0 of an unknown whose equation gives its modes that are constant along "
            f"{in_words(gauge)}{shown}"
        )
    for count in range(1, dimensions):
        for axes in combinations(range(dimensions), count):
            is_left_out = bool(gauge) and {*gauge} <= {*axes}
            if not is_left_out and vanishes(pivot, random_modes(dimensions, constant_along=axes)):
                first = in_words(axes[:1])
                raise WrittenError(
                    f"an unknown cannot be solved for: no equation gives its modes that are constant along "
                    f"{in_words(axes)}; mean(…, {first}) = 0 leaves them out{shown}"
                )
