"""Conditions at walls that depend on time, on the place along the wall, or on parameters of the equation.

A text or a function in the place of a number becomes a `Varying`, and at the time that an equation has a `Moment`: its
value and its rate of change, along the wall as coefficients.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.at_points import FUNCTIONS, AtPoints, constant
from solver.fft import Method, Transform
from solver.grid import Grid
from solver.mesh import placed
from solver.static import is_array, sealed
from solver.walls.conditions import Moment, Rigid, Varying, Walls
from solver.written.components import written_out
from solver.written.formula import unicode
from solver.written.kinds import kind_of
from solver.written.parse import read_expression
from solver.written.system import insert
from solver.written.text import VALUES_OF, Text
from solver.written.tree import Call, Derivative, Entry, Name, Node, Solved, WrittenError
from solver.written.vocabulary import COORDINATES, nearest

# ---- from texts and functions ---------------------------------------------------------------------------------------


@jax.tree_util.register_static
@dataclass(frozen=True)
class TextNumber:
    """A number of a condition as an expression, called with the numbers that it needs and the coordinates."""

    expression: AtPoints

    def __call__(self, numbers: Mapping[str, Any], at: Mapping[str, Any]) -> Array:
        shape = jnp.broadcast_shapes(*(jnp.shape(place) for place in at.values()))
        return self.expression.made({}, numbers, at, shape)[0]


class FunctionNumber(eqx.Module):
    """A number of a condition as a function of the user's, of coordinates along the wall and of time."""

    function: Any
    along: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, numbers: Mapping[str, Any], at: Mapping[str, Any]) -> Array:
        return jnp.asarray(self.function(*(at[name] for name in self.along), numbers["t"]))


def with_varying(equation: Any, name: str, walls: Walls) -> Walls:
    """The conditions of a field with a `Varying` in the place of each text and function.

    Raises:
        ValueError: a text that cannot be read, or holds names that a condition cannot have; a function of other
            arguments; a wall whose velocity is not the same along it.
    """

    def change(number: Any, side: str) -> Any:
        made = _varying(equation, number, f"walls.{name}.{side}")
        if isinstance(made, Varying) and made.along and isinstance(getattr(walls, side), Rigid):
            raise ValueError(
                f"walls.{name}.{side} = {made}: a wall that moves is needed to move as a whole; of "
                f"{', '.join(made.along)} scalars alone may depend"
            )
        return made

    return walls.mapped(change)


def _varying(equation: Any, given: Any, of: str) -> Any:
    if isinstance(given, str | Node):
        try:
            node = read_expression(given, equation.whole_text.words) if isinstance(given, str) else given
            return _of_text(equation, node, str(given) if isinstance(given, str) else unicode(given))
        except WrittenError as error:
            raise ValueError(f"{of}: {error}") from None
    if callable(given) and not isinstance(given, Varying) and not is_array(given):
        return _of_function(equation, given, of)
    return given


def _of_text(equation: Any, node: Node, label: str) -> Any:
    text, dimensions = equation.plain_text, equation.grid.dimensions
    scalar = scalar_of(text, node, dimensions)
    _refuse_parts(equation, text, scalar, node)
    number = constant(scalar, {})
    if number is not None:
        return float(number)
    names = AtPoints((scalar,), ()).names
    along = tuple(axis for axis in "xyz"[: dimensions - 1] if axis in names)
    made = TextNumber(AtPoints.of_text(text, (scalar,)))
    return Varying(made, label, "t" in names, along)


def scalar_of(text: Text, node: Node, dimensions: int) -> Node:
    """A real number of a condition, with definitions written out.

    Raises:
        WrittenError: a vector, or a complex number.
    """
    [scalar] = parts_of(text, node, dimensions, order=0)
    return scalar


def parts_of(text: Text, node: Node, dimensions: int, order: int) -> list[Node]:
    """The components of a condition's right-hand side, with definitions written out.

    Raises:
        WrittenError: it has another number of indices, or is complex.
    """
    system = text.system
    unknown = [part for part in node.walk() if isinstance(part, Name) and part.name not in _known(text, dimensions)]
    if unknown:
        name = unknown[0].name
        raise unknown[0].place.error(f"{name!r} at a wall{nearest(name, _known(text, dimensions))}")
    whole = insert(node, system.definitions)
    kind = kind_of(whole, system.kinds, dimensions, system.functions)
    if kind.order != order or kind.is_complex:
        needed = "a real number" if order == 0 else "a vector along the wall, such as cos(t)*ex,"
        raise node.place.error(f"at a wall {needed} is needed")
    return list(written_out(whole, system.kinds, dimensions).entries.values())


