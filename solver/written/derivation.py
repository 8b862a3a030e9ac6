"""The derivation from a text for a number of dimensions: the plan, L, the CFL rate, energies and columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from solver.written.agreement import is_conserved, refuse_broken_constraints
from solver.written.arranged import Row
from solver.written.closures import is_of_closure
from solver.written.columns import Column, Part, column_of, sizes_of, values_of
from solver.written.components import ZERO
from solver.written.elimination import Reduced, reduce_system
from solver.written.energies import (
    Energy,
    Square,
    causes_of,
    energy,
    names_of_squares,
    quadratic_form,
    scalar_of,
    vector_of,
)
from solver.written.formula import unicode
from solver.written.gauges import refuse_unmet
from solver.written.matrices import Linear, linear_operator, without_divergence
from solver.written.obstacles import is_of_obstacles
from solver.written.optional import without
from solver.written.parse import read_expression
from solver.written.plan import Plan, Planner, plan_as_written
from solver.written.product_rule import by_product_rule
from solver.written.rates import Rate, Unseen, rate
from solver.written.search import cheapest_plan
from solver.written.stored import keep_to, known_plan, text_to_keep
from solver.written.system import System, insert
from solver.written.text import AS_WRITTEN, BY_PRODUCT_RULE, FEWEST, Text
from solver.written.tree import Call, Name, Node, Number, Slot, WrittenError
from solver.written.units import units
from solver.written.values import (
    complex_among_real,
    names_outside,
    numbers_of_real,
    refuse_both_kinds,
    refuse_complex_of_real,
    refuse_coupling,
)
from solver.written.variants import columns_that_fit
from solver.written.vocabulary import nearest

PLANNED: dict[str, Callable[[Reduced], Plan[Row]]] = {
    FEWEST: lambda reduced: known_plan(reduced, cheapest_plan),
    AS_WRITTEN: lambda reduced: _word_by_word(reduced, reduced.rest),
    BY_PRODUCT_RULE: lambda reduced: _word_by_word(
        reduced,
        {
            row: by_product_rule(node, Planner(reduced.system.fields), reduced.dimensions)
            for row, node in reduced.rest.items()
        },
    ),
}


def _word_by_word(reduced: Reduced, rows: Mapping[Row, Node]) -> Plan[Row]:
    return plan_as_written(rows, reduced.system.fields, complex_among_real(reduced.system))


@dataclass(frozen=True)
class Derivation:
    """The results of the derivation from a text.

    Args:
        reduced: the system without its unknowns.
        linear: L in its plainest form.
        plan: transforms and products that give N.
        changes: N of each scalar of the fields, in the products of the plan.
        rate: the rate of a CFL number.
        energies: quadratic forms and what changes them, by name.
        columns: further columns of the series.
        invariants: quadratic forms that move between scales, by name.
        spectra: quadratic forms whose spectra are of interest, by name.
        vectors: components of further vectors, by name.
        conserved: conserved quantities, in the form of columns of the series.
        sizes: sizes of conserved quantities that may cancel to zero, by name; see `sizes_of`.
    """

    reduced: Reduced
    linear: Linear
    plan: Plan[Row]
    changes: Mapping[Node, Node]
    rate: Rate | Unseen
    energies: Mapping[str, Energy]
    columns: Mapping[str, Column]
    invariants: Mapping[str, tuple[Square, ...]]
    spectra: Mapping[str, tuple[Square, ...]]
    vectors: Mapping[str, tuple[Node, ...]]
    conserved: Mapping[str, Column]
    sizes: Mapping[str, tuple[Part, ...]]

    @property
    def numbers_of_real(self) -> set[str]:
        """Names of parameters that must be real."""
        return numbers_of_real(self.plan, self.changes, self.linear, self.reduced)

    @property
    def numbers_of_reports(self) -> set[str]:
        """Names of parameters that must be real in a report, since the real part of a mean is taken."""
        columns = (*self.columns.values(), *self.conserved.values())
        means = (part.of for column in columns for part in column.parts if isinstance(part.of, tuple))
        forms = (*(energy.squares for energy in self.energies.values()), *self.spectra.values(), *means)
        nodes = [column.node for column in columns]
        for square in itertools.chain(*forms):  # spectra have those of invariants
            nodes += [square.number] if square.left == square.right else [square.number, square.left, square.right]
        return set().union(*map(names_outside, nodes))

    @property
    def plan_to_keep(self) -> str:
        """The plan as a text that a run keeps; empty for one that the library keeps itself."""
        return text_to_keep(self.reduced)


def keep_plan(text: str) -> None:
    """Use a plan that a run keeps from now on, whatever was found here.

    Raises:
        WrittenError: a text that is no plan.
    """
    if keep_to(text):
        _work_out.cache_clear()


@cache
def without_unknowns(text: Text, dimensions: int) -> Reduced:
    """A text's system without its unknowns."""
    reduced = reduce_system(text.system, dimensions)
    refuse_unmet(reduced)
    return reduced


@cache
def linear_of(text: Text, dimensions: int) -> Linear:
    """L of a text in its plainest form."""
    return linear_operator(without_unknowns(text, dimensions))


def in_dimensions(text: Text, dimensions: int, aliases: bool = False) -> Derivation:
    """The derivation from a text, without its bodies, for so many dimensions of space.

    Args:
        text: the equations.
        dimensions: number of dimensions of space.
        aliases: True if products of two are aliased on the grid.
    """
    plain = text.plain
    others = plain.plan == FEWEST and ((aliases and not plain.aliased) or plain.is_mixed)
    return _work_out(plain, dimensions, AS_WRITTEN if others else plain.plan)


