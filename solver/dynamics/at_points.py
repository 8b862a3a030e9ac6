"""Written expressions at the points of a grid: products as functions of fields, and values of parameters alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.static import opened
from solver.written.closures import CLOSURE, is_of_closure
from solver.written.obstacles import FIXED, FIXED_AT, SEALED, SOURCES, STRENGTH, is_of_obstacles
from solver.written.symbols import ramp
from solver.written.text import FUNCTION, VALUES, Text
from solver.written.tree import (
    Call,
    Comparison,
    Entry,
    Name,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Slot,
    Sum,
)
from solver.written.vocabulary import COMPARED, COORDINATES

OBSTACLES, KEPT = "obstacles", "kept strength"  # among numbers, and among arrays over points
SPACING = "spacing of the points"  # no name of a text has a space


def _functions(numpy: Any) -> dict[str, Any]:
    """The functions of a text by name, of NumPy or of JAX's."""
    names = ("sin", "cos", "exp", "log", "sqrt", "tanh", "abs", "where", "conj", "real", "imag")
    same = {name: getattr(numpy, name) for name in names}
    return {
        **same,
        "ramp": partial(ramp, numpy),
        "min": numpy.minimum,
        "max": numpy.maximum,
        "explicit": lambda term: term,
    }


FUNCTIONS = _functions(jnp)


@dataclass(frozen=True)
class AtPoints:
    """Products of a plan as a function of inner fields at the points, for `Transform.pointwise`.

    Args:
        products: expressions in slots of inner fields, parameters and coordinates.
        inner: number of the slot of each component that is given.
        functions: functions of the user's, by name.
        of_whole_fields: names of those that look at all points; the arrays given then are over all of them.
        is_one_number: True if the only product is a real number at each point, without an axis of its own, as `largest`
            needs it.
    """

    products: tuple[Node, ...]
    inner: tuple[int, ...]
    functions: tuple[tuple[str, Any], ...] = ()
    of_whole_fields: tuple[str, ...] = ()
    is_one_number: bool = False

    @classmethod
    def of_text(cls, text: Text, products: Iterable[Node], inner: Iterable[int] = (), **options: bool) -> AtPoints:
        """Products that may call the functions of a text."""
        return cls(tuple(products), tuple(inner), text.functions, tuple(text.of_whole_fields), **options)

    @property
    def __name__(self) -> str:
        given = [name for name, _ in self.functions if not is_of_closure(name)]
        own = "".join(f", which calls {name}" for name in (*given, *(["the closure"] if self.has_closure else [])))
        return f"what the text multiplies{own},"

    def __call__(self, u: Array, numbers: Mapping[str, Any], places: Mapping[str, Array] | None = None) -> Array:
        if len(self.inner) == len(self.products) == 1 and not (self.is_one_number or self.functions):
            # on the array as it is: without the axis its memory would not be used again. A function of the user's must
            # not see the axis, along which it would look at other points without a trace
            return self.made({Slot("inner", self.inner[0]): u}, numbers, places, u.shape)[0].astype(u.dtype)
        values: dict[Node, Array] = {Slot("inner", slot): u[i] for i, slot in enumerate(self.inner)}
        made = self.made(values, numbers, places, u.shape[1:])
        if self.is_one_number:  # which may hold no field, and be a number of Python's
            return made[0].astype(jnp.finfo(u.dtype).dtype)
        return jnp.stack([value.astype(u.dtype) for value in made])

    def made(
        self,
        values: Mapping[Node, Array],
        numbers: Mapping[str, Any],
        places: Mapping[str, Any] | None,
        shape: Sequence[int],
    ) -> list[Array]:
        """The products, each over all points, from the values of inner fields by slot."""
        at = _Point(values, numbers, places or {}, dict(self.functions), dict.fromkeys(self.of_whole_fields, shape))
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
    def called(self) -> set[str]:
        """Names of the functions that the products call."""
        return {part.function for node in self.products for part in node.walk() if isinstance(part, Call)}

    @property
    def looks_at_all_points(self) -> bool:
        """True if the products call a function of whole fields."""
        return not self.called.isdisjoint(self.of_whole_fields)

    @property
    def without_whole_fields(self) -> AtPoints:
        """The same with sums in the place of functions of whole fields, so that the rest can be checked."""
        stand_ins = {name: lambda *given: sum(given) for name in self.of_whole_fields}
        return replace(self, functions=tuple({**dict(self.functions), **stand_ins}.items()), of_whole_fields=())

    @property
    def has_obstacles(self) -> bool:
        """True if the products contain functions of bodies and sponges."""
        return bool(self.obstacles)

    @property
    def has_closure(self) -> bool:
        """True if the products contain functions of a closure."""
        return any(map(is_of_closure, self.called))

    @property
    def obstacles(self) -> dict[str, Node]:
        """Calls of the functions of bodies and sponges in the products, by function."""
        parts = (part for node in self.products for part in node.walk())
        return {part.function: part for part in parts if isinstance(part, Call) and is_of_obstacles(part.function)}

    def obstacles_at_points(
        self, numbers: Mapping[str, Any], places: Mapping[str, Any], shape: Sequence[int]
    ) -> dict[str, Array]:
        """Arrays over all points of the functions of bodies and sponges; those among the places are left out."""
        held = {name: node for name, node in self.obstacles.items() if name not in places}
        made = AtPoints(tuple(held.values()), ()).made({}, numbers, jax.tree.map(jnp.asarray, places), shape)
        return dict(zip(held, made, strict=True))


