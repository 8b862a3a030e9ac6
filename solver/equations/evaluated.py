"""Written expressions on a grid: symbols of each mode, right-hand sides from products, functions at the points."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.equations.turned import Turned
from solver.grid import Grid
from solver.mesh import on_gpu
from solver.written.components import ONE
from solver.written.obstacles import FIXED, FIXED_AT, SEALED, SOURCES, STRENGTH, is_of_obstacles
from solver.written.rates import LARGE, Coefficient
from solver.written.symbols import VANISHES, Modes
from solver.written.tree import (
    Call,
    Comparison,
    Derivative,
    Entry,
    Name,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Slot,
    Solved,
    Sum,
)
from solver.written.vocabulary import COORDINATES, OPERATORS

OBSTACLES, KEPT = "obstacles", "kept strength"  # among numbers, and among arrays over points
SPACING = "spacing of the points"  # no name of a text has a space
COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _functions(numpy: Any) -> dict[str, Any]:
    """The functions of a text by name, of NumPy or of JAX's."""
    names = ("sin", "cos", "exp", "log", "sqrt", "tanh", "abs", "where", "conj", "real", "imag")
    same = {name: getattr(numpy, name) for name in names}
    return {**same, "min": numpy.minimum, "max": numpy.maximum, "explicit": lambda term: term}


FUNCTIONS = _functions(jnp)


class GridModes(Modes):
    """Symbols on the modes that a grid stores; each is worked out once, or a program would be long to trace.

    Args:
        grid: of the fields.
        numbers: the parameters, by name.
    """

    def __init__(self, grid: Grid, numbers: Mapping[str, Any]) -> None:
        self.grid, self.numbers = grid, numbers
        self.slopes = grid.derivative_wavenumbers()
        self._values: dict[Node, Any] = {}

    def value(self, symbol: Node) -> Any:
        if symbol not in self._values:
            self._values[symbol] = super().value(symbol)
        return self._values[symbol]

    def derivative(self, axis: int) -> Turned:
        return Turned(jnp.asarray(self.slopes[axis]), True)

    def laplacian(self) -> Turned:
        return Turned(-self.grid.k_squared())

    def inverse_laplacian(self) -> Turned:
        return Turned(-self.grid.inverse_k_squared())

    def fractional(self, power: Any) -> Turned:
        exponent, largest = Turned.of(power).whole, self.grid.k_corner
        relative = self.grid.k_squared() / largest**2
        if isinstance(exponent, float) and exponent == int(exponent):
            exponent = int(exponent)
        raised = jnp.where(relative == 0, 0, jnp.where(relative == 0, 1, relative) ** exponent)
        return Turned(raised, scale=largest ** (2 * exponent))

    def mean(self, axes: Sequence[int]) -> Turned:
        wavenumbers = self.grid.wavenumbers()
        chosen = [wavenumbers[axis] for axis in axes or range(len(wavenumbers))]
        return Turned(self.grid.is_kept() & (sum(jnp.abs(jnp.asarray(k)) for k in chosen) == 0))

    def number(self, name: str, index: tuple[int, ...]) -> Turned:
        value = self.numbers[name]
        for i in index:
            value = value[i]
        return Turned.of(value)

    def function(self, name: str, *arguments: Any) -> Turned:
        return Turned(FUNCTIONS[name](*(Turned.of(argument).whole for argument in arguments)))

    def divided(self, above: Any, below: Any, size: Any) -> Turned:
        above, below, size = map(Turned.of, (above, below, size))
        vanishes = jnp.abs(below.value) <= VANISHES * size.value
        divisor = jnp.where(vanishes, 1, below.value)
        if on_gpu(self.grid.mesh):  # a reciprocal would be stored there; on CPUs complex division is slow
            return Turned(jnp.where(vanishes, 0, above.value / divisor), above.by_i) / Turned(1, below.by_i)
        return above * Turned(jnp.where(vanishes, 0, 1 / divisor)) / Turned(1, below.by_i)

    def mean_mode(self, number: Any) -> Turned:
        """A number that is the same at all points, as coefficients."""
        return Turned.of(number) * self.mean(())


