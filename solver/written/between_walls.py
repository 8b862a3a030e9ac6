"""A text between walls: the terms of its linear part that are numbers of each mode, and all the others.

Decay and diffusion, −μ u and ν∇²u, are diagonal in the modes of a field. Every other linear term is evaluated with N. A
pressure disappears, since the modes of a velocity without divergence are orthogonal to every gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from solver.written.arranged import Row
from solver.written.components import ONE, ZERO, minus, plus, times
from solver.written.derivation import in_dimensions, without_unknowns
from solver.written.elimination import Reduced, Symbols, named
from solver.written.energies import cause_symbols
from solver.written.formula import unicode
from solver.written.matrices import without_divergence
from solver.written.plan import Plan, plan_as_written
from solver.written.symbols import applied, random_modes
from solver.written.text import AS_WRITTEN, BY_PRODUCT_RULE, Text
from solver.written.tree import Call, Derivative, Negative, Node, Product, Quotient, Solved, Sum, WrittenError
from solver.written.vocabulary import OPERATORS
from solver.written.walled import Group, refuse_not_elliptic


@dataclass(frozen=True)
class LinearBetweenWalls:
    """Linear terms of a text.

    Args:
        decay: c of c u, by field; a sum of parameters.
        diffusion: ν of ν∇²u, by field.
        rest: the other terms, by scalar of a field.
        symbols: the symbols of these, by the scalar that they change and the one that they act on.
        powers: coefficients of powers of the Laplacian, which must be zero here.
    """

    decay: Mapping[str, Node]
    diffusion: Mapping[str, Node]
    rest: Mapping[Node, Node]
    symbols: Mapping[tuple[Node, Node], Node]
    powers: tuple[Node, ...] = ()


@dataclass(frozen=True)
class BetweenWalls:
    """A text as it is carried out between walls.

    Args:
        text: the text that the plan is of: as it is given, or with the transforms as written.
        plan: transforms and products; its rows by scalar of a field.
        linear: the linear terms.
        causes: the linear terms of each cause that the text names.
        solenoidal: names of the vectors without divergence.
        solves: equations of the unknowns with conditions at walls, in the order in which they are solved.
    """

    text: Text
    plan: Plan[Node]
    linear: LinearBetweenWalls
    causes: Mapping[str, LinearBetweenWalls]
    solenoidal: frozenset[str]
    solves: tuple[Solve, ...] = ()

    @property
    def unknowns(self) -> set[Node]:
        """Scalars of the unknowns with conditions at walls."""
        return {unknown for solve in self.solves for unknown in solve.group.unknowns}

    @property
    def right(self) -> dict[Node, Node]:
        """N by scalar: the rows of the plan, and the linear terms that are not in L."""
        rows, rest = self.plan.rows, self.linear.rest
        return {scalar: plus((rows.get(scalar, ZERO), rest.get(scalar, ZERO))) for scalar in {**rows, **rest}}


@dataclass(frozen=True)
class Solve:
    """Unknowns with conditions at walls, and how their right-hand sides are carried out.

    Args:
        group: the unknowns and their equations.
        plan: transforms and products; its rows are the right-hand sides without their linear terms.
    """

    group: Group
    plan: Plan[Row]


@cache
def between_walls(text: Text, dimensions: int) -> BetweenWalls:
    """The form of a text between walls.

    Raises:
        WrittenError: something that has no meaning there: an unknown that is more than a pressure, a rate of change
            with operators, a term that is not made of products and their first derivatives.
    """
    reduced = without_unknowns(text, dimensions)
    solenoidal = frozenset(without_divergence(reduced))
    scalars = _scalar_of_rows(reduced)
    _refuse_unknowns(reduced, solenoidal, scalars)
    _refuse_operators([*reduced.linear.values(), *reduced.rest.values()])
    causes = {
        label: _plus(_split(inside, scalars), _kept_out(outside, scalars))
        for label, (inside, outside) in cause_symbols(reduced).items()
    }
    text, plan = _plan(text, dimensions, scalars)
    return BetweenWalls(text, plan, _split(reduced.linear, scalars), causes, solenoidal, _solves(reduced))


def _solves(reduced: Reduced) -> tuple[Solve, ...]:
    """The unknowns with conditions at walls, in the order in which they are solved for."""
    found = []
    for group in reduced.walled:
        refuse_not_elliptic(group, reduced.system, reduced.dimensions)
        _refuse_operators(map(group.right, group.rows))
        plan = plan_as_written(group.rest, reduced.system.fields)
        for row in group.rows:
            if _order(group.right(row)) > 2 or _strange(plan.rows[row]):
                place = reduced.system.lines[row[0]].left.place
                raise place.error("between walls up to second derivatives of fields give an unknown, and products")
        found.append(Solve(group, plan))
    return tuple(found)


def _plan(text: Text, dimensions: int, scalars: Mapping[Row, Node]) -> tuple[Text, Plan[Node]]:
    """The plan of the text, or else the one that follows it word by word, or by the product rule; and the text that
    has it."""
    for tried in plans_of(text):
        plan = in_dimensions(tried, dimensions).plan
        by_scalar = {scalars[row]: node for row, node in plan.rows.items()}
        strange = [plan.without_slots(part) for node in (*by_scalar.values(), *plan.inner) for part in _strange(node)]
        if not strange:
            return tried, Plan(plan.inner, plan.products, by_scalar)
    raise WrittenError(f"{unicode(strange[0])}: between walls products, their derivatives and their means are known")


def plans_of(text: Text) -> list[Text]:
    """The text with each plan that may be carried out between walls, the cheapest one first."""
    return [text, *(replace(text, plan=plan) for plan in (AS_WRITTEN, BY_PRODUCT_RULE) if plan != text.plan)]


@cache
def plan_word_by_word(text: Text, dimensions: int) -> Plan[Node] | None:
    """The plan that follows the text word by word, with rows by scalar of a field.

    Other plans may leave out gradients of products, which a pressure takes up. None if the text has operators on
    products that are not known between walls.
    """
    reduced = without_unknowns(text, dimensions)
    plan = plan_as_written(reduced.rest, reduced.system.fields)
    if any(_strange(node) for node in (*plan.rows.values(), *plan.inner)):
        return None
    return Plan(plan.inner, plan.products, {scalar: plan.rows[row] for row, scalar in _scalar_of_rows(reduced).items()})


def _strange(node: Node) -> list[Node]:
    """The operators that act on products and are not known between walls: all but means."""
    operators = [part for part in node.walk() if isinstance(part, Solved)] + node.calls(*OPERATORS)
    return [part for part in operators if part.slots and part not in node.calls("mean")]


def _refuse_operators(nodes: Iterable[Node]) -> None:
    for part in (part for node in nodes for part in node.calls("inverse_lap", "helmholtz", "symbol")):
        if part.function == "symbol":
            raise WrittenError(f"{unicode(part)} between walls: a function of the wavenumber has no meaning there")
        raise WrittenError(
            f"{unicode(part)} between walls would need conditions of its own, as an unknown has them: lap(psi) = q "
            "with psi(bottom) = 0 and psi(top) = 0"
        )


def _refuse_unknowns(reduced: Reduced, solenoidal: frozenset[str], scalars: Mapping[Row, Node]) -> None:
    for unknown, node in reduced.diagnosed.items():
        divided = [part for part in node.walk() if isinstance(part, Solved) and not _is_number(part.by)]
        if divided or node.calls("inverse_lap", "helmholtz"):
            name = named(unknown)
            raise WrittenError(
                f"the unknown {name!r} between walls would need conditions of its own, such as {name}(bottom) = 0 and "
                f"{name}(top) = 0; a pressure that serves div(u) = 0 needs none"
            )
    for row, unknown in reduced.gradients:
        if named(scalars[row]) not in solenoidal:
            raise WrittenError(
                f"the unknown {named(unknown)!r} acts on {named(scalars[row])!r}, which is not free of divergence: "
                "between walls that is not known"
            )
    for unknown in dict.fromkeys(unknown for _, unknown in reduced.gradients):
        if not _is_gradient({row: symbol for (row, of), symbol in reduced.gradients.items() if of == unknown}, reduced):
            raise WrittenError(
                f"the unknown {named(unknown)!r} does not act as a gradient: between walls it must, grad(p)"
            )


def _is_gradient(symbols: Mapping[Row, Node], reduced: Reduced) -> bool:
    """True if the symbols of an unknown are i k of one vector, but for a factor."""
    if len(symbols) != reduced.dimensions:
        return False
    modes = random_modes(reduced.dimensions)
    values = np.array([modes.values(symbols[row]) for row in sorted(symbols)])
    size: float = np.max(np.abs(values)) * np.max(np.abs(modes.slopes))
    return bool(np.all(np.abs(values * modes.slopes[0] - values[0] * modes.slopes) < 1e-9 * size))


def _scalar_of_rows(reduced: Reduced) -> dict[Row, Node]:
    """The scalar whose rate of change each row gives."""
    found: dict[Row, Node] = {}
    for (row, scalar), symbol in reduced.mass.items():
        if symbol != ONE or row in found:
            line = reduced.system.lines[row[0]]
            raise line.left.place.error("between walls dt(…) of one field stands alone on the left-hand side")
        found[row] = scalar
    return found


def _split(symbols: Symbols, scalars: Mapping[Row, Node]) -> LinearBetweenWalls:
    """Linear symbols, by row and scalar, apart: numbers of each mode, and the others."""
    names = [named(scalar) for scalar in scalars.values()]
    own: dict[str, list[_Terms]] = {}
    others: dict[Node, list[Node]] = {}
    left: dict[tuple[Node, Node], Node] = {}
    powers: list[Node] = []
    for (row, scalar), symbol in symbols.items():
        to, terms = scalars[row], _terms(symbol)
        powers += terms.powers
        if to == scalar:
            own.setdefault(named(to), []).append(terms)
        rest = plus(terms.rest) if to == scalar else symbol
        if _order(rest) > 2:
            raise WrittenError(
                f"{unicode(applied(rest, scalar))}: a derivative of order {_order(rest)} between walls, where up to "
                "second ones of a field are known"
            )
        if rest != ZERO:
            left[to, scalar] = rest
            others.setdefault(to, []).append(applied(rest, scalar))
    for name, each in own.items():
        if any(one[:2] != each[0][:2] for one in each) or (any(each[0][:2]) and len(each) < names.count(name)):
            raise WrittenError(
                f"diffusion or decay of {name!r} that differs from component to component: between walls it must not"
            )
    return LinearBetweenWalls(
        {name: plus(each[0].decay) for name, each in own.items() if each[0].decay},
        {name: plus(each[0].diffusion) for name, each in own.items() if each[0].diffusion},
        {to: plus(terms) for to, terms in others.items()},
        left,
        tuple(powers),
    )


def _kept_out(symbols: Symbols, scalars: Mapping[Row, Node]) -> LinearBetweenWalls:
    """Linear symbols that a text keeps out of L."""
    rest: dict[Node, list[Node]] = {}
    for (row, scalar), symbol in symbols.items():
        if _order(symbol) > 1:
            raise WrittenError(
                f"explicit({unicode(applied(symbol, scalar))}): between walls derivatives outside of L are first ones"
            )
        rest.setdefault(scalars[row], []).append(applied(symbol, scalar))
    return LinearBetweenWalls({}, {}, {to: plus(terms) for to, terms in rest.items()}, {})


def _plus(a: LinearBetweenWalls, b: LinearBetweenWalls) -> LinearBetweenWalls:
    rest = {to: plus((a.rest.get(to, ZERO), b.rest.get(to, ZERO))) for to in {**a.rest, **b.rest}}
    return replace(a, rest=rest)


def _order(node: Node) -> int:
    """The highest order of derivatives in a term."""
    own = 1 if isinstance(node, Derivative) else 2 if node in node.calls("lap") else 0
    return own + max(map(_order, node.children), default=0)


class _Terms(NamedTuple):
    """The terms of a symbol: numbers that multiply u, numbers that multiply ∇²u, the others, and coefficients of powers
    of the Laplacian."""

    decay: tuple[Node, ...] = ()
    diffusion: tuple[Node, ...] = ()
    rest: tuple[Node, ...] = ()
    powers: tuple[Node, ...] = ()


def _terms(symbol: Node) -> _Terms:
    match symbol:
        case Sum(terms):
            return _Terms(*(sum(parts, start=()) for parts in zip(*map(_terms, terms), strict=True)))
        case Negative(of):
            return _Terms(*(tuple(map(minus, parts)) for parts in _terms(of)))
        case Call("cause" | "explicit", arguments):
            return _terms(arguments[-1])
        case Product(left, right) if _is_number(left) != _is_number(right):
            number, other = (left, right) if _is_number(left) else (right, left)
            return _Terms(*(tuple(times(number, part) for part in parts) for parts in _terms(other)))
        case Quotient(above, below) if not _is_number(above):
            return _Terms(*(tuple(Quotient(part, below) for part in parts) for parts in _terms(above)))
        case Call("lap", (of,)) if _is_number(of):
            return _Terms(diffusion=(of,))
        case Call("fraclap", (of, _)):
            return _Terms(powers=(of,))
    return _Terms(decay=(symbol,)) if _is_number(symbol) else _Terms(rest=(symbol,))


def _is_number(symbol: Node) -> bool:
    """True of a symbol that is the same for all modes."""
    return not symbol.calls(*OPERATORS) and not any(isinstance(part, Derivative | Solved) for part in symbol.walk())
