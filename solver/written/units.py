"""Units of a text's names, from the units of its fields: the terms of an equation have the same.

A parameter has the units that make its term like the others. Where terms cannot be alike, a length or a time of the
equations is 1: then lengths and times have no units, and nothing is said of parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from solver.written.tree import (
    Call,
    Component,
    Contraction,
    Line,
    Name,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
)
from solver.written.vocabulary import ALONG, CONSTANTS, COORDINATES

Unit: TypeAlias = Mapping[str, Fraction]  # power of each base, such as `length`

NONE: Unit = {}
LENGTH, TIME = {"length": Fraction(1)}, {"time": Fraction(1)}
OF_LENGTH = {  # powers of length that an operator brings
    **dict.fromkeys(("grad", "div", "curl", "perp", "dx", "dy", "dz"), -1),
    "lap": -2, "inverse_lap": 2, "helmholtz": 2,
}  # fmt: skip
ALIKE = ("explicit", "conj", "real", "imag", "trans", "sym", "trace", "abs", "min", "max", "mean", "integ")
LARGEST_DENOMINATOR = 12


def units(
    lines: Iterable[Line], given: Mapping[str, str], names: Iterable[str], columns: Mapping[str, Node]
) -> dict[str, str]:
    """Units of columns and of the names that are in equations.

    Args:
        lines: the equations, with definitions written out.
        given: units of the fields.
        names: names of unknowns and parameters.
        columns: expressions that are averaged or reduced, by name; they may name columns before them.

    Returns:
        The known units by name.
    """
    of_fields = {name: parsed(text) for name, text in given.items()}
    known: dict[str, Unit] = dict(of_fields)
    wanted = set(names)
    terms = [[*_terms(line.left), *_terms(line.right)] for line in lines]
    terms += [_terms(part) for group in terms for term in group for part in term.walk() if isinstance(part, Sum)]
    while _one_more(terms, known, wanted):
        pass
    if any(_differ(parts, known, wanted) for parts in terms):
        scale: Callable[[Unit], Unit] = _without_scales
        known = {name: scale(unit) for name, unit in of_fields.items()}
    else:
        scale = dict
    for name, node in columns.items():
        unit = _of(node, known, wanted)
        if unit is not None and _is_told(unit, wanted):
            known[name] = scale(unit)
    return {name: printed(unit) for name, unit in known.items() if name not in given}


def _differ(terms: Iterable[Node], known: Mapping[str, Unit], wanted: set[str]) -> bool:
    """True if terms that are added have units that differ."""
    told = [unit for term in terms if _is_told(unit := _of(term, known, wanted), wanted)]
    return any(unit != told[0] for unit in told)


def _without_scales(unit: Unit) -> Unit:
    """Units of quantities whose lengths and times are 1."""
    return {base: power for base, power in unit.items() if base not in ("length", "time")}


def _is_told(unit: Unit | None, wanted: set[str]) -> bool:
    """True if units hold nothing that is wanted."""
    return unit is not None and wanted.isdisjoint(unit)


def _one_more(terms: Iterable[list[Node]], known: dict[str, Unit], wanted: set[str]) -> bool:
    """Find the units of one more name, from a term whose only unknown it is and another that is known."""
    for parts in terms:
        found = [unit for unit in (_of(part, known, wanted) for part in parts) if unit is not None]
        settled = [unit for unit in found if _is_told(unit, wanted)]
        for unit in found if settled else ():
            open_ones = [base for base in unit if base in wanted]
            if len(open_ones) == 1:
                [name] = open_ones
                others = {base: power for base, power in unit.items() if base != name}
                known[name] = raised(times(settled[0], raised(others, Fraction(-1))), 1 / unit[name])
                return True
    return False


def _terms(node: Node) -> list[Node]:
    """The terms of a side, without numbers: 0 has any units."""
    if isinstance(node, Sum | Negative) or (isinstance(node, Call) and node.function in ("cause", "explicit")):
        children = node.children[1:] if isinstance(node, Call) and node.function == "cause" else node.children
        return [part for child in children for part in _terms(child)]
    return [] if isinstance(node, Number) else [node]


def _of(node: Node, known: Mapping[str, Unit], wanted: set[str]) -> Unit | None:  # noqa: C901 (one case for each kind)
    """The units of an expression, names that are wanted among the bases; None where they are unknown."""
    again = lambda part: _of(part, known, wanted)  # noqa: E731
    match node:
        case Number():
            return NONE
        case Name(name):
            if name in known:
                return known[name]
            if name in wanted:
                return {name: Fraction(1)}
            return LENGTH if name in COORDINATES else TIME if name == "t" else NONE if name in CONSTANTS else None
        case Negative(of) | Component(of, _):
            return again(of)
        case Sum():
            return _alike(list(map(again, _terms(node))), wanted)
        case Product(left, right) | Contraction(left, right):
            return _both(again(left), again(right))
        case Quotient(above, below):
            divisor = again(below)
            return None if divisor is None else _both(again(above), raised(divisor, Fraction(-1)))
        case Power(base, exponent):
            return _power(again(base), exponent)
        case Call(function, arguments):
            return _called(function, arguments, [again(part) for part in arguments], wanted)
    return None


def _called(function: str, arguments: tuple[Node, ...], of: list[Unit | None], wanted: set[str]) -> Unit | None:
    """The units of a call."""
    if function == "cause":
        return of[1]
    if function == "dt":
        return _both(of[0], raised(TIME, Fraction(-1)))
    if function in ("dot", "cross", "outer"):
        return _both(of[0], of[1])
    if function == "ramp":
        return _alike(of[:2], wanted)
    if function in OF_LENGTH:
        return _both(of[0], raised(LENGTH, Fraction(OF_LENGTH[function])))
    if function == "fraclap":
        length = _power(raised(LENGTH, Fraction(-2)), arguments[1])
        return _both(of[0], length)
    if function == "where":
        values = zip(of[1:], arguments[1:], strict=True)
        return _alike([unit for unit, part in values if not isinstance(part, Number)], wanted)
    if function == "sqrt":
        return None if of[0] is None else raised(of[0], Fraction(1, 2))
    if function in ALIKE:
        return of[0] if function in ALONG else _alike(of, wanted)
    return NONE if function in ("sin", "cos", "exp", "log", "tanh") else None


def _alike(of: list[Unit | None], wanted: set[str]) -> Unit | None:
    """The units of terms that are added, from the first term with known units."""
    known = [unit for unit in of if unit is not None]
    told = [unit for unit in known if _is_told(unit, wanted)]
    return next(iter([*told, *known]), None if of else NONE)


def _both(left: Unit | None, right: Unit | None) -> Unit | None:
    return None if left is None or right is None else times(left, right)


def _power(unit: Unit | None, exponent: Node) -> Unit | None:
    """A power; of an exponent that is a parameter, its name is in the base."""
    if not unit:
        return unit
    sign = -1 if isinstance(exponent, Negative) else 1
    exponent = exponent.of if isinstance(exponent, Negative) else exponent
    if isinstance(exponent, Quotient) and all(isinstance(part, Number) for part in exponent.children):
        above, below = exponent.children
        exponent = Number(above.value / below.value)  # type: ignore[attr-defined]
    if isinstance(exponent, Number):
        return raised(unit, sign * Fraction(exponent.value.real).limit_denominator(LARGEST_DENOMINATOR))
    if isinstance(exponent, Name) and len(unit) == 1:
        [(base, power)] = unit.items()
        name = f"{abs(power)} {exponent.name}" if abs(power) != 1 else exponent.name
        return {f"{base}^({name})": Fraction(sign if power > 0 else -sign)}
    return None


# ---- units as such --------------------------------------------------------------------------------------------------


def times(left: Unit, right: Unit) -> Unit:
    """The product of both."""
    bases = {base: left.get(base, Fraction(0)) + right.get(base, Fraction(0)) for base in (*left, *right)}
    return {base: power for base, power in bases.items() if power}


def raised(unit: Unit, power: Fraction) -> Unit:
    """A power of units."""
    return {base: own * power for base, own in unit.items()} if power else NONE


def parsed(text: str) -> Unit:
    """Units from words such as `length^2/time`; what cannot be read as such is one base."""
    try:
        return _read(ast.parse(text.replace("^", "**"), mode="eval").body)
    except (SyntaxError, ValueError):
        return {text: Fraction(1)}


def _read(node: ast.expr) -> Unit:
    match node:
        case ast.Constant(value=1):
            return NONE
        case ast.Name(id=base):
            return {base: Fraction(1)}
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return times(_read(left), _read(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return times(_read(left), raised(_read(right), Fraction(-1)))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return raised(_read(left), Fraction(ast.unparse(right).replace(" ", "")))
    raise ValueError("no units")


def printed(unit: Unit) -> str:
    """Units in words: `length^2/time`, `1/(length*time)^2`."""
    above = "*".join(_raised(base, power) for base, power in sorted(unit.items()) if power > 0)
    below = [(base, -power) for base, power in sorted(unit.items()) if power < 0]
    if not below:
        return above or "1"
    if len({power for _, power in below}) == 1 and len(below) > 1:
        together = f"({'*'.join(base for base, _ in below)})"
        return f"{above or '1'}/{_raised(together, below[0][1])}"
    joined = "*".join(_raised(base, power) for base, power in below)
    return f"{above or '1'}/{f'({joined})' if len(below) > 1 else joined}"


def _raised(base: str, power: Fraction) -> str:
    if power == 1:
        return base
    return f"{base}^{power}" if power.denominator == 1 else f"{base}^({power})"