class LargeMode(GridModes):
    """Symbols at one mode with a large wavenumber along an axis, where the leading order counts alone.

    Args:
        axis: along which it points.
        dimensions: of space.
        numbers: the parameters, by name.
    """

    def __init__(self, axis: int, dimensions: int, numbers: Mapping[str, Any]) -> None:
        self.numbers, self._values = numbers, {}
        self.sizes = [LARGE if i == axis else 0.0 for i in range(dimensions)]

    def derivative(self, axis: int) -> Turned:
        return Turned(self.sizes[axis])

    def laplacian(self) -> Turned:
        return Turned(LARGE**2)

    def inverse_laplacian(self) -> Turned:
        return Turned(1 / LARGE**2)

    def fractional(self, power: Any) -> Turned:
        return Turned((LARGE**2) ** Turned.of(power).whole)

    def mean(self, axes: Sequence[int]) -> Turned:
        return Turned(0.0 if not axes or any(self.sizes[axis] for axis in axes) else 1.0)

    def divided(self, above: Any, below: Any, size: Any) -> Turned:
        return Turned.of(above) / below

    def leading(self, number: Coefficient) -> Any:
        """The number that stands before the leading order."""
        product = Turned.of(self.value(number.outer)) * Turned.of(self.value(number.inner))
        return product.whole / LARGE**number.order


class Rows:
    """Right-hand sides on a grid, from coefficients of fields and products.

    Args:
        modes: of the grid.
        coefficients: of scalars of the fields and of products, by node.
        fields: the fields as they are, if they are at hand: all components of each in one array.
        other: the same of the complex fields, where these are of the real ones beside them.
    """

    def __init__(
        self,
        modes: GridModes,
        coefficients: Mapping[Node, Array],
        fields: Mapping[str, Array] | None = None,
        other: Rows | None = None,
    ) -> None:
        self.modes, self.coefficients, self.fields, self.other = modes, coefficients, fields, other

    def of(self, node: Node) -> Rows:
        """The rows, of the real or of the complex fields, whose coefficients an expression holds."""
        other = self.other is not None and self.is_number(node) and not self.other.is_number(node)
        return self.other if other and self.other is not None else self

    def of_kind(self, real: bool) -> Rows:
        """The rows of the real fields, or of the complex ones."""
        return self if self.other is None or self.modes.grid.real is real else self.other

    def whole(self, node: Node) -> Array:
        """Coefficients of an expression, over all modes of the grid."""
        grid = self.modes.grid
        values = jnp.broadcast_to(self.term(node).whole, grid.spectral_shape)
        return values.astype(grid.complex_dtype)

    def mean(self, node: Node) -> Array:
        """The mean of an expression over the box."""
        rows = self.of(node)
        return jnp.real(jnp.sum(jnp.where(rows.modes.mean(()).value, rows.whole(node), 0)))

    def is_number(self, node: Node) -> bool:
        """Whether an expression holds neither fields nor products."""
        return not any(part in self.coefficients for part in node.walk())

    def term(self, node: Node) -> Turned:
        """A term: a number stands for its mean mode."""
        if isinstance(node, Number) and node.value == 0:
            return Turned(0.0)
        return self.modes.mean_mode(self.modes.value(node)) if self.is_number(node) else self.varying(node)

    def varying(self, node: Node) -> Turned:
        """An expression that is linear in fields and products."""
        if node in self.coefficients:
            return Turned(self.coefficients[node])
        match node:
            case Sum(terms):
                return sum(map(self.term, terms), start=Turned(0.0))
            case Negative(of):
                return -self.varying(of)
            case Product(left, right):
                number, other = (left, right) if self.is_number(left) else (right, left)
                return Turned.of(self.modes.value(number)) * self.varying(other)
            case Quotient(above, below):
                return self.varying(above) / self.modes.value(below)
            case Derivative(of, axis):
                return self.modes.derivative(axis) * self.term(of)
            case Solved(of, by):
                return self.term(of) * self.modes.value(Solved(ONE, by))
            case Call("cause" | "explicit", arguments):
                return self.term(arguments[-1])
            case Call(function, (of, *others)) if function in OPERATORS:
                return Turned.of(self.modes.value(Call(function, (ONE, *others)))) * self.term(of)
        raise TypeError(f"{type(node).__name__} is no part of a right-hand side")