def _known(text: Text, dimensions: int) -> set[str]:
    """Names that a condition may hold; the coordinate across the walls is refused by `_refuse_parts`."""
    system = text.system
    words = {"t", "pi", "ex", "ey", "ez", "up", *"xyz"[:dimensions]}
    return words | set(system.parameters) | set(system.definitions) | set(system.fields)


def _refuse_parts(equation: Any, text: Text, scalar: Node, node: Node) -> None:
    """Refuse parts that are no numbers at a place of a wall: fields, the coordinate across, derivatives."""
    words = {*FUNCTIONS, "cause"}
    for part in scalar.walk():
        match part:
            case Name(name) | Entry(name, _) if name in text.system.fields or name in text.system.unknowns:
                raise node.place.error(
                    f"the field {name!r} in a condition at a wall: numbers, t and parameters are known"
                )
            case Name(name) if name in COORDINATES and COORDINATES[name] >= equation.grid.dimensions - 1:
                raise node.place.error(f"{name} in a condition at a wall: {name} is the direction across the walls")
            case Call("where", (compared, *_)) if "t" in compared.names:
                raise node.place.error(
                    "where of t in a condition at a wall: it may jump, and the whole field would jump with it; "
                    "ramp(a, b, t0, t1), min and max do not"
                )
            case Call("ramp", (_, _, start, end, _)) if not _is_later(end, start):
                raise node.place.error("a ramp in a condition at a wall: t1 later than t0 is needed, not a jump")
            case Derivative() | Solved():
                raise node.place.error("a derivative in a condition at a wall: numbers, t and parameters are known")
            case Call(function, _) if function.startswith(VALUES_OF) or function in text.of_whole_fields:
                raise node.place.error(
                    "values at all points in a condition at a wall: numbers, t and parameters are known"
                )
            case Call(function, _) if function not in words and function not in dict(text.functions):
                raise node.place.error(f"{function}(…) in a condition at a wall: functions of numbers are known")


def _is_later(end: Node, start: Node) -> bool:
    """False if one time is known not to be later than another."""
    last, first = constant(end, {}), constant(start, {})
    return end != start if last is None or first is None else bool(last > first)


def _of_function(equation: Any, function: Any, of: str) -> Varying:
    coordinates = "xyz"[: equation.grid.dimensions - 1]
    count, label = _arguments(function), getattr(function, "__name__", type(function).__name__)
    for along in (tuple(coordinates), ()):
        if count == len(along) + 1:
            return Varying(FunctionNumber(function, along), label, True, along)
    forms = dict.fromkeys([f"{label}({', '.join([*coordinates, 't'])})", f"{label}(t)"])
    raise ValueError(f"{of} = {label}: a function {' or '.join(forms)} is needed")


