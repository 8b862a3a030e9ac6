"""Symbols: what a linear operator multiplies each mode by.

A symbol is the operator applied to the number 1, in which ∂ along an axis means i k. So symbols are expressions
like others, one applied to another is their product, and their order makes no difference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from solver.written.components import ONE, ZERO, minus, plus, times
from solver.written.degrees import is_constant
from solver.written.tree import (
    Call,
    Comparison,
    Derivative,
    Entry,
    Label,
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
from solver.written.vocabulary import COMPARED, OPERATORS

Numbers: TypeAlias = dict[tuple[str, tuple[int, ...]], Any]

FEW = 3  # modes that are constant along the same axes
VANISHES = 1e-10  # of the size of its terms, below which a symbol counts as zero


def ramp(numpy: Any, a: Any, b: Any, start: Any, end: Any, t: Any) -> Any:
    """From a to b between two times, linearly; a jump at the first one if the other is not later. NumPy's or JAX's."""
    share = (t - start) / numpy.where(end > start, end - start, 1)
    return a + (b - a) * numpy.where(t <= start, 0, numpy.where(t >= end, 1, share))


class Layer(NamedTuple):
    """The outermost operator of an expression, which acts on the rest mode by mode.

    Args:
        kind: `constant` of a sign or a number, `operator` of what differs from mode to mode, `remark` of `cause` and
            `explicit`.
        of: expression below.
        around: puts the layer around another expression, as plainly as it can be said.
    """

    kind: str
    of: Node
    around: Callable[[Node], Node]

    @property
    def symbol(self) -> Node:
        """The factor that the layer multiplies each mode by."""
        return ONE if self.kind == "remark" else self.around(ONE)


def outermost(node: Node, fields: Collection[str]) -> Layer | None:
    """The outermost layer of an expression of the named fields; None without one."""
    match node:
        case Negative(of):
            return Layer("constant", of, minus)
        case Product(left, right) if is_constant(left, fields):
            return Layer("constant", right, lambda part: times(left, part))
        case Product(left, right) if is_constant(right, fields):
            return Layer("constant", left, lambda part: times(right, part))
        case Quotient(above, below) if is_constant(below, fields):
            return Layer("constant", above, lambda part: Quotient(part, below))
        case Derivative(of, axis):
            return Layer("operator", of, lambda part: derivative_of(part, axis))
        case Solved(of, by):
            return Layer("operator", of, lambda part: solved(part, by))
        case Call("cause" | "explicit" as function, (*label, of)):
            return Layer("remark", of, lambda part: Call(function, (*label, part)))
        case Call(function, (of, *others)) if function in OPERATORS:
            return Layer("operator", of, lambda part: Call(function, (part, *others)))
    return None


def applied(symbol: Node, node: Node) -> Node:
    """Apply the operator of a symbol to a node; applied to a symbol it is the product of both."""
    if ZERO in (symbol, node):
        return ZERO
    match symbol:
        case Sum(terms):
            return plus(applied(term, node) for term in terms)
        case Product(left, right):
            return applied(left, applied(right, node))
    layer = outermost(symbol, ())
    return times(symbol, node) if layer is None else layer.around(applied(layer.of, node))


def derivative_of(node: Node, axis: int) -> Node:
    """∂ along an axis, of symbols too: the derivative of 1 is i k."""
    if node == ZERO:
        return ZERO
    return minus(derivative_of(node.of, axis)) if isinstance(node, Negative) else Derivative(node, axis)


def solved(node: Node, by: Node) -> Node:
    """The node divided by a symbol, as plainly as it can be said."""
    if node == ZERO or by == ONE:
        return node
    if isinstance(by, Negative):
        return minus(solved(node, by.of))
    if isinstance(node, Negative):
        return minus(solved(node.of, by))
    return Call("inverse_lap", (node,)) if by == Call("lap", (ONE,)) else Solved(node, by)


class Modes(ABC):
    """The modes that symbols are worked out on, and the numbers of a system."""

    @abstractmethod
    def derivative(self, axis: int) -> Any:
        """i k along an axis."""

    @abstractmethod
    def laplacian(self) -> Any:
        """−k²."""

    @abstractmethod
    def inverse_laplacian(self) -> Any:
        """−1/k², and 0 for the mean mode."""

    @abstractmethod
    def fractional(self, power: Any) -> Any:
        """k^(2 power), and 0 for the mean mode."""

    @abstractmethod
    def mean(self, axes: Sequence[int]) -> Any:
        """1 for modes that are constant along these axes, else 0."""

    @abstractmethod
    def own(self, label: Label) -> Any:
        """A function of the user's of the wavenumber."""

    @abstractmethod
    def number(self, name: str, index: tuple[int, ...]) -> Any:
        """A parameter, or a component of it."""

    @abstractmethod
    def compared(self, left: Any, sign: str, right: Any) -> Any:
        """True if a comparison of numbers holds."""

    @abstractmethod
    def function(self, name: str, *arguments: Any) -> Any:
        """A function of numbers, as `sqrt`."""

    @abstractmethod
    def divided(self, above: Any, below: Any, size: Any) -> Any:
        """A quotient, and 0 where the denominator is no larger than rounding leaves of terms of this size."""

    def value(self, symbol: Node) -> Any:  # noqa: C901 (one case for each kind of node)
        """The value of a symbol at each mode."""
        match symbol:
            case Number(number):
                return number.real if number.imag == 0 else number
            case Name("pi"):
                return np.pi
            case Name(name):
                return self.number(name, ())
            case Entry(name, index):
                return self.number(name, index)
            case Sum(terms):
                return sum(map(self.value, terms))
            case Negative(of):
                return -self.value(of)
            case Product(left, right):
                return self.value(left) * self.value(right)
            case Quotient(above, below):
                return self.value(above) / self.value(below)
            case Power(base, exponent):
                return self.value(base) ** self.value(exponent)
            case Comparison(left, sign, right):
                return self.compared(self.value(left), sign, self.value(right))
            case Derivative(of, axis):
                return self.derivative(axis) * self.value(of)
            case Solved(of, by):
                values = [self.value(term) for term in (by.terms if isinstance(by, Sum) else (by,))]
                return self.divided(self.value(of), sum(values), sum(map(abs, values)))
            case Call():
                return self.called(symbol)
        raise TypeError(f"{type(symbol).__name__} is no part of a symbol")

    def called(self, symbol: Call) -> Any:
        """The value of an operator, or of a function of numbers, at each mode."""
        of, *others = symbol.arguments
        match symbol.function:
            case "lap":
                return self.laplacian() * self.value(of)
            case "inverse_lap":
                return self.inverse_laplacian() * self.value(of)
            case "fraclap":
                return self.fractional(self.value(others[0])) * self.value(of)
            case "helmholtz":
                a = self.value(others[0])
                return self.divided(self.value(of), a - self.laplacian(), abs(a) + abs(self.laplacian()))
            case "mean":
                return self.mean(mean_axes(symbol)) * self.value(of)
            case "symbol":
                [label] = others
                assert isinstance(label, Label)
                return self.own(label) * self.value(of)
            case "cause" | "explicit":
                return self.value(symbol.arguments[-1])
        return self.function(symbol.function, *map(self.value, symbol.arguments))


