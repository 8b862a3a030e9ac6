"""Speed at which a disturbance of the fields is carried or changed at each point: the rate of a CFL number.

N is linearised about the fields, with what multiplies a disturbance held fixed at each point. To leading order in the
wavenumber a disturbance e^{ikx} along one axis then changes by a matrix of numbers. If it is of first order in k, its
eigenvalues are speeds, and the rate is Σ_i speed_i/Δx_i; if it is of order zero, it is a rate itself, as are linear
terms of order zero that the text keeps out of L. What L holds is exact for any step where it stands, and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from solver.written.components import ONE, ZERO, minus, plus, times
from solver.written.degrees import holds_time
from solver.written.elimination import Reduced, named, replaced
from solver.written.formula import unicode
from solver.written.leading import leading_order
from solver.written.linear import NoSlope, coefficient
from solver.written.matrices import matrix, projector
from solver.written.plan import Plan
from solver.written.symbols import RandomModes, applied, random_modes
from solver.written.tree import Call, Name, Node, Number, Slot
from solver.written.walled import of_products

Entries: TypeAlias = dict[tuple[Node, Node], Node]  # of a matrix, by row and column
Terms: TypeAlias = dict[tuple[float, tuple[Node, Node]], list[Node]]  # of entries, by the order of the wavenumber

LARGE = 2.0**20  # a wavenumber at which the leading order counts alone
ROUNDED = 1e-14  # of the size of terms that cancel


@dataclass(frozen=True)
class Rate:
    """The rate whose largest value a CFL number uses.

    Args:
        speeds: along each axis [length/time], as expressions in inner fields of the plan's only level; None where a
            disturbance is not carried.
        reaction: [1/time], in place of speeds; with them the rate of linear terms outside of L, or None.
        coefficients: numbers that are in these expressions by name: pairs of symbols, of which the product at a
            large wavenumber along an axis is taken, divided by that wavenumber to the power of the order.
    """

    speeds: tuple[Node, ...] | None
    reaction: Node | None
    coefficients: Mapping[str, Coefficient]


@dataclass(frozen=True)
class Coefficient:
    """A number that parameters decide: `outer` times `inner`, at a large wavenumber.

    Args:
        outer, inner: symbols.
        axis: along which the wavenumber points.
        order: order of the wavenumber in the product.
    """

    outer: Node
    inner: Node
    axis: int
    order: float


@dataclass(frozen=True)
class Unseen:
    """There is no rate, and why."""

    reason: str


def rate(reduced: Reduced, plan: Plan[Any], changes: Mapping[Node, Node]) -> Rate | Unseen:
    """The rate of N, whose changes of each scalar are given in the products of its plan."""
    if hidden := _from_products(reduced, changes):
        return Unseen(f"{hidden} acts by itself and follows from products of the fields, a place or the time")
    changes = {scalar: replaced(change, reduced.walled_in_fields) for scalar, change in changes.items()}
    if not plan.products:
        holds_fields = any(part in reduced.scalars for change in changes.values() for part in change.walk())
        return Unseen("what stands outside L is linear") if holds_fields else Rate(None, ZERO, {})
    if any(node.calls("symbol") for node in (*plan.inner, *changes.values())):
        return Unseen("a symbol of your own acts outside L")
    if len(plan.levels()) > 1:
        return Unseen("a product stands inside an operator inside a product")
    try:
        linearised = _Linearised(reduced, plan, changes)
        return Unseen("terms of its fields depend on time") if linearised.holds_time else linearised.rate()
    except NoSlope as error:
        return Unseen(f"the derivative of {error} is not known")


def _from_products(reduced: Reduced, changes: Mapping[Node, Node]) -> str:
    """The name of an unknown with conditions at walls that products give and that is a linear term; empty without."""
    alone = {scalar for _, scalar in reduced.linear} | {part for change in changes.values() for part in change.walk()}
    found = alone & of_products(reduced.walled, reduced.system)
    return min(map(named, found), default="")


class _Linearised:
    def __init__(self, reduced: Reduced, plan: Plan[Any], changes: Mapping[Node, Node]) -> None:
        self.reduced, self.plan, self.changes = reduced, plan, changes
        self.coefficients: dict[str, Coefficient] = {}
        slots = [Slot("inner", i) for i in range(len(plan.inner))]
        self.slopes = {
            (p, i): found
            for p, product in enumerate(plan.products)
            for i, slot in enumerate(slots)
            if (found := coefficient(product, slot)) != ZERO
        }
        scalars = reduced.scalars
        self.linear = {row: [coefficient(change, scalar) for scalar in scalars] for row, change in changes.items()}
        self.outer = {product: self._outer(product) for product in range(len(plan.products))}

    @property
    def holds_time(self) -> bool:
        """True if the time is in what acts on a disturbance; sources may depend on it."""
        inner = (self.plan.inner[i] for _, i in self.slopes)
        outer = (symbol for product, _ in self.slopes for _, symbol in self.outer[product])
        linear = (symbol for row in self.linear.values() for symbol in row)
        return any(map(holds_time, [*self.slopes.values(), *inner, *outer, *linear]))

    def rate(self) -> Rate | Unseen:
        """Speeds where there are any, else rates of reaction."""
        matrices = balanced([self.matrix(axis) for axis in range(self.reduced.dimensions)], self.reduced.scalars)
        order = max((order for entries in matrices for order in entries), default=0.0)
        if order > 1:
            return Unseen(f"terms outside L act on a wavenumber k as k^{order:g}")
        if any(1 in entries for entries in matrices):
            speeds = [radius(entries.get(1, {}), self.reduced.scalars) for entries in matrices]
            if all(speed == ZERO for speed in speeds):
                return Unseen("its fields act on each other through L")
            reaction = self._kept_out()
            return Rate(tuple(speeds), None if reaction == ZERO else reaction, self._used([*speeds, reaction]))
        if order > 0:
            return Unseen("terms outside L act on a wavenumber k as a fraction of its power")
        if order < 0:
            return Unseen("terms outside L act on long waves the most")
        reaction = _largest_sum(matrices[0].get(0, {}), self.reduced.scalars)
        return Rate(None, reaction, self._used([reaction]))

    def _used(self, nodes: Sequence[Node]) -> dict[str, Coefficient]:
        names = set().union(*(node.names for node in nodes))
        return {name: value for name, value in self.coefficients.items() if name in names}

    def matrix(self, axis: int) -> dict[float, Entries]:
        """Effect of disturbances of each scalar along an axis on each scalar, by the order of the wavenumber."""
        return self._effect(axis, self.slopes)

    def _effect(self, axis: int, slopes: Mapping[tuple[int, int], Node]) -> dict[float, Entries]:
        """The same of linear terms, and of those products alone whose slopes are given."""
        terms: Terms = {}
        onto = self._projector(axis)
        columns = {inner: self._inner(inner, onto) for inner in dict.fromkeys(inner for _, inner in slopes)}
        for (product, inner), at_point in slopes.items():
            for row, outer in self.outer[product]:
                for column, of_inner in columns[inner]:
                    for order, number in self._leading(outer, of_inner, axis):
                        terms.setdefault((order, (row, column)), []).append(times(number, at_point))
        for key, numbers in self._of_linear(axis, onto).items():
            terms.setdefault(key, []).extend(numbers)
        return _entries(terms)

    def _kept_out(self) -> Node:
        """The largest rate of linear terms of order zero that are not in L, where they act back on themselves."""
        scalars, linear = self.reduced.scalars, self.reduced.changes(self.reduced.linear_rows())
        in_l = {(row, s): ONE for row, node in linear.items() for s in scalars if s in node.walk()}
        is_linear = lambda slope: not any(isinstance(part, Slot) for part in slope.walk())  # noqa: E731
        slopes = {key: slope for key, slope in self.slopes.items() if is_linear(slope)}
        sums = []
        for axis in range(self.reduced.dimensions):
            entries = self._effect(axis, slopes).get(0, {})
            groups = _coupled({**in_l, **entries}, scalars)
            back = {pair: entries[pair] for pair in entries if any({*pair} <= {*group} for group in groups)}
            sums.append(_largest_sum(back, scalars))
        return _largest(sums)

    def _of_linear(self, axis: int, onto: np.ndarray) -> Terms:
        """Effect of linear terms that are not in L, as numbers."""
        terms: Terms = {}
        for row, own in self.linear.items():
            for column, symbol in self._mixed(own, onto):
                for order, number in self._leading(ONE, symbol, axis):
                    terms.setdefault((order, (row, column)), []).append(number)
        return terms

    def _outer(self, product: int) -> list[tuple[Node, Node]]:
        """Symbols of a product in the rates of scalars."""
        symbols = [(scalar, coefficient(change, Slot("product", product))) for scalar, change in self.changes.items()]
        return [(scalar, symbol) for scalar, symbol in symbols if symbol != ZERO]

    def _inner(self, inner: int, projector: np.ndarray) -> list[tuple[Node, Node]]:
        """Symbols of an inner field in scalars that meet the constraints."""
        node = replaced(self.plan.inner[inner], self.reduced.walled_in_fields)
        return self._mixed([coefficient(node, s) for s in self.reduced.scalars], projector)

    def _mixed(self, own: Sequence[Node], projector: np.ndarray) -> list[tuple[Node, Node]]:
        """Symbols in scalars that meet the constraints, from those in each scalar."""
        scalars = self.reduced.scalars
        mixed = [
            plus(times(Number(complex(share)), symbol) for share, symbol in zip(column, own, strict=True) if share)
            for column in projector.T
        ]
        return [(scalar, symbol) for scalar, symbol in zip(scalars, mixed, strict=True) if symbol != ZERO]

    def _projector(self, axis: int) -> np.ndarray:
        """Onto what meets the constraints, for a wavenumber along an axis."""
        modes = along_axis(self.reduced.dimensions, axis)
        found = projector(
            matrix(self.reduced.constraints, list(self.reduced.constraint_rows), self.reduced.scalars, modes)
        )[0]
        return np.where(np.abs(found) < 1e-12, 0, np.round(found, 12))

    def _leading(self, outer: Node, inner: Node, axis: int) -> Iterator[tuple[float, Node]]:
        """The order of the wavenumber in a product of symbols, and the number before it."""
        at = [along_axis(self.reduced.dimensions, axis, LARGE * factor) for factor in (1, 2)]
        values = [np.asarray(modes.value(outer) * modes.value(inner)).item() for modes in at]
        sizes = [abs((each.values(outer) * each.values(inner))[0]) for each in (modes.sizes() for modes in at)]
        if abs(values[0]) < 1e-300 or _is_rounding(values, sizes):
            return
        order = order_of(values)
        number = complex(values[0] / LARGE**order)
        if not outer.names | inner.names:
            yield order, Number(in_digits(number))
            return
        symbol = applied(outer, inner)
        written = leading_order(symbol, axis)
        if written is not None and abs(complex(at[0].values(written)[0]) - number) < 1e-4 * abs(number):
            yield order, written
            return
        name = f"(leading order of {unicode(symbol)} along {'xyz'[axis]})"
        self.coefficients[name] = Coefficient(outer, inner, axis, order)
        yield order, Name(name)


def order_of(values: Sequence[complex]) -> float:
    """The power of the wavenumber that a value goes with, from those at a wavenumber and at twice that."""
    return round(12 * math.log2(abs(values[1] / values[0]))) / 12


def _is_rounding(values: Sequence[complex], sizes: Sequence[float]) -> bool:
    """True if values are what rounding leaves of the terms of these sizes, which cancel."""
    return abs(values[0]) < ROUNDED * sizes[0] and (not values[1] or order_of(values) == order_of(sizes))


def in_digits(number: complex) -> complex:
    """A number rounded to 12 digits, however small it is: in SI units a coefficient may be 1e-13."""
    whole = 12 - math.ceil(math.log10(abs(number)))
    return complex(round(number.real, whole), round(number.imag, whole))


def _entries(terms: Terms) -> dict[float, Entries]:
    """Sums of terms, by the order of the wavenumber."""
    entries: dict[float, Entries] = {}
    for (order, pair), summed in terms.items():
        if (node := plus(summed)) != ZERO:
            entries.setdefault(order, {})[pair] = node
    return entries


def along_axis(dimensions: int, axis: int, size: float = LARGE) -> RandomModes:
    """A mode whose wavenumber of some size points along an axis."""
    modes = random_modes(dimensions, 1, constant_along=range(dimensions))
    modes.slopes[axis] = size
    return modes


def balanced(matrices: Sequence[dict[float, Entries]], scalars: Sequence[Node]) -> list[dict[float, Entries]]:
    """The same with each scalar measured in a power of k, so that no order is above one, where there are such powers.

    Eigenvalues do not depend on them. A stream function that drives a vorticity as k³, and is driven by it as 1/k, is
    carried as by speeds.
    """
    found = [(order, *pair) for matrix in matrices for order, entries in matrix.items() for pair in entries]
    powers = dict.fromkeys(scalars, 0.0)
    for _ in range(len(scalars) + 1):
        before = dict(powers)
        for order, row, column in found:
            powers[row] = max(powers[row], powers[column] + order - 1)
        if powers == before:
            break
    else:
        return list(matrices)
    shifted: list[dict[float, Entries]] = [{} for _ in matrices]
    for into, by_order in zip(shifted, matrices, strict=True):
        for order, entries in by_order.items():
            for (row, column), node in entries.items():
                into.setdefault(order + powers[column] - powers[row], {})[row, column] = node
    return shifted


# ---- the size of eigenvalues ----------------------------------------------------------------------------------------


def radius(entries: Entries, scalars: Sequence[Node]) -> Node:
    """The largest modulus of the eigenvalues of a small matrix of expressions; a bound where more than two couple."""
    parts = []
    for group in _coupled(entries, scalars):
        at = lambda i, j: entries.get((group[i], group[j]), ZERO)  # noqa: B023, E731
        if len(group) == 1:
            parts.append(_modulus(at(0, 0)))
        elif len(group) == 2:
            parts.append(_of_two(at(0, 0), at(0, 1), at(1, 0), at(1, 1)))
        else:
            parts.append(_largest_sum({pair: entries[pair] for pair in entries if {*pair} <= {*group}}, group))
    return _largest(parts)


def _of_two(a: Node, b: Node, c: Node, d: Node) -> Node:
    """The spectral radius of [[a, b], [c, d]]: exact for real eigenvalues, a bound for others."""
    if a == d and (b == c or b == minus(c)):
        return plus((_modulus(a), _modulus(b)))
    half = times(Number(0.5), plus((a, minus(d))))
    inside = plus((times(half, half), times(b, c)))
    return plus((_modulus(times(Number(0.5), plus((a, d)))), Call("sqrt", (_modulus(inside),))))


def _coupled(entries: Entries, scalars: Sequence[Node]) -> list[list[Node]]:
    """Scalars that act on each other, there and back: eigenvalues belong to these groups."""
    reached = {s: {s} for s in scalars}
    for _ in scalars:
        for row, column in entries:
            reached[row] |= reached[column]
    groups: list[list[Node]] = []
    for s in scalars:
        group = [r for r in scalars if r in reached[s] and s in reached[r]]
        if group not in groups:
            groups.append(group)
    return groups


def _largest_sum(entries: Entries, scalars: Sequence[Node]) -> Node:
    """The largest sum of moduli along a row: no eigenvalue is larger."""
    return _largest([plus(_modulus(entries[row, c]) for c in scalars if (row, c) in entries) for row in scalars])


def _modulus(node: Node) -> Node:
    """|f|, as plainly as it can be said."""
    if node == ZERO:
        return ZERO
    if isinstance(node, Number):
        return Number(abs(node.value))
    plain = minus(node)
    return Call("abs", (min(node, plain, key=lambda n: (len(repr(n)), repr(n))),))


def _largest(nodes: Sequence[Node]) -> Node:
    distinct = [node for node in dict.fromkeys(nodes) if node != ZERO]
    if not distinct:
        return ZERO
    whole = distinct[0]
    for node in distinct[1:]:
        whole = Call("max", (whole, node))
    return whole
