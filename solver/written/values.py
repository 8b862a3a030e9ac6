"""Real and complex fields in one text: which values of a plan are real, and in which of the two forms each is needed.

The modes of a real field and of a complex one differ, so that a product which both need is taken back twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from solver.written.elimination import Reduced, named
from solver.written.matrices import Linear
from solver.written.plan import Plan
from solver.written.system import System
from solver.written.tree import Call, Entry, Name, Node, Number, Slot

MADE_REAL = ("abs", "real", "imag")


@dataclass(frozen=True)
class Forms:
    """What of a plan is transformed as real, and what as complex.

    Args:
        complex_inner: numbers of the inner fields whose values are complex; the others are real.
        products: numbers of the products that are needed as coefficients of complex fields (True), and of real ones.
    """

    complex_inner: frozenset[int]
    products: Mapping[bool, frozenset[int]]


def complex_names(system: System) -> set[str]:
    """The names of a system whose values are complex."""
    return {name for name, kind in system.kinds.items() if kind.is_complex}


def is_mixed(system: System) -> bool:
    """Whether some fields are real and some are complex."""
    return len({system.kinds[name].is_complex for name in system.fields}) > 1


def apart(system: System) -> Collection[str]:
    """The complex fields, where there are real ones beside them."""
    return complex_names(system) if is_mixed(system) else ()


def forms(plan: Plan[Any], rows: Iterable[tuple[bool, Node]], names: Collection[str]) -> Forms:
    """The forms in which inner fields and products of a plan are needed.

    Args:
        plan: of a mixed system.
        rows: what is made of the products, each with whether it belongs to a complex field.
        names: whose values are complex.
    """

    def is_complex(node: Node) -> bool:
        match node:
            case Number(value):
                return value.imag != 0
            case Name(name) | Entry(name, _):
                return name in names
            case Slot():
                return is_complex(plan.held(node))
            case Call(function, _) if function in MADE_REAL:
                return False
        return any(map(is_complex, node.children))

    complex_inner = frozenset(i for i, node in enumerate(plan.inner) if is_complex(node))
    needed: dict[bool, set[int]] = {False: set(), True: set()}
    for kind, node in [*rows, *((i in complex_inner, node) for i, node in enumerate(plan.inner))]:
        needed[kind] |= {slot.number for slot in node.slots if slot.holds == "product"}
    return Forms(complex_inner, {kind: frozenset(numbers) for kind, numbers in needed.items()})


def refuse_coupling(linear: Linear, less: Reduced) -> None:
    """Refuse a linear operator between real and complex fields.

    Raises:
        WrittenError: the message shows the equation, and says how the term is written.
    """
    names = complex_names(less.system)
    for row, column in linear.between(less.scalars):
        if (named(row) in names) is not (named(column) in names):
            place = less.system.equation_of(named(row)).right.place
            raise place.error(
                f"{named(column)!r} in a linear term for {named(row)!r}: one is real, the other complex, and their "
                f"modes differ; real({named(column)}) takes it through the points"
            )
