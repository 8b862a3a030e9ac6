"""The plan with the fewest transforms: inner fields and products are chosen anew where the text multiplies two fields.

Terms of more factors, and functions of fields, stay as they are written, and share what they can with the rest: they
are equal to the text with aliasing, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from solver.written.agreement import agrees
from solver.written.ansatz import Ansatz
from solver.written.arranged import Row
from solver.written.components import minus, plus, times, times_all
from solver.written.dictionary import Dictionary, dictionary, measured
from solver.written.elimination import Reduced
from solver.written.forward import Combination, Forward, Key
from solver.written.parameters import lengths
from solver.written.plan import Plan, Planner, plan_as_written
from solver.written.samples import draw
from solver.written.sets import SetSearch
from solver.written.symbols import applied
from solver.written.terms import Term, Terms, Weight, constant
from solver.written.tree import Negative, Node, Slot, Sum

SEED = 1
MODES = 60  # that forward transforms are counted on


def cheapest_plan(reduced: Reduced) -> Plan[Row]:
    """The plan with the fewest transforms that is found, for fields that meet the constraints.

    Its rates of change equal the rates of the rest of the system. Aliasing of products of two may differ from the
    text's: a dealiasing rule that is exact for these makes both equal.

    Args:
        reduced: a system without unknowns.

    Returns:
        A plan for the rows of `reduced.rest`, with no more transforms than the plan as written.
    """
    written = plan_as_written(reduced.rest, reduced.system.fields)
    for found in _Planned(reduced).plans():
        if sum(found.transforms) <= sum(written.transforms) and agrees(reduced, found):
            return found
    return written


class _Planned:
    """A system whose terms are identified."""

    def __init__(self, reduced: Reduced) -> None:
        self.reduced, self.rows = reduced, list(reduced.rest)
        self.terms = Terms(list(reduced.rest.values()), reduced.system.fields)
        self.planner = Planner(reduced.system.fields)
        self.kept = [(row, self.planner.in_modes(node)) for row, node in self.terms.kept]
        self.written = [self._as_written(term) for term in self.terms.others]

    def _as_written(self, term: Term) -> Term:
        """A term that is made at the points as it stands; it and its negative count as one product."""
        assert isinstance(term.made, Node)
        made, number = self.planner.at_points(term.made), term.weight.number
        if isinstance(made, Negative):
            made, number = made.of, -number
        if isinstance(made, Sum) and repr(opposite := plus(map(minus, made.terms))) < repr(made):
            made, number = opposite, -number
        return replace(term, made=made, weight=Weight(number, term.weight.constants))

    def plans(self) -> Iterator[Plan[Row]]:
        """The best plans that are found: with the products that dimensional analysis allows, then with all."""
        factors = list(dict.fromkeys(node for term in self.terms.quadratic for node in term.made))  # type: ignore[union-attr]
        given = [node for node in self.planner.inner if not node.slots]
        samples = draw(self.reduced, 120, SEED)
        forward = Forward(self.reduced, MODES)
        known = lengths(factors)
        for of in (known, {}) if known else (known,):
            choice = dictionary(self.reduced, factors, given, samples, of)
            of_factors = {inner.node: inner for inner, _ in measured(self.reduced, factors, factors, samples, of)}
            problems = Ansatz(self.reduced, self.terms.quadratic, choice, of_factors, samples, of).problems()
            found = None if problems is None else SetSearch(choice, problems, forward, self.written).best()
            if found is not None:
                yield self._assembled(choice, forward.combined(found.terms), found.terms)

    def _assembled(self, choice: Dictionary, combination: Combination, terms: tuple[Term, ...]) -> Plan[Row]:
        """The plan: products in the order of their combinations, rows of what acts on the leading part of each."""
        inner = dict(self.planner.inner)
        for i in sorted({i for term in terms if isinstance(term.made, tuple) for i in term.made}):
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
            for term in terms:
                if (weight := combination.weight(pivot, term)) is not None:
                    rows[term.row].append(applied(times(constant(weight), term.symbol), taken))
        return Plan(tuple(inner), tuple(products), dict(zip(self.rows, map(plus, rows), strict=True)))