def _arguments(function: Callable[..., Any]) -> int | None:
    """Number of arguments by position that a function needs; None if it does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of functions that are not written in Python
        return None
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in by_place and p.default is p.empty for p in parameters)


# ---- at a time ------------------------------------------------------------------------------------------------------


def walls_at_time(equation: Any, name: str) -> Walls:
    """The conditions of a field at the time that an equation has.

    Where they depend on time, and the equation is at no time, they stay as they are.
    """
    walls: Walls = equation.walls[name]
    if not varies(walls):
        return walls
    made, t = ValueAndRate(equation.grid, equation.method), equation.time_at_walls
    numbers = {**equation.all_numbers, **_given_functions(equation), "t": t}
    is_known = lambda number: isinstance(number, Varying) and not (number.holds_time and t is None)  # noqa: E731
    return walls.mapped(lambda number, side: Moment(number, numbers, made) if is_known(number) else number)


def with_walls_at(equation: Any, t: ArrayLike) -> Any:
    """An equation whose conditions are worked out at time t, for code that needs them more than once."""
    if equation.walls is None or not any(map(varies, equation.walls.values())):
        return equation
    timed = equation.at_time(t)
    work_out = lambda number, side: number.worked_out() if isinstance(number, Moment) else number  # noqa: E731
    known = {name: walls_at_time(timed, name).mapped(work_out) for name in equation.walls}
    return eqx.tree_at(lambda e: e.walls, timed, known)


def on_other_grid(walls: Walls, grid: Grid) -> Walls:
    """Conditions at a time, as they are on another grid of the box."""
    there = lambda moment: Moment(moment.of, moment.numbers, ValueAndRate(grid, moment.made.method))  # noqa: E731
    return walls.mapped(lambda number, side: there(number) if isinstance(number, Moment) else number)


def with_numbers(equation: Any, numbers: Mapping[str, Any], walls: dict[str, Walls]) -> Any:
    """A copy of an equation with parameters of a run file, as far as it has them, and with other conditions."""
    copy = jax.tree.map(lambda leaf: leaf, equation)
    for name, number in numbers.items():
        if hasattr(copy, name) and isinstance(number, int | float | list):
            object.__setattr__(copy, name, tuple(number) if isinstance(number, list) else number)
    object.__setattr__(copy, "walls", walls)
    return copy


def varies(walls: Walls) -> bool:
    """True if a number of conditions is a text or a function."""
    return any(isinstance(number, Varying) for number in walls.numbers)


def _given_functions(equation: Any) -> dict[str, Any]:
    """Functions that are parameters of the equation, as expressions take them."""
    return {name: sealed(getattr(equation, name)) for name in equation.whole_text.given_functions}


@dataclass(frozen=True)
class ValueAndRate:
    """Works out a number of a condition, and its rate of change, along the walls of a grid."""

    grid: Grid
    method: Method

    def __call__(self, moment: Moment) -> tuple[Array, Any]:
        value, *rate = map(self._along, self._value_and_rate(moment))
        return value, rate[0] if rate else 0.0

    def share_lost(self, moment: Moment) -> Array:
        """The larger share of a number and of its rate of change along the wall that the modes do not hold."""
        return jnp.max(jnp.stack([self._share_lost(values) for values in self._value_and_rate(moment)]))

    def _share_lost(self, values: Array) -> Array:
        assert self.grid.horizontal is not None
        whole = jnp.mean(values**2)
        lost = values - Transform(self.grid.horizontal, self.method).inverse(self._along(values))
        return jnp.where(whole > 0, jnp.mean(lost**2) / jnp.where(whole > 0, whole, 1), 0)

    def _value_and_rate(self, moment: Moment) -> tuple[Array, ...]:
        """Values at the points of the wall, and their rates of change if they depend on time."""
        number, dtype = moment.of, self.grid.dtype
        at = lambda t: self._at_points(number, {**moment.numbers, "t": t})  # noqa: E731
        if not number.holds_time:
            return (at(jnp.zeros((), dtype)),)
        t = jnp.asarray(moment.numbers["t"], dtype)
        return jax.jvp(at, (t,), (jnp.ones_like(t),))

    def _at_points(self, number: Varying, numbers: Mapping[str, Any]) -> Array:
        """Values at the points of the wall; one number where it does not vary along it."""
        horizontal, dtype = self.grid.horizontal, self.grid.dtype
        places = {} if horizontal is None else dict(zip("xyz", horizontal.coordinates(), strict=False))
        found = number.function(numbers, {name: jnp.asarray(places[name], dtype) for name in number.along})
        shape: Sequence[int] = horizontal.physical_shape if horizontal is not None and number.along else ()
        if jnp.iscomplexobj(found) or not _broadcasts(found.shape, shape):
            raise ValueError(
                f"a wall with {number}: it gives {found.dtype}{list(found.shape)}; real values of shape {list(shape)} "
                "are needed"
            )
        return jnp.broadcast_to(found, shape).astype(dtype)

    def _along(self, values: Array) -> Array:
        """Values along the wall as coefficients of its modes; one number as it is. One exchange."""
        horizontal = self.grid.horizontal
        if values.ndim == 0 or horizontal is None:
            return values
        return Transform(horizontal, self.method).forward(placed(values, horizontal.physical_sharding()))


def _broadcasts(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    try:
        return np.broadcast_shapes(tuple(shape), tuple(wanted)) == tuple(wanted)
    except ValueError:
        return False