def key_of(scalar: Node) -> tuple[str, tuple[int, ...]]:
    """The name and the index of a scalar that has a name."""
    assert isinstance(scalar, Name | Entry)
    return scalar.name, scalar.index if isinstance(scalar, Entry) else ()


def mean_axes(node: Call) -> tuple[int, ...]:
    """The axes that a mean is taken over; empty for all."""
    return tuple("xyz".index(axis.name) for axis in node.arguments[1:] if isinstance(axis, Name))


class RandomModes(Modes):
    """Modes and parameters drawn at random, to ask whether symbols vanish or are equal: a few modes suffice.

    ∂ means a real number instead of i k: an identity that holds for the ones holds for the others.

    Args:
        slopes: value of ∂ `(axis, mode)`.
        random: draws parameters.
        numbers: parameters that were drawn already `(mode,)`, by name and index; new ones are put in.
        amplitudes: amplitudes of the fields' scalars `(mode,)`, by name and index, for linear expressions.
        unseen: part of ∇² that is no square of slopes `(mode,)`: from Nyquist modes, which have no derivative.
    """

    def __init__(
        self, slopes: np.ndarray, random: np.random.Generator, numbers: Numbers, amplitudes: Numbers | None = None,
        unseen: np.ndarray | float = 0.0,
    ) -> None:  # fmt: skip
        self.slopes, self.random, self.numbers, self.amplitudes = slopes, random, numbers, amplitudes or {}
        self.unseen = unseen

    @property
    def count(self) -> int:
        return self.slopes.shape[1]

    def opposite(self) -> RandomModes:
        """The modes of opposite wavenumbers, with the same parameters."""
        return RandomModes(-self.slopes, self.random, self.numbers, unseen=self.unseen)

    def sizes(self) -> Sizes:
        """The same modes and parameters, for the size of the terms of symbols."""
        return Sizes(self.slopes, self.random, self.numbers, self.amplitudes, self.unseen)

    def scaled(self, factor: float, lengths: Mapping[Any, float]) -> RandomModes:
        """The same with all wavenumbers multiplied, and with parameters that count as so many derivatives."""
        numbers = {key: value * factor ** lengths.get(key, 0.0) for key, value in self.numbers.items()}
        return RandomModes(factor * self.slopes, self.random, numbers, self.amplitudes, factor**2 * self.unseen)

    def holding(self, scalars: Sequence[Node], values: np.ndarray) -> RandomModes:
        """The same with amplitudes `(mode, scalar)` of scalars of the fields."""
        return RandomModes(
            self.slopes, self.random, self.numbers, dict(zip(map(key_of, scalars), values.T, strict=True)), self.unseen
        )

    def derivative(self, axis: int) -> Any:
        return self.slopes[axis]

    def laplacian(self) -> Any:
        return (self.slopes**2).sum(0) + self.unseen

    def inverse_laplacian(self) -> Any:
        return self.divided(1.0, self.laplacian(), 1.0)

    def fractional(self, power: Any) -> Any:
        whole = np.ndim(power) == 0 and float(np.real(power)).is_integer()
        base = -self.laplacian() + (0 if whole else 0j)
        return np.where(base == 0, 0, np.where(base == 0, 1, base) ** (int(np.real(power)) if whole else power))

    def mean(self, axes: Sequence[int]) -> Any:
        chosen = self.slopes[list(axes)] if axes else self.slopes
        return np.all(chosen == 0, axis=0) * 1.0

    def own(self, label: Label) -> Any:
        """Another function in its place, with no relation to sums, products and powers of wavenumbers.

        It is the same function of the same wavenumbers in all samples, and even if it is one of |k|.
        """
        random = np.random.default_rng(list(repr(label).encode()))
        of = self.laplacian() if label.arguments == 1 else random.uniform(0.5, 1.5, len(self.slopes)) @ self.slopes
        size, phase, width = random.uniform(0.5, 1.5, 3)
        return 1.5 + 0.5 * size * np.sin(of + phase) * np.exp(-0.1 * width * self.laplacian())

    def number(self, name: str, index: tuple[int, ...]) -> Any:
        if (name, index) in self.amplitudes:
            return self.amplitudes[name, index]
        if (name, index) not in self.numbers:
            self.numbers[name, index] = self.random.uniform(0.5, 1.5, self.count)
        return self.numbers[name, index]

    def called(self, symbol: Call) -> Any:
        """As of all modes, but what chooses between two numbers gives one between them.

        So a symbol counts as zero only if it is zero whichever of the two is chosen for the parameters of a run.
        """
        if symbol.function not in ("where", "max", "min"):
            return super().called(symbol)
        one, other = map(self.value, symbol.arguments[-2:])
        share = self.number(repr(symbol.arguments), ())
        return share * one + (1 - share) * other

    def values(self, node: Node) -> np.ndarray:
        """The values of a symbol at all modes, as an array."""
        return np.broadcast_to(self.value(node), self.count)

    def compared(self, left: Any, sign: str, right: Any) -> Any:
        return COMPARED[sign](left, right)

    def function(self, name: str, *arguments: Any) -> Any:
        return ramp(np, *arguments) if name == "ramp" else getattr(np, name)(*arguments)

    def divided(self, above: Any, below: Any, size: Any) -> Any:
        vanishes = np.abs(below) <= VANISHES * size
        return np.where(vanishes, 0, above / np.where(vanishes, 1, below))


