"""Energies that a text declares: quadratic forms, what changes them, and which changes cannot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from solver.written.components import ONE, ZERO, factors, minus, plus, times, times_all, written_out
from solver.written.degrees import degree, holds_place, holds_time
from solver.written.elimination import Reduced, Symbols, replaced, rows_of
from solver.written.kinds import kind_of
from solver.written.linear import coefficient, linear_part, taken_apart
from solver.written.matrices import Linear, linear_operator, matrices
from solver.written.parse import read_expression
from solver.written.real_parts import real_part
from solver.written.symbols import RandomModes, key_of, modes_of_all_kinds, vanishes
from solver.written.system import insert, refuse_fields_in_exponents
from solver.written.tree import Call, Name, Negative, Node, Number, Power, Product, Quotient, Sum
from solver.written.vocabulary import OPERATORS
from solver.written.walled import of_time

Causes: TypeAlias = Mapping[str, tuple[Linear, Linear]]

CANCELS = 1e-9  # of the size of what cancels


@dataclass(frozen=True)
class Square:
    """A term of a quadratic form: a number times the mean of left* right.

    Args:
        number: without fields.
        left, right: linear in the fields.
    """

    number: Node
    left: Node
    right: Node


@dataclass(frozen=True)
class Energy:
    """A quadratic quantity whose budget is kept.

    Args:
        squares: the terms of its mean over the box.
        causes: linear terms in L that change it, by name.
        outside: the same of linear terms that the text keeps out of L.
        linear: the rest of L, if it changes it.
        nonlinear: True if the rest of N changes it.
    """

    squares: tuple[Square, ...]
    causes: Mapping[str, Linear]
    outside: Mapping[str, Linear]
    linear: Linear | None
    nonlinear: bool


def names_of_squares(fields: Collection[str]) -> list[str]:
    """The column of ½⟨|u|²⟩ of each field: its energy where nothing else is declared."""
    return ["energy"] if len(fields) == 1 else [f"{name}_energy" for name in fields]


def components_of(node: Node, reduced: Reduced, order: int) -> list[Node]:
    """The components of an expression outside the equations, with definitions written out, in the fields alone.

    Raises:
        WrittenError: another order than scalars (0) or vectors (1) have.
    """
    system, node = reduced.system, insert(node, reduced.system.definitions)
    kind = kind_of(node, system.kinds, reduced.dimensions, system.functions)
    if kind.order != order:
        raise node.place.error(f"{kind}: a {('scalar', 'vector')[order]} is needed")
    for part in node.walk():
        refuse_of_equations(part)
    refuse_fields_in_exponents(node, {*system.fields, *system.unknowns})
    entries = written_out(node, system.kinds, reduced.dimensions).entries
    _refuse_unknowns_of_time(node, entries.values(), reduced)
    return [real_part(replaced(entry, reduced.diagnosed), system.complex_names) for entry in entries.values()]


def refuse_of_equations(node: Node) -> None:
    """Refuse the time and rates of change, which are in equations alone."""
    if node == Name("t"):
        raise node.place.error("t outside the equations: energies and columns are functions of the fields alone")
    if isinstance(node, Call) and node.function == "dt":
        raise node.place.error("dt may be on the left of an equation alone")


def _refuse_unknowns_of_time(node: Node, entries: Iterable[Node], reduced: Reduced) -> None:
    """Refuse unknowns whose own equations hold the time: an expression outside the equations is not given it."""
    timed = of_time(reduced.walled)
    for part in (part for entry in entries for part in entry.walk()):
        if part in timed or (part in reduced.diagnosed and holds_time(reduced.diagnosed[part])):
            raise node.place.error(
                f"{key_of(part)[0]!r} outside the equations: t is in the equation that gives it, and energies, "
                "columns, vectors and rates are functions of the fields alone"
            )


def in_scalars(node: Node, reduced: Reduced) -> Node:
    """A scalar expression outside the equations, in components of the fields alone."""
    return components_of(node, reduced, 0)[0]


def scalar_of(text: str, reduced: Reduced) -> Node:
    """The same of a text."""
    return in_scalars(read_expression(text, reduced.system.functions), reduced)


def vector_of(text: str, reduced: Reduced) -> tuple[Node, ...]:
    """The components of a vector outside the equations, linear in the fields.

    Raises:
        WrittenError: it is not.
    """
    node = read_expression(text, reduced.system.functions)
    parts = tuple(components_of(node, reduced, 1))
    if any(degree(part, set(reduced.system.fields)) > 1 for part in parts):
        raise node.place.error("a product of fields: a vector that is linear in them is needed")
    if any(map(depends_on_place, parts)):
        raise node.place.error(
            "a place, such as x, in a vector or in an unknown of it: one of the fields alone is needed"
        )
    return parts


# ---- quadratic forms ------------------------------------------------------------------------------------------------


def quadratic_form(text: str, reduced: Reduced) -> tuple[Square, ...]:
    """The mean of a text as a quadratic form of the fields.

    Raises:
        WrittenError: it is no quadratic form.
    """
    node = read_expression(text, reduced.system.functions)
    squares = squares_of(in_scalars(node, reduced), reduced)
    if squares is None:
        parts = node.calls("real", "imag")
        raise node.place.error(
            "an energy is quadratic in the fields: sums of products of two that are linear in them"
            + (f"; {parts[0].function}(…) is not: it may be used in columns of the series alone" if parts else "")
        )
    return squares


def squares_of(node: Node, reduced: Reduced) -> tuple[Square, ...] | None:
    """The terms of a quadratic form; None for other expressions."""
    fields = set(reduced.system.fields)
    if depends_on_place(node) or reduced.holds_product(node):
        return None
    match node:
        case Sum(terms):
            parts = [squares_of(term, reduced) for term in terms]
            return None if None in parts else tuple(square for part in parts for square in part or ())
        case Negative(of):
            return _scaled(squares_of(of, reduced), Number(-1))
        case Quotient(above, below) if degree(below, fields) == 0:
            return _scaled(squares_of(above, reduced), Quotient(ONE, below))
        case Call("mean", (of,)):
            return squares_of(of, reduced)
        case Power(base, Number(exponent)) if exponent == 2:
            whole = base.arguments[0] if isinstance(base, Call) and base.function == "abs" else base
            is_one = _acts_on_modes(whole, fields)
            return (Square(ONE, whole, whole),) if is_one and _fits(reduced, whole, whole, base) else None
        case Product():
            return _of_product(node, reduced)
    return None


def depends_on_place(node: Node) -> bool:
    """True if a coordinate is in an expression, but for those that name the axes of an operator."""
    if isinstance(node, Call) and node.function in OPERATORS:
        return depends_on_place(node.arguments[0])
    return holds_place(node) and (not node.children or any(map(depends_on_place, node.children)))


def _of_product(node: Product, reduced: Reduced) -> tuple[Square, ...] | None:
    fields = set(reduced.system.fields)
    varying = [part for part in factors(node) if degree(part, fields)]
    number = times_all(part for part in factors(node) if not degree(part, fields))
    if len(varying) == 1:
        return _scaled(squares_of(varying[0], reduced), number)
    if len(varying) != 2:
        return None
    conjugated = [isinstance(part, Call) and part.function == "conj" for part in varying]
    right, left = varying if conjugated[1] else varying[::-1]
    is_modulus = any(conjugated) and not all(conjugated)
    sides = (left.arguments[0] if is_modulus and isinstance(left, Call) else left), right
    if not all(_acts_on_modes(side, fields) for side in sides):
        return None
    if is_modulus:
        is_one_kind = len(reduced.system.are_complex(left.names | right.names)) == 1
        return (_square(number, *sides),) if is_one_kind else None
    return (_square(number, left, right),) if _fits(reduced, left, right, ONE) else None


def _acts_on_modes(node: Node, fields: Collection[str]) -> bool:
    """True if an expression is linear in the fields, mode by mode: conj, real and imag join a mode and its opposite."""
    return degree(node, fields) == 1 and not node.calls("conj", "real", "imag")


def _square(number: Node, left: Node, right: Node) -> Square:
    """A term of a quadratic form, which is the real part of its mean: a complex number goes with the right side."""
    is_real = all(part.value.imag == 0 for part in number.walk() if isinstance(part, Number))
    return Square(number, left, right) if is_real else Square(ONE, left, times(number, right))


def _fits(reduced: Reduced, left: Node, right: Node, base: Node) -> bool:
    """True for a product of real fields or a squared modulus; False for complex fields without conjugation."""
    are_complex = reduced.system.are_complex(left.names | right.names)
    return are_complex == {False} or (are_complex == {True} and isinstance(base, Call) and base.function == "abs")


def _scaled(squares: tuple[Square, ...] | None, number: Node) -> tuple[Square, ...] | None:
    if squares is None:
        return None
    return tuple(_square(times_all((square.number, number)), square.left, square.right) for square in squares)


# ---- what changes an energy -----------------------------------------------------------------------------------------


def causes_of(reduced: Reduced) -> tuple[Causes, Causes]:
    """The linear terms of a text by the names of their causes: those in L, the rest of it without a name, and others.

    Each is an operator with the terms that keep the constraints, and one as it is written.
    """
    labels, modes = _labels(reduced.right.values()), modes_of_all_kinds(reduced.dimensions)
    inside, outside = ({label: _caused(label, reduced, kept) for label in labels} for kept in (False, True))
    left = dict(reduced.linear)
    for caused in inside.values():
        for key, symbol in caused.items():
            left[key] = plus((left.get(key, ZERO), minus(symbol)))
    inside[""] = {key: symbol for key, symbol in left.items() if not vanishes(symbol, modes)}
    of_inside, of_outside = ({label: _operators(of[label], reduced) for label in of} for of in (inside, outside))
    return of_inside, of_outside


def cause_symbols(reduced: Reduced) -> dict[str, tuple[Symbols, Symbols]]:
    """The linear terms of each cause as they are written, by row and scalar: those in L, and those kept out of it."""
    labels = _labels(reduced.right.values())
    return {label: (_caused(label, reduced, False), _caused(label, reduced, True)) for label in labels}


def _operators(symbols: Symbols, reduced: Reduced) -> tuple[Linear, Linear]:
    rows = rows_of(symbols, reduced.right)
    plain = linear_part(reduced.without_mass(rows), set(reduced.system.fields)).symbols
    couples = "nothing" if all(row == column for row, column in plain) else "components"
    return linear_operator(reduced, rows), Linear(plain, couples)


def energy(squares: tuple[Square, ...], reduced: Reduced, causes: tuple[Causes, Causes], nonlinear: bool) -> Energy:
    """The terms that change a quadratic form: linear terms, as `causes_of` gives them, and N where it is nonlinear."""
    balance = _Balance(squares, reduced)
    inside, outside = (
        {label: found for label, of in each.items() if (found := balance.change(*of))} for each in causes
    )
    return Energy(squares, inside, outside, inside.pop("", None), nonlinear)


def _labels(nodes: Collection[Node]) -> list[str]:
    """The names of causes, in the order in which they stand."""
    labels = [call.arguments[0] for node in nodes for call in node.calls("cause")]
    return list(dict.fromkeys(label.name for label in labels if isinstance(label, Name)))


def _caused(label: str, reduced: Reduced, outside: bool) -> Symbols:
    """The linear terms of one cause, by row and scalar: those in L, or those that the text keeps out of it."""

    def take(part: Node) -> tuple[Node, Node] | None:
        is_cause = isinstance(part, Call) and part.function == "cause"
        if not is_cause or part.children[0] != Name(label):
            return None
        return (_kept_out(part, fields) if outside else part), Number(0)

    fields = set(reduced.system.fields)
    caused = {row: taken_apart(node, fields, take)[0] for row, node in reduced.right.items()}
    return linear_part(caused, fields).symbols


def without_causes(node: Node, fields: Collection[str]) -> Node:
    """A right-hand side without the linear terms that the causes of a budget have on their own."""

    def take(part: Node) -> tuple[Node, Node] | None:
        if not (isinstance(part, Call) and part.function == "cause"):
            return None
        kept_out, rest = _split(part, fields)
        of_kept_out = linear_part({0: kept_out}, fields).rest[0]
        return ZERO, plus((of_kept_out, rest))

    return taken_apart(node, fields, take)[1]


def _kept_out(cause: Node, fields: Collection[str]) -> Node:
    """The terms of a cause that are kept out of L, as if they were not."""
    return _split(cause, fields)[0]


def _split(cause: Node, fields: Collection[str]) -> tuple[Node, Node]:
    """The terms of a cause that are kept out of L, as if they were not, and the others."""
    is_explicit = lambda part: isinstance(part, Call) and part.function == "explicit"  # noqa: E731
    take = lambda part: (part.arguments[0], ZERO) if is_explicit(part) else None  # noqa: E731
    return taken_apart(cause.children[1], fields, take)


class _Balance:
    """Asks whether linear changes of the fields change a quadratic form.

    With i k as a real D the fields of a mode and its opposite are independent, so that the form changes unless
    S(D) + S(−D)ᴴ vanishes, S the form with the change in one place. Conjugated factors are taken at −D, with their
    numbers.
    """

    def __init__(self, squares: Sequence[Square], reduced: Reduced) -> None:
        self.scalars = reduced.scalars
        modes = modes_of_all_kinds(reduced.dimensions, count=4 * len(reduced.scalars), seed=5)
        self.sides = []
        for at, other in ((modes, modes.opposite()), (modes.opposite(), modes)):
            form = np.zeros(())
            for square in squares:
                number = at.values(square.number)[:, None, None]
                for left, right in ((square.left, square.right), (square.right, square.left)):
                    form = (
                        form
                        + number * _row(left, reduced, other).conj()[:, :, None] * _row(right, reduced, at)[:, None, :]
                    )
            whole = np.swapaxes(matrices(reduced, other).projector, 1, 2).conj() @ form
            self.sides.append((at, whole, matrices(reduced, at).projector))

    def change(self, projected: Linear, plain: Linear) -> Linear | None:
        """The plainest operator that changes the form as a cause does; None if the cause does not change it."""
        parts, of_plain = self._parts(projected), self._parts(plain)
        size = max(float(np.abs(part).max()) for part in (*parts, *of_plain))
        is_zero = lambda one, other: np.abs(one + np.swapaxes(other, 1, 2).conj()).max() <= CANCELS * size  # noqa: E731
        if is_zero(*parts):
            return None
        return plain if is_zero(*(a - b for a, b in zip(parts, of_plain, strict=True))) else projected

    def _parts(self, by: Linear) -> list[np.ndarray]:
        """The form with the change in one place, for modes and their opposites."""
        return [form @ by.matrix(self.scalars, at) @ there for at, form, there in self.sides]


def _row(node: Node, reduced: Reduced, modes: RandomModes) -> np.ndarray:
    """Symbols of a linear expression `(mode, scalar)`."""
    return np.stack([modes.values(coefficient(node, scalar)) for scalar in reduced.scalars], axis=1)
