"""Potentials of wavefunctions, found in a text: i ψ_t = (T + V) ψ, T linear and unitary, V a real function of |ψ|².

V is the right-hand side without its linear part, divided by the wavefunction. It is a potential if it is real and stays
as it is where the phase of any wavefunction turns: both are tried on amplitudes and parameters drawn at random.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from solver.written.arranged import Row
from solver.written.components import ONE, ZERO, minus, plus, times
from solver.written.derivation import linear_of, without_unknowns
from solver.written.elimination import Reduced, named
from solver.written.formula import unicode
from solver.written.in_time import linear_in_time
from solver.written.matrices import Linear
from solver.written.real_parts import real_part
from solver.written.symbols import Numbers, RandomModes, key_of, modes_of_all_kinds
from solver.written.text import Text
from solver.written.tree import (
    Call,
    Comparison,
    Derivative,
    Name,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Solved,
    Sum,
)
from solver.written.vocabulary import OPERATORS, POINTWISE

SAMPLES = 60
EQUAL = 1e-9  # of the largest value of a potential
UNITARY = 1e-12  # of the largest entry of L


@dataclass(frozen=True)
class Splitting:
    """A text as a splitting takes it.

    Args:
        potentials: V of each wavefunction [1/time], by its name: a real function of the moduli of wavefunctions, of
            parameters, of the place and of the time. Empty without a potential of each.
        reason: why a splitting would not solve the text; empty if it would.
    """

    potentials: Mapping[str, Node]
    reason: str


class _NoPotential(Exception):
    """Some wavefunction has no potential; the message is the reason."""


@cache
def splitting(text: Text, dimensions: int) -> Splitting:
    """The potentials of a text in so many dimensions of space, or the reason why a splitting would not solve it."""
    for name in text.system.fields:
        if name not in text.system.complex_names:
            return Splitting({}, f"{name} is no wavefunction; an equation of wavefunctions is needed")
    reduced, varying = without_unknowns(text, dimensions), linear_in_time(text, dimensions)
    try:
        potentials = _potentials(reduced, reduced.rest if varying is None else varying.rest)
    except _NoPotential as error:
        return Splitting({}, str(error))
    parts = [linear_of(text, dimensions), *([] if varying is None else [varying.linear])]
    turns = all(_is_unitary(part, reduced) for part in parts)
    return Splitting(potentials, "" if turns else "its linear part changes |ψ|; one that turns phases alone is needed")


def _potentials(reduced: Reduced, rest: Mapping[Row, Node]) -> dict[str, Node]:
    names, found = reduced.system.complex_names, {}
    for scalar, change in reduced.changes(rest).items():
        name = named(scalar)
        ratio = _ratio(change, scalar)
        if ratio is None:
            raise _NoPotential(f"a term for {name} is no real potential times {name}")
        _refuse_other_points(ratio, name)
        potential = times(Number(1j), ratio)
        if not _is_real_and_keeps_phases(potential, reduced.scalars):
            raise _NoPotential(f"{unicode(potential)} times {name} changes |{name}|: a real function of |ψ| is needed")
        found[name] = _as_real(potential, names)
    return found


def _ratio(node: Node, scalar: Node) -> Node | None:  # noqa: C901 (one case for each kind of node)
    """An expression divided by a scalar that all its terms hold as a factor; None where a term does not."""
    if node == ZERO:
        return ZERO
    if node == scalar:
        return ONE
    of = lambda part: _ratio(part, scalar)  # noqa: E731
    match node:
        case Sum(terms):
            parts = [part for part in map(of, terms) if part is not None]
            return plus(parts) if len(parts) == len(terms) else None
        case Negative(below):
            return None if (part := of(below)) is None else minus(part)
        case Product(left, right):
            if (part := of(left)) is not None:
                return times(part, right)
            return None if (part := of(right)) is None else times(left, part)
        case Quotient(above, below):
            return None if (part := of(above)) is None else Quotient(part, below)
        case Power(base, Number(exponent)) if exponent.imag == 0 and exponent.real >= 1:
            part, lower = of(base), Number(exponent - 1)
            return None if part is None else part if exponent == 1 else times(part, Power(base, lower))
        case Call("cause" | "explicit", (*_, below)):
            return of(below)
        case Call("where", (condition, first, second)):
            one, other = of(first), of(second)
            return None if one is None or other is None else Call("where", (condition, one, other))
    return None


def _refuse_other_points(ratio: Node, name: str) -> None:
    """Refuse a potential with derivatives, means or inverses, which depend on other points."""
    for part in ratio.walk():
        if isinstance(part, Derivative | Solved) or (isinstance(part, Call) and part.function in OPERATORS):
            raise _NoPotential(f"{unicode(part)} in the potential of {name} depends on other points than its own")


def _as_real(node: Node, names: Collection[str]) -> Node:
    """A potential without the complex numbers that cancel in it, where moduli are all that it holds of fields."""
    moduli: dict[Node, Node] = {part: Name(unicode(part)) for part in node.calls("abs")}
    back = {name: modulus for modulus, name in moduli.items()}
    plain = real_part(node.rewritten(lambda part: moduli.get(part)), names)
    return plain.rewritten(lambda part: back.get(part))


class _Points(RandomModes):
    """Points instead of modes, with a wavefunction, a place and a time at each; functions of the user's have stand-ins.

    A stand-in is real where its arguments are.
    """

    def called(self, symbol: Call) -> Any:
        return super(RandomModes, self).called(symbol)

    def compared(self, left: Any, sign: str, right: Any) -> Any:
        return super().compared(np.real(left), sign, np.real(right))

    def function(self, name: str, *arguments: Any) -> Any:
        if name in POINTWISE or name in ("conj", "real", "imag"):
            return super().function({"max": "maximum", "min": "minimum"}.get(name, name), *arguments)
        weights = np.random.default_rng(list(name.encode())).uniform(0.5, 1.5, len(arguments))
        return 1.5 + np.sin(sum(weight * of for weight, of in zip(weights, arguments, strict=True)))


def _is_real_and_keeps_phases(potential: Node, scalars: Collection[Node]) -> bool:
    """True if a potential is real at all sampled points, and the same where the phases of the fields are others."""
    conditions = (part for part in potential.walk() if isinstance(part, Comparison))
    if any(not _as_moduli(part).names.isdisjoint(map(named, scalars)) for part in conditions):
        return False  # a rare case may not be sampled
    random, numbers = np.random.default_rng(3), Numbers()
    normal = lambda: random.normal(size=SAMPLES)  # noqa: E731
    fields = {key_of(scalar): normal() + 1j * normal() for scalar in scalars}
    turned = {key: value * np.exp(1j * normal()) for key, value in fields.items()}
    slopes = np.zeros((1, SAMPLES))
    with np.errstate(all="ignore"):
        here, there = (
            np.broadcast_to(_Points(slopes, random, numbers, values).value(potential), SAMPLES) + 0j
            for values in (fields, turned)
        )
    known = np.isfinite(here) & np.isfinite(there)  # parameters that are drawn may have no logarithm
    if not known.any():
        return False
    here, there = here[known], there[known]
    size = np.abs(here).max()
    return bool(np.all(np.abs(here.imag) <= EQUAL * size) and np.all(np.abs(there - here) <= EQUAL * size))


def _as_moduli(node: Node) -> Node:
    """An expression without the moduli in it."""
    return node.rewritten(lambda part: ONE if isinstance(part, Call) and part.function == "abs" else None)


def _is_unitary(linear: Linear, reduced: Reduced) -> bool:
    """True if exp(L dt) keeps Σ|ψ|² of every mode, whatever the real parameters are: L is minus its adjoint."""
    sampled = modes_of_all_kinds(reduced.dimensions, count=4 * len(reduced.scalars))
    modes = RandomModes(1j * sampled.slopes, np.random.default_rng(5), {})
    of_all = linear.matrix(reduced.scalars, modes)
    left = of_all + of_all.conj().transpose(0, 2, 1)
    return bool(np.all(np.abs(left) <= UNITARY * np.abs(of_all).max(axis=(1, 2), keepdims=True)))