class Sizes(RandomModes):
    """The size of the terms of a symbol instead of their sum: what rounding is measured by where they cancel."""

    def value(self, symbol: Node) -> Any:
        return sum(abs(self.value(term)) for term in symbol.terms) if isinstance(symbol, Sum) else super().value(symbol)


def random_slopes(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers of order one, of either sign."""
    return random.uniform(0.5, 1.5, shape) * random.choice([-1, 1], shape)


def random_modes(dimensions: int, count: int = 5, seed: int = 0, constant_along: Iterable[int] = ()) -> RandomModes:
    """Modes drawn at random; all of them are constant along some axes, if such are given."""
    random = np.random.default_rng(seed)
    slopes = random_slopes(random, dimensions, count)
    slopes[list(constant_along)] = 0
    return RandomModes(slopes, random, {})


def modes_of_all_kinds(dimensions: int, count: int = 5, seed: int = 0) -> RandomModes:
    """Modes drawn at random: some in general position, and some constant along each choice of axes.

    The mean mode is among them, for which a projection onto fields without divergence changes nothing, and on which
    alone `mean` acts.
    """
    random = np.random.default_rng(seed)
    choices = [axes for number in range(dimensions + 1) for axes in combinations(range(dimensions), number)]
    kinds = [random_slopes(random, dimensions, FEW if axes else count) for axes in choices]
    for axes, slopes in zip(choices, kinds, strict=True):
        slopes[list(axes)] = 0
    return RandomModes(np.concatenate(kinds, axis=1), random, {})


def with_nyquist_modes(modes: RandomModes) -> RandomModes:
    """The same modes, and Nyquist modes along all axes: no derivative sees them, and they are no mean."""
    slopes = np.concatenate([modes.slopes, np.zeros((len(modes.slopes), FEW))], axis=1)
    unseen = np.concatenate([np.zeros(modes.count), modes.random.uniform(0.5, 1.5, FEW)])
    return RandomModes(slopes, modes.random, {}, unseen=unseen)


def vanishes(symbol: Node, modes: Modes) -> bool:
    """True if a symbol is zero at all of these modes, to rounding."""
    if symbol == ZERO:
        return True
    terms = symbol.terms if isinstance(symbol, Sum) else (symbol,)
    values = [np.asarray(modes.value(term)) for term in terms]
    size = sum(np.abs(value).max() for value in values)
    return bool(np.abs(sum(values)).max() <= VANISHES * size)
