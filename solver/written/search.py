"""The plan with the fewest transforms: inner fields and products are chosen anew where the text multiplies two fields.

Terms of more factors, and functions of fields, stay as they are written, and share what they can with the rest: they
are equal to the text with aliasing, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from solver.written.agreement import agrees
from solver.written.ansatz import Ansatz
from solver.written.arranged import Row
from solver.written.components import minus, plus, times_all
from solver.written.dictionary import Dictionary, dictionary
from solver.written.elimination import Reduced
from solver.written.forward import Combination, Forward, Key
from solver.written.matrices import operators
from solver.written.parameters import lengths
from solver.written.plan import Plan, Planner, plan_as_written
from solver.written.problem import Entry, Outer
from solver.written.samples import draw
from solver.written.sets import SetSearch
from solver.written.symbols import applied
from solver.written.terms import Term, Weight, constant, terms_of
from solver.written.tree import Negative, Node, Slot, Sum

SEED = 1
MODES = 60  # that forward transforms are counted on


def cheapest_plan(less: Reduced) -> Plan[Row]:
    """The plan with the fewest transforms that is found, for fields that meet the constraints.

    Its rates of change are those of the rest of the system. Aliasing of products of two may differ from the text's: a
    dealiasing rule that is exact for these makes both equal.

    Args:
        less: a system without unknowns.

    Returns:
        A plan for the rows of `less.rest`, with no more transforms than the plan as written.
    """
    written = plan_as_written(less.rest, less.system.fields)
    for found in _Planned(less).plans():
        if sum(found.transforms) <= sum(written.transforms) and agrees(less, found):
            return found
    return written


class _Planned:
    """A system whose terms are told apart."""

    def __init__(self, less: Reduced) -> None:
        self.less, self.operators, self.rows = less, operators(less), list(less.rest)
        self.terms = terms_of(list(less.rest.values()), less.system.fields)
        self.planner = Planner(less.system.fields)
        self.kept = [(row, self.planner.in_modes(node)) for row, node in self.terms.kept]
        self.written = [self._as_written(term) for term in self.terms.others]

    def _as_written(self, term: Term) -> Entry:
        """A term that is made at the points as it stands; it and its negative count as one product."""
        made, number = self.planner.at_points(term.factors[0]), term.weight.number
        if isinstance(made, Negative):
            made, number = made.of, -number
        if isinstance(made, Sum) and repr(opposite := plus(map(minus, made.terms))) < repr(made):
            made, number = opposite, -number
        outer = Outer(term.weight.constants, (0,) * self.less.dimensions, term.outer)
        return Entry(term.row, made, outer, number)

    def plans(self) -> Iterator[Plan[Row]]:
        """The best plans that are found: with the products that dimensional analysis allows, then with all."""
        factors = list(dict.fromkeys(node for term in self.terms.quadratic for node in term.factors))
        given = [node for node in self.planner.inner if not any(isinstance(part, Slot) for part in node.walk())]
        samples = draw(self.operators, self.less.dimensions, 120, SEED)
        forward = Forward(self.operators, self.less.dimensions, MODES)
        known = lengths(factors)
        for of in (known, {}) if known else (known,):
            choice = dictionary(self.less, factors, given, samples, of)
            measured = dictionary(self.less, (), factors, samples, of)
            ansatz = Ansatz(self.less, self.operators, self.terms.quadratic, choice, measured, samples, of)
            problems = ansatz.problems()
            found = None if problems is None else SetSearch(choice, problems, forward, self.written).best()
            if found is not None:
                yield self._assembled(choice, forward.combined(found.entries), found.entries)

    def _assembled(self, choice: Dictionary, combination: Combination, entries: tuple[Entry, ...]) -> Plan[Row]:
        """The plan: products in the order of their combinations, rows of what acts on the leading part of each."""
        inner = dict(self.planner.inner)
        for i in sorted({i for entry in entries if isinstance(entry.made, tuple) for i in entry.made}):
            inner.setdefault(choice.inner[i].node, len(inner))

        slot = lambda i: Slot("inner", inner[choice.inner[i].node])  # noqa: E731

        def made(key: Key, number: complex) -> Node:
            factors = map(slot, key[0]) if isinstance(key[0], tuple) else key[:1]
            return times_all([constant(Weight(number, key[1])), *factors])

        products = list(self.planner.products)
        rows = [[node for at, node in self.kept if at == row] for row in range(len(self.rows))]
        for pivot, mix in zip(combination.pivots, combination.mix, strict=True):
            taken = Slot("product", len(products))
            products.append(plus(made(key, x) for key, x in zip(combination.keys, mix, strict=True) if x))
            for entry in entries:
                if (outer := combination.outer(pivot, entry)) is not None:
                    rows[entry.row].append(applied(outer.weighted(entry.number), taken))
        return Plan(tuple(inner), tuple(products), dict(zip(self.rows, map(plus, rows), strict=True)))