@dataclass(frozen=True)
class AtPoints:
    """Products of a plan as a function of inner fields at the points, for `Transform.pointwise`.

    Args:
        products: expressions in slots of inner fields, parameters and coordinates.
        inner: number of the slot of each component that is given.
        functions: of the user's, by name.
        is_one_number: whether the one product is a real number at each point without an axis of its own, as `largest`
            needs it.
    """

    products: tuple[Node, ...]
    inner: tuple[int, ...]
    functions: tuple[tuple[str, Any], ...] = ()
    is_one_number: bool = False

    @property
    def __name__(self) -> str:
        own = "".join(f", which calls {name}" for name, _ in self.functions)
        return f"what the text multiplies{own},"

    def __call__(self, u: Array, numbers: Mapping[str, Any], places: Mapping[str, Array] | None = None) -> Array:
        if len(self.inner) == len(self.products) == 1 and not (self.is_one_number or self.functions):
            # on the array as it is: without the axis its memory would not be used again. A function of the user's must
            # not see the axis, along which it would look at other points without a trace
            return self.made({Slot("inner", self.inner[0]): u}, numbers, places, u.shape)[0].astype(u.dtype)
        values: dict[Node, Array] = {Slot("inner", slot): u[i] for i, slot in enumerate(self.inner)}
        made = self.made(values, numbers, places, u.shape[1:])
        return made[0] if self.is_one_number else jnp.stack([value.astype(u.dtype) for value in made])

    def made(
        self,
        values: Mapping[Node, Array],
        numbers: Mapping[str, Any],
        places: Mapping[str, Array] | None,
        shape: Sequence[int],
    ) -> list[Array]:
        """The products, each over all points, from the values of inner fields by slot."""
        at = _Point(values, numbers, places or {}, dict(self.functions))
        made = [jnp.broadcast_to(at.value(node), shape) for node in self.products]
        return [jnp.real(made[0])] if self.is_one_number else made

    @property
    def coordinates(self) -> list[str]:
        """The coordinates that the products hold."""
        return [name for name in COORDINATES if name in self.names]

    @property
    def names(self) -> set[str]:
        """All names that the products hold: parameters, coordinates, the time."""
        return {part.name for node in self.products for part in node.walk() if isinstance(part, Name | Entry)}

    @property
    def has_obstacles(self) -> bool:
        """Whether the products hold what bodies and sponges do."""
        return bool(self.obstacles)

    @property
    def obstacles(self) -> dict[str, Node]:
        """What the products hold of bodies and sponges, by the name of its function."""
        parts = (part for node in self.products for part in node.walk())
        return {part.function: part for part in parts if isinstance(part, Call) and is_of_obstacles(part.function)}

    def obstacles_at_points(
        self, numbers: Mapping[str, Any], places: Mapping[str, Any], shape: Sequence[int]
    ) -> dict[str, Array]:
        """Those of them that are not among the places, as arrays over all points."""
        held = {name: node for name, node in self.obstacles.items() if name not in places}
        made = AtPoints(tuple(held.values()), ()).made({}, numbers, jax.tree.map(jnp.asarray, places), shape)
        return dict(zip(held, made, strict=True))


