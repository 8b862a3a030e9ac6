"""Conditions of velocities and of scalars at two walls.

Kinds of conditions are static; the numbers of values, slopes and moving walls are leaves, which can be differentiated
and changed without compiling again. The two coefficients of a mixture decide the modes, so that they are static too.

In place of a number there may be a text or a function of time and of the place along the wall. An equation makes a
`Varying` of it, and a `Moment` at each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import equinox as eqx
import numpy as np
from jax.typing import ArrayLike

from solver.static import is_zero
from solver.walls.modes import SLOPE, VALUE, Wall

LOWER, UPPER = "lower", "upper"
LEAST = 1e-16  # of a H/(2b), below which a mixture is a slope; its inverse, above which it is a value


class Varying(eqx.Module):
    """A number of a condition that depends on time, on the place along the wall, or on parameters of the equation.

    Args:
        function: `function(numbers, at)` of the equation's numbers, with `t` among them, and of the coordinates along
            the wall, by name; real.
        label: static; the text, or the name of a function, as people are shown it.
        holds_time: static; True if it depends on time.
        along: static; names of the coordinates along the wall that it depends on.
    """

    function: Any
    label: str = eqx.field(static=True)
    holds_time: bool = eqx.field(static=True)
    along: tuple[str, ...] = eqx.field(static=True)

    def __str__(self) -> str:
        return self.label


class Moment(eqx.Module):
    """A number of a condition at one time. It is worked out where it is needed: no device is touched before.

    Args:
        of: the number.
        numbers: the equation's numbers by name, with the time `t`.
        made: static; function of a moment that gives the number, as coefficients of the modes along the walls where it
            varies along them, and likewise its rate of change, 0.0 if it does not change; with a method `share_lost`.
        known: its results; None if they are not worked out yet.
    """

    of: Varying
    numbers: dict[str, Any]
    made: Callable[[Any], tuple[Any, Any]] = eqx.field(static=True)
    known: tuple[Any, Any] | None = None

    def __str__(self) -> str:
        return str(self.of)

    @property
    def value_and_rate(self) -> tuple[Any, Any]:
        """The number and its rate of change."""
        return self.made(self) if self.known is None else self.known

    @property
    def share_lost(self) -> Any:
        """Share of the mean square along the wall that the modes do not hold: the larger one of number and rate."""
        return self.made.share_lost(self)  # type: ignore[attr-defined]

    def worked_out(self) -> Moment:
        """The same with its results."""
        return Moment(self.of, self.numbers, self.made, self.value_and_rate)


Given: TypeAlias = ArrayLike | str | Callable[..., Any] | Varying | Moment  # in the place of a number


def value_of(number: Any) -> Any:
    """A number of a condition, or its value at the time that its equation has.

    Raises:
        ValueError: it depends on time, and its equation is at no time.
    """
    if isinstance(number, Varying):
        raise ValueError(
            f"a wall with {number} depends on time: equation.at_time(t) of the time of the fields is needed"
        )
    return number.value_and_rate[0] if isinstance(number, Moment) else number


def rate_of(number: Any) -> Any:
    """The rate of change of a number of a condition; 0.0 if it does not change."""
    return number.value_and_rate[1] if isinstance(number, Moment) and number.of.holds_time else 0.0


def varies_along(number: Any) -> bool:
    """True if a number of a condition differs from place to place along the wall."""
    varying = number.of if isinstance(number, Moment) else number
    return isinstance(varying, Varying) and bool(varying.along)


class Condition(eqx.Module):
    """The condition of a field at one wall."""

    of_velocity: ClassVar[bool] = False

    def wall(self, half_height: float, outward: int) -> Wall:
        """The homogeneous condition of a scalar, in units of half the height; `outward` is 1 at the upper wall."""
        raise NotImplementedError

    def pair(self, half_height: float) -> tuple[float, float]:
        """(a, b) of a g + b ∂g/∂ζ = `right`."""
        raise NotImplementedError

    @property
    def right(self) -> Given:
        """The right-hand side."""
        return 0.0


class AtValue(Condition):
    """T = value.

    Args:
        value: [units of the field].
    """

    value: Given = 0.0

    def __str__(self) -> str:
        return f"the value {self.value}"

    def wall(self, half_height: float, outward: int) -> Wall:
        return VALUE

    def pair(self, half_height: float) -> tuple[float, float]:
        return 1.0, 0.0

    @property
    def right(self) -> Given:
        return self.value


class AtSlope(Condition):
    """∂T/∂z = slope.

    Args:
        slope: [units of the field/length].
    """

    slope: Given = 0.0

    def __str__(self) -> str:
        return f"the slope {self.slope}"

    def wall(self, half_height: float, outward: int) -> Wall:
        return SLOPE

    def pair(self, half_height: float) -> tuple[float, float]:
        return 0.0, 1 / half_height

    @property
    def right(self) -> Given:
        return self.slope


class AtMixture(Condition):
    """a T + b ∂T/∂z = c, the fluid losing what it has more than the wall: b/a ≥ 0 at the upper wall, ≤ 0 at the lower.

    Args:
        a, b: static numbers, neither 0.
        c: right-hand side.
    """

    a: float = eqx.field(static=True)
    b: float = eqx.field(static=True)
    c: Given = 0.0

    def __str__(self) -> str:
        return f"{self.a} times it and {self.b} times its slope is {self.c}"

    def __check_init__(self) -> None:
        if not (self.a and self.b):
            raise ValueError(f"robin [{self.a}, {self.b}, …]: two numbers other than 0 are needed; value or slope else")

    def wall(self, half_height: float, outward: int) -> Wall:
        beta = outward * half_height * self.a / self.b
        if beta < 0:
            sign = ">" if outward > 0 else "<"
            raise ValueError(
                f"robin [{self.a}, {self.b}, …] at the {UPPER if outward > 0 else LOWER} wall would feed what it "
                f"meets: a/b {sign} 0 is needed there"
            )
        if not LEAST <= beta <= 1 / LEAST:
            word, number = ("slope", "c/b") if beta < LEAST else ("value", "c/a")
            raise ValueError(
                f"robin [{self.a}, {self.b}, …]: {word} = {number} is needed, since a H/(2b) = {beta:.2g} is beyond "
                f"{LEAST:g} to {1 / LEAST:g}, where double precision separates the two"
            )
        return Wall(False, beta)

    def pair(self, half_height: float) -> tuple[float, float]:
        return self.a, self.b / half_height

    @property
    def right(self) -> Given:
        return self.c


class Rigid(Condition):
    """u = 0 but for the velocity of the wall along itself.

    Args:
        velocity: velocity of the wall, a number for each direction along it [length/time]; `()` for a wall at rest.
    """

    velocity: tuple[Given, ...] = ()

    def __str__(self) -> str:
        return f"moving with [{', '.join(map(str, self.velocity))}]" if self.velocity else "at rest"

    of_velocity: ClassVar[bool] = True


class StressFree(Condition):
    """w = 0, ∂u/∂z = ∂v/∂z = 0."""

    of_velocity: ClassVar[bool] = True

    def __str__(self) -> str:
        return "free of stress"


class Walls(eqx.Module):
    """The conditions of one field at the two walls.

    Args:
        lower, upper: conditions at z = 0, and at z = H.
        mean: mean velocity along the walls that a force keeps, a number for each direction [length/time]; None where
            nothing keeps it. An equation sets it from its forcing, whatever is given here.
    """

    lower: Condition
    upper: Condition
    mean: tuple[ArrayLike, ...] | None = None

    def __iter__(self) -> Any:
        return iter((self.lower, self.upper))

    def homogeneous(self, half_height: float) -> tuple[Wall, Wall]:
        """The conditions of a scalar without their right-hand sides, which decide its modes."""
        return self.lower.wall(half_height, -1), self.upper.wall(half_height, 1)

    @property
    def numbers(self) -> list[Any]:
        """Velocities and right-hand sides of both walls."""
        return [number for side in self for number in (getattr(side, "velocity", ()) or (side.right,))]

    @property
    def adds(self) -> bool:
        """True if they are not homogeneous: the field has something by its conditions alone."""
        return not all(map(is_zero, self.numbers))

    @property
    def hold_time(self) -> bool:
        """True if a number depends on time."""
        return any(isinstance(number, Varying) and number.holds_time for number in self.numbers)

    def mapped(self, change: Callable[[Any, str], Any]) -> Walls:
        """The same with `change(number, side)` in the place of every number."""
        lower = _with_numbers(self.lower, lambda number: change(number, LOWER))
        return Walls(lower, _with_numbers(self.upper, lambda number: change(number, UPPER)), self.mean)

    @property
    def are_natural(self) -> bool:
        """True if they set nothing but that no flow crosses the walls: free-slip, and slopes of 0."""
        return not self.adds and all(isinstance(side, StressFree | AtSlope) for side in self)

    @property
    def in_words(self) -> str:
        """The conditions, for people."""
        kept = "" if self.mean is None else f", the mean velocity {[float(v) for v in self.mean]} is kept"
        return f"{self.lower} below, {self.upper} above{kept}"

    @property
    def of_velocity(self) -> bool:
        """True if they are conditions of a velocity that is free of divergence."""
        return self.lower.of_velocity


def _with_numbers(side: Condition, change: Callable[[Any], Any]) -> Condition:
    match side:
        case Rigid(velocity=velocity):
            return Rigid(tuple(map(change, velocity)))
        case AtValue(value=value):
            return AtValue(change(value))
        case AtSlope(slope=slope):
            return AtSlope(change(slope))
        case AtMixture(a=a, b=b, c=c):
            return AtMixture(a, b, change(c))
    return side


def NoSlip() -> Walls:
    """A velocity that is 0 at both walls."""
    return Walls(Rigid(), Rigid())


def FreeSlip() -> Walls:
    """A velocity without stress at the walls, which it does not cross; a magnetic field at perfect conductors."""
    return Walls(StressFree(), StressFree())


def Moving(lower: Sequence[Given] | Given = (), upper: Sequence[Given] | Given = ()) -> Walls:
    """A velocity between rigid walls that move along themselves.

    Args:
        lower, upper: velocity of each wall, one number for each direction along it [length/time]; at rest by default.
            A number may be a text of `t` and of the equation's parameters, as `"cos(2*t)"`, or a function of t.
    """
    return Walls(Rigid(_numbers(lower)), Rigid(_numbers(upper)))


def Value(lower: Given = 0.0, upper: Given = 0.0) -> Walls:
    """A scalar, or each component of a vector, with these values at the walls.

    Args:
        lower, upper: a number, or a text of `t`, of the coordinates along the walls and of the equation's parameters,
            as `"1 + a*cos(x)*sin(t)"`, or a function of t, or of the coordinates along the walls and t.
    """
    return Walls(AtValue(lower), AtValue(upper))


def Slope(lower: Given = 0.0, upper: Given = 0.0) -> Walls:
    """A scalar with these slopes ∂T/∂z at the walls, as `Value` has its values; 0 is a wall that nothing passes."""
    return Walls(AtSlope(lower), AtSlope(upper))


def Robin(lower: Sequence[Any], upper: Sequence[Any]) -> Walls:
    """A scalar with a T + b ∂T/∂z = c at the walls.

    Args:
        lower, upper: (a, b, c); c as `Value` has its values.
    """
    return Walls(AtMixture(*lower), AtMixture(*upper))


def _numbers(given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or callable(given):
        return (given,)
    return tuple(given) if isinstance(given, Sequence) or np.ndim(given) else (given,)


# ---- as run files write them ----------------------------------------------------------------------------------------

WORDS: dict[str, type[Condition]] = {"no-slip": Rigid, "free-slip": StressFree}
TABLES: dict[str, Callable[[Any], Condition]] = {
    "moving": lambda given: Rigid(_numbers(given)),
    "value": AtValue,
    "slope": AtSlope,
    "robin": lambda given: AtMixture(*given),
}
FORMS = '"no-slip", "free-slip", { moving = [1.0, 0.0] }, { value = 1.0 }, { slope = -1.0 } or { robin = [a, b, c] }'


def walls_from(given: Any, of: str) -> Walls:
    """The conditions of a field, as Python gives them or as a run file's table, whose numbers are checked there.

    Args:
        given: conditions, or a table with `lower` and `upper`.
        of: name of the key, for messages.

    Raises:
        ValueError: something else, or conditions of two kinds of fields.
    """
    if isinstance(given, Walls):
        return given
    if not isinstance(given, Mapping) or not set(given) <= {LOWER, UPPER}:
        raise ValueError(
            f"{of} = {given!r}: solver.walls.NoSlip() or another of its kind is needed, or lower and upper"
        )
    both = [_condition_from(given.get(side), f"{of}.{side}") for side in (LOWER, UPPER)]
    if both[0].of_velocity != both[1].of_velocity:
        raise ValueError(f"{of}: one wall is of a velocity, the other of a scalar; two of one kind are needed")
    return Walls(both[0], both[1])


def _condition_from(given: Any, of: str) -> Condition:
    if given is None:
        raise ValueError(f"{of} is missing: {FORMS} is needed")
    if isinstance(given, str) and given in WORDS:
        return WORDS[given]()
    if isinstance(given, Mapping) and len(given) == 1 and (word := next(iter(given))) in TABLES:
        return TABLES[word](given[word])
    raise ValueError(f"{of} = {given!r}: {FORMS} is needed")