@cache
def _work_out(text: Text, dimensions: int, plan_name: str) -> Derivation:
    """Derive everything from a text for so many dimensions, with a plan of one of the kinds of `text.PLANS`."""
    reduced = without_unknowns(text, dimensions)
    for name, _ in text.limits:
        if name not in reduced.system.parameters:
            raise WrittenError(f"limits of {name!r}{nearest(name, reduced.system.parameters)}")
    without_divergence(reduced)  # refuses constraints that it does not know
    refuse_broken_constraints(reduced)
    plan = PLANNED[AS_WRITTEN if reduced.walled and plan_name == FEWEST else plan_name](reduced)
    refuse_complex_of_real(plan, reduced.system)
    changes = reduced.changes(plan.rows)
    densities = dict(default_energies(text.system, dimensions) if text.energies is None else text.energies)
    linear, causes = linear_of(text, dimensions), causes_of(reduced)
    if text.is_mixed:
        refuse_coupling(linear, changes, reduced)
        refuse_both_kinds(map(plan.without_slots, plan.inner), reduced.system)
    acts = any(change != ZERO for change in changes.values())
    forms = {name: quadratic_form(density, reduced) for name, density in densities.items()}
    columns: dict[str, Column] = {}
    series = columns_that_fit(text, text.series, dimensions)
    for name, column in series.items():
        columns[name] = column_of(column, reduced, {*densities, *columns})
    of_columns = {**densities, **series}
    conserved: dict[str, str] = dict(text.conserved)
    sizes = {name: sizes_of(of_columns.get(name, own), reduced, of_columns) for name, own in conserved.items()}
    invariants = forms
    if text.invariants is not None:
        fitting = columns_that_fit(text, text.invariants, dimensions)
        invariants = {name: quadratic_form(density, reduced) for name, density in fitting.items()}
    return Derivation(
        reduced=reduced,
        linear=linear,
        plan=plan,
        changes=changes,
        rate=_given_rate(text.rate, reduced, plan)
        if text.rate
        else rate(reduced, replace(plan, products=tuple(map(_bare, plan.products))), changes),
        energies={
            name: Energy(form, {}, {}, None, acts)
            if reduced.walled  # between walls each cause is worked out as the change that it makes
            else energy(form, reduced, causes, acts and (text.is_mixed or not is_conserved(form, reduced)))
            for name, form in forms.items()
        },
        columns=columns,
        invariants=invariants,
        spectra={**forms, **{name: quadratic_form(of_columns[name], reduced) for name in text.spectra}, **invariants},
        vectors={name: vector_of(vector, reduced) for name, vector in text.vectors},
        conserved={name: column_of(own, reduced, {*densities, *columns}) for name, own in conserved.items()},
        sizes={name: parts for name, parts in sizes.items() if parts},
    )


def _bare(node: Node) -> Node:
    """An expression at the points without what bodies and closures do there: it carries nothing, however fast they act.

    Both add to the rate by themselves.
    """
    acts = lambda part: isinstance(part, Call) and (is_of_obstacles(part.function) or is_of_closure(part.function))  # noqa: E731
    named = node.rewritten(lambda part: Name("left_out") if acts(part) else None)
    return without(named, frozenset({"left_out"})) or Number(0j)


def _given_rate(text: str, reduced: Reduced, plan: Plan[Any]) -> Rate:
    """The rate that is given with the equations, in inner fields of the plan."""
    place = read_expression(text, reduced.system.functions).place
    values = values_of(scalar_of(text, reduced), reduced, place)
    if len(plan.levels()) > 1:
        raise place.error("a rate with products inside an operator inside a product: such texts have no rate")
    missing = [node for node in values.inner if node not in plan.inner]
    if missing:
        raise place.error(f"{unicode(missing[0])} in the rate, which the right-hand side does not take to the points")
    inner = {Slot("inner", i): Slot("inner", plan.inner.index(node)) for i, node in enumerate(values.inner)}
    return Rate(None, values.node.rewritten(lambda part: inner.get(part) if isinstance(part, Slot) else None), {})


def derived_units(text: Text, of_fields: Mapping[str, str]) -> dict[str, str]:
    """Units of parameters, unknowns, energies, columns and invariants, as far as the fields' units give them."""
    return dict(_derived_units(text, tuple(of_fields.items())))


@cache
def _derived_units(text: Text, of_fields: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    system = text.system
    densities = [*(text.energies or ()), *text.series, *(text.invariants or ())]
    columns = {name: insert(read_expression(own, text.words), system.definitions) for name, own in densities}
    given = {name: unit for name, unit in text.units if name not in system.fields}
    derived = units(system.lines, dict(of_fields), [*system.parameters, *system.unknowns], columns)
    return {**derived, **given}


def default_energies(system: System, dimensions: int) -> list[tuple[str, str]]:
    """½|u|² of each field, by the names that columns of series have for it."""
    rows = " + ".join(f"{{0}}.{axis}@{{0}}.{axis}" for axis in "xyz"[:dimensions])
    density = {"scalar": "{0}*{0}/2", "vector": "{0}@{0}/2", "wavefunction": "abs({0})**2/2"}
    return [
        (column, density.get(rank, f"({rows})/2").format(name))
        for column, (name, rank) in zip(names_of_squares(system.fields), system.fields.items(), strict=True)
    ]