class _Point:
    """Expressions at the points."""

    words: ClassVar[dict[str, Any]] = FUNCTIONS

    def __init__(
        self,
        inner: Mapping[Node, Array],
        numbers: Mapping[str, Any],
        places: Mapping[str, Array],
        functions: Mapping[str, Any],
    ) -> None:
        self.inner, self.numbers, self.places, self.functions = inner, numbers, places, functions
        self.acting: dict[str, Any] = {}  # what bodies do here, by function

    def value(self, node: Node) -> Any:  # noqa: C901 (one case for each kind of node)
        """The value of an expression."""
        match node:
            case Number(value):
                return value.real if value.imag == 0 else value
            case Slot():
                return self.inner[node]
            case Name("pi"):
                return jnp.pi
            case Name(name):
                return self.places[name] if name in self.places else self.numbers[name]
            case Entry(name, index):
                value = self.numbers[name]
                for i in index:
                    value = value[i]
                return value
            case Sum(terms):
                return self.sum(terms)
            case Negative(of):
                return -self.value(of)
            case Product(left, right):
                return self.value(left) * self.value(right)
            case Quotient(above, below):
                return self.value(above) / self.value(below)
            case Power(Call("abs", (of,)), Number(exponent)) if exponent == 2:
                value, words = self.value(of), self.words
                return (
                    words["real"](value) ** 2 + words["imag"](value) ** 2 if np.iscomplexobj(value) else value * value
                )
            case Power(base, Number(exponent)) if exponent.imag == 0:
                whole = exponent.real == int(exponent.real)
                return self.value(base) ** (int(exponent.real) if whole else exponent.real)
            case Power(base, exponent):
                return self.value(base) ** self.value(exponent)
            case Comparison(left, sign, right):
                return COMPARED[sign](*(self.words["real"](self.value(side)) for side in (left, right)))
            case Call("cause", (_, term)):
                return self.value(term)
            case Call(function, arguments) if is_of_obstacles(function):
                return self.obstacles(function, *map(self.value, arguments))
            case Call(function, arguments) if function in self.functions:
                return self.called(function, *map(self.value, arguments))
            case Call(function, arguments):
                return self.words[function](*map(self.value, arguments))
        raise TypeError(f"{type(node).__name__} is no function of numbers at a point")

    def obstacles(self, function: str, *at: Any) -> Any:
        """What bodies and sponges do at the points: how strongly they act, or their strength times their velocity."""
        for known in (self.places, self.acting):  # asked for several times at the same points
            if function in known:
                return known[function]
        *places, t = at
        obstacles = self.numbers[OBSTACLES]
        if function in (STRENGTH, *SOURCES):
            strength, sources = obstacles.moving(places, t)
            at_rest = self.places[KEPT] if KEPT in self.places else obstacles.at_rest(places)
            found = dict(zip((STRENGTH, *SOURCES), (at_rest + strength, *sources), strict=False))
        else:
            found = of_scalar(obstacles, function.partition("_of_")[2], places, t)
        self.acting |= found
        return found[function]

    def called(self, function: str, *given: Any) -> Any:
        """What a function of the user's gives: one number for each point, real of real ones."""
        shape, dtype = jnp.broadcast_shapes(*map(jnp.shape, given)), jnp.result_type(*given)
        found = jnp.asarray(self.functions[function](*given))
        if found.shape not in ((), shape) or jnp.iscomplexobj(found) > jnp.issubdtype(dtype, jnp.complexfloating):
            needed = f"{'real' if not jnp.issubdtype(dtype, jnp.complexfloating) else 'complex'} {list(shape)}"
            raise ValueError(
                f"the function {function!r} gives {found.dtype}{list(found.shape)}: one number for each point is "
                f"needed, {needed}"
            )
        return found

    def sum(self, terms: Sequence[Node]) -> Any:
        """A sum, negative terms taken away."""
        total = None
        for term in sorted(terms, key=lambda term: isinstance(term, Negative)):
            if total is None:
                total = self.value(term)
            elif isinstance(term, Negative):
                total = total - self.value(term.of)
            else:
                total = total + self.value(term)
        return total


def of_scalar(obstacles: Any, scalar: str, at: Sequence[Any], t: Any) -> dict[str, Any]:
    """What bodies and sponges do to a scalar at points, by function."""
    found: dict[str, Any] = {}
    if (scalar, "fixed") in obstacles.conditions:
        found = dict(zip((FIXED + scalar, FIXED_AT + scalar), obstacles.fixing(scalar, at, t), strict=True))
    if (scalar, "sealed") in obstacles.conditions:
        slopes = obstacles.sealing(scalar, at, t)
        found |= {kind + scalar: slope for kind, slope in zip(SEALED, slopes, strict=False)}
    return found


class _Constant(_Point):
    """The same of numbers alone, in NumPy."""

    words: ClassVar[dict[str, Any]] = _functions(np)


def constant(node: Node, numbers: Mapping[str, Any]) -> np.ndarray | None:
    """The value of an expression of parameters. Touches no device, so that it may be asked before a job is joined.

    None if a parameter is being traced, or if it holds more than parameters: places, times, functions of the user's.
    """
    parts = list(node.walk())
    names = {part.name for part in parts if isinstance(part, Name | Entry)} - {"pi"}
    called = {part.function for part in parts if isinstance(part, Call)}
    if not (names <= numbers.keys() and called <= {*_Constant.words, "cause"}):
        return None
    if any(isinstance(numbers[name], jax.core.Tracer) for name in names):
        return None
    real = lambda value: 1.0 * np.asarray(value)  # noqa: E731 (NumPy refuses negative powers of whole numbers)
    given = {name: jax.tree.map(real, numbers[name]) for name in names}
    return np.asarray(_Constant({}, given, {}, {}).value(node))