@dataclass(frozen=True)
class OfBothKinds:
    """Products of real and complex fields, as `Transform.check_function` takes them: all of them as complex."""

    function: AtPoints

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __call__(self, u: Array, numbers: Mapping[str, Any], at_points: Any) -> Array:
        values, places = at_points
        slots = (Slot("inner", slot) for slot in self.function.inner)
        made = self.function.made(dict(zip(slots, values, strict=True)), numbers, places, u.shape)
        return jnp.stack([value.astype(u.dtype) for value in made])


class _Point:
    """Expressions at the points."""

    words: ClassVar[dict[str, Any]] = FUNCTIONS

    def __init__(
        self,
        inner: Mapping[Node, Array],
        numbers: Mapping[str, Any],
        places: Mapping[str, Any],
        functions: Mapping[str, Any],
        whole: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        self.inner, self.numbers, self.places, self.functions = inner, numbers, places, functions
        self.whole = whole  # shape of all points, by the name of each function that needs them
        self.acting: dict[str, Any] = {}  # what bodies do here, by function
        self.of_closure: dict[tuple[Node, ...], dict[str, Array]] = {}  # by arguments and function

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
            case Call(function, arguments) if is_of_closure(function):
                return self.subgrid(function, arguments)
            case Call(function, arguments) if function in self.functions:
                return self.called(function, *map(self.value, arguments))
            case Call(function, arguments):
                return self.words[function](*map(self.value, arguments))
        raise TypeError(f"{type(node).__name__} is no function of numbers at a point")

    def obstacles(self, function: str, *at: Any) -> Any:
        """Value of a function of bodies and sponges at the points, such as their strength, or strength · velocity."""
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

    def subgrid(self, function: str, arguments: tuple[Node, ...]) -> Array:
        """Value of a function of a closure at the points; all that are made with it are kept."""
        known = self.of_closure.setdefault(arguments, {})
        if function not in known:
            known |= opened(self.numbers[CLOSURE]).values(function, [self.value(node) for node in arguments])
        return known[function]

    def called(self, function: str, *given: Any) -> Any:
        """Result of a function of the user's: one number for each point, real if its arguments are real."""
        if function in self.whole:  # numbers stay numbers, so that one may say which result is wanted
            given = tuple(jnp.broadcast_to(one, self.whole[function]) if jnp.ndim(one) else one for one in given)
        shape, dtype = jnp.broadcast_shapes(*map(jnp.shape, given)), jnp.result_type(*given)
        if self.functions[function] is VALUES:
            return self.places[function]
        known = opened(self.numbers[function]) if self.functions[function] is FUNCTION else self.functions[function]
        found = jnp.asarray(known(*given))
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
    """Action of bodies and sponges on a scalar at the points, by function."""
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
