"""Fields of several kinds in one text: of which kind each value of a plan is, and in which forms a product is needed.

The modes of a real field and of a complex one differ, and so do the modes of two kinds of spaces, so that a product
which both need is taken back twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from solver.written.elimination import Reduced, named
from solver.written.formula import unicode
from solver.written.matrices import Linear
from solver.written.plan import Plan
from solver.written.real_parts import holds_complex_number, is_complex_of_real
from solver.written.system import System
from solver.written.tree import Call, Entry, Name, Node, WrittenError
from solver.written.vocabulary import MADE_REAL


@dataclass(frozen=True)
class Forms:
    """The parts of a plan by kind.

    Args:
        inner: kind of each inner field.
        products: for each kind, numbers of the products that are needed as coefficients of its fields.
    """

    inner: tuple[int, ...]
    products: Mapping[int, frozenset[int]]


def complex_among_real(system: System) -> Collection[str]:
    """The complex fields, where there are real ones too."""
    return system.complex_names if system.is_mixed else ()


def forms(plan: Plan[Any], rows: Iterable[tuple[int, Node]], kind_of: Callable[[Node], int]) -> Forms:
    """The forms in which inner fields and products of a plan are needed.

    Args:
        plan: plan of a system with fields of several kinds.
        rows: expressions of the products, each with the kind of the field that it belongs to.
        kind_of: kind of an expression without slots.
    """
    inner = tuple(kind_of(plan.without_slots(node)) for node in plan.inner)
    needed: dict[int, set[int]] = {}
    for kind, node in [*rows, *zip(inner, plan.inner, strict=True)]:
        needed.setdefault(kind, set()).update(slot.number for slot in node.slots if slot.holds == "product")
    return Forms(inner, {kind: frozenset(numbers) for kind, numbers in needed.items()})


def is_complex(node: Node, names: Collection[str]) -> bool:
    """True if an expression is complex; `names` are the complex fields."""
    return holds_complex_number(node) or not names_outside(node).isdisjoint(names)


def numbers_of_real(plan: Plan[Any], changes: Mapping[Node, Node], linear: Linear, reduced: Reduced) -> set[str]:
    """Names of what must be real, since the modes of real fields are multiplied by it, outside of `MADE_REAL`."""
    names = reduced.system.complex_names
    of_real = [
        *(plan.without_slots(change) for scalar, change in changes.items() if named(scalar) not in names),
        *(symbol for (row, _), symbol in linear.between(reduced.scalars).items() if named(row) not in names),
    ]
    inner = map(names_outside, map(plan.without_slots, plan.inner))
    return set().union(*map(names_outside, of_real), *filter(names.isdisjoint, inner))


def names_outside(node: Node) -> set[str]:
    """The names in a node outside of `MADE_REAL`."""
    if isinstance(node, Name | Entry):
        return {node.name}
    if isinstance(node, Call) and node.function in MADE_REAL:
        return set()
    return set().union(*map(names_outside, node.children))


def refuse_complex_of_real(plan: Plan[Any], system: System) -> None:
    """Refuse a plan that takes a complex expression of real fields through modes that hold real values alone.

    Raises:
        WrittenError: the message shows the expression, and says how it is written.
    """
    names = system.complex_names
    if names.issuperset(system.fields):
        return
    through = plan.inner if system.is_mixed else (*plan.inner, *plan.products)
    for node in map(plan.without_slots, through):
        if is_complex_of_real(node, names):
            raise WrittenError(
                f"{unicode(node)} is complex though its fields are real, and an operator or a function takes it whole: "
                "its real and its imaginary part are needed, each by itself"
            )


def refuse_both_kinds(nodes: Iterable[Node], system: System) -> None:
    """Refuse expressions that take real and complex fields together mode by mode.

    Raises:
        WrittenError: the message shows the expression, and says how it is written.
    """
    for node in nodes if system.is_mixed else ():
        if len(system.are_complex(node.names)) > 1:
            raise WrittenError(
                f"{unicode(node)} takes real and complex fields through one operator, and their modes differ: "
                "each by itself is needed"
            )


def refuse_coupling(linear: Linear, changes: Mapping[Node, Node], reduced: Reduced) -> None:
    """Refuse linear terms between real and complex fields.

    Args:
        linear: the linear operator.
        changes: other terms of each scalar's rate of change, in slots of products.
        reduced: the system without its unknowns.

    Raises:
        WrittenError: the message shows the equation, and says how the term is written.
    """
    names, scalars = reduced.system.complex_names, set(reduced.scalars)
    outside = ((row, part) for row, change in changes.items() for part in change.walk() if part in scalars)
    for row, column in (*linear.between(reduced.scalars), *outside):
        if (named(row) in names) is not (named(column) in names):
            place = reduced.system.equation_of(named(row)).right.place
            raise place.error(
                f"{named(column)!r} in a linear term for {named(row)!r}: one is real, the other complex, and their "
                f"modes differ; real({named(column)}) takes it through the points"
            )
