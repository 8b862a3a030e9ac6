"""What a field meets at the two walls: the conditions of velocities and of scalars.

Kinds of conditions are static; the numbers of values, slopes and moving walls are leaves, which can be differentiated
and changed without compiling again. The two coefficients of a mixture decide the modes, so that they are static too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
from jax.typing import ArrayLike

from solver.walls.scalar_modes import SLOPE, VALUE, Wall

LOWER, UPPER = "lower", "upper"


class Condition(eqx.Module):
    """The condition of a field at one wall."""

    of_velocity: ClassVar[bool] = False

    def wall(self, half_height: float, outward: int) -> Wall:
        """The homogeneous condition of a scalar, in units of half the height; `outward` is 1 at the upper wall, else −1."""
        raise NotImplementedError

    def pair(self, half_height: float) -> tuple[float, float]:
        """(a, b) of a g + b ∂g/∂ζ = `right`."""
        raise NotImplementedError

    @property
    def right(self) -> ArrayLike:
        """The right-hand side."""
        return 0.0


class AtValue(Condition):
    """T = value.

    Args:
        value: [units of the field].
    """

    value: ArrayLike = 0.0

    def wall(self, half_height: float, outward: int) -> Wall:
        return VALUE

    def pair(self, half_height: float) -> tuple[float, float]:
        return 1.0, 0.0

    @property
    def right(self) -> ArrayLike:
        return self.value


class AtSlope(Condition):
    """∂T/∂z = slope.

    Args:
        slope: [units of the field/length].
    """

    slope: ArrayLike = 0.0

    def wall(self, half_height: float, outward: int) -> Wall:
        return SLOPE

    def pair(self, half_height: float) -> tuple[float, float]:
        return 0.0, 1 / half_height

    @property
    def right(self) -> ArrayLike:
        return self.slope


class AtMixture(Condition):
    """a T + b ∂T/∂z = c, the fluid losing what it has more than the wall: b/a ≥ 0 at the upper wall, ≤ 0 at the lower.

    Args:
        a, b: static numbers, neither 0.
        c: right-hand side.
    """

    a: float = eqx.field(static=True)
    b: float = eqx.field(static=True)
    c: ArrayLike = 0.0

    def __check_init__(self) -> None:
        if not (self.a and self.b):
            raise ValueError(f"robin [{self.a}, {self.b}, …]: two numbers other than 0 are needed; value or slope else")

    def wall(self, half_height: float, outward: int) -> Wall:
        beta = outward * half_height * self.a / self.b
        if beta < 0:
            sign = ">" if outward > 0 else "<"
            raise ValueError(
                f"robin [{self.a}, {self.b}, …] at the {UPPER if outward > 0 else LOWER} wall would feed what it meets: "
                f"a/b {sign} 0 is needed there"
            )
        return Wall(False, beta)

    def pair(self, half_height: float) -> tuple[float, float]:
        return self.a, self.b / half_height

    @property
    def right(self) -> ArrayLike:
        return self.c


class Rigid(Condition):
    """u = 0 but for the velocity of the wall along itself.

    Args:
        velocity: of the wall: one number for each direction along it [length/time]; none for a wall at rest.
    """

    velocity: tuple[ArrayLike, ...] = ()
    of_velocity: ClassVar[bool] = True


class StressFree(Condition):
    """w = 0, ∂u/∂z = ∂v/∂z = 0."""

    of_velocity: ClassVar[bool] = True


class Walls(eqx.Module):
    """The conditions of one field at the two walls.

    Args:
        lower, upper: what it meets at z = 0, and at z = H.
    """

    lower: Condition
    upper: Condition

    def __iter__(self) -> Any:
        return iter((self.lower, self.upper))

    @property
    def of_velocity(self) -> bool:
        """True if they are conditions of a velocity that is free of divergence."""
        return self.lower.of_velocity


def NoSlip() -> Walls:
    """A velocity that is 0 at both walls."""
    return Walls(Rigid(), Rigid())


def FreeSlip() -> Walls:
    """A velocity that meets no stress at either wall, and does not cross them; a magnetic field at perfect conductors."""
    return Walls(StressFree(), StressFree())


def Moving(lower: Sequence[ArrayLike] | ArrayLike = (), upper: Sequence[ArrayLike] | ArrayLike = ()) -> Walls:
    """A velocity between rigid walls that move along themselves.

    Args:
        lower, upper: velocity of each wall, one number for each direction along it [length/time]; at rest by default.
    """
    return Walls(Rigid(_numbers(lower)), Rigid(_numbers(upper)))


def Value(lower: ArrayLike = 0.0, upper: ArrayLike = 0.0) -> Walls:
    """A scalar, or each component of a vector, with these values at the walls."""
    return Walls(AtValue(lower), AtValue(upper))


def Slope(lower: ArrayLike = 0.0, upper: ArrayLike = 0.0) -> Walls:
    """A scalar with these slopes ∂T/∂z at the walls; 0 is a wall that nothing passes."""
    return Walls(AtSlope(lower), AtSlope(upper))


def Robin(lower: Sequence[Any], upper: Sequence[Any]) -> Walls:
    """A scalar with a T + b ∂T/∂z = c at the walls.

    Args:
        lower, upper: (a, b, c).
    """
    return Walls(AtMixture(*lower), AtMixture(*upper))


def _numbers(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, Sequence) or getattr(given, "ndim", 0) else (given,)


# ---- as run files write them ----------------------------------------------------------------------------------------

WORDS = {"no-slip": Rigid, "free-slip": StressFree}
TABLES = {
    "moving": lambda given: Rigid(_numbers(given)),
    "value": AtValue,
    "slope": AtSlope,
    "robin": lambda given: AtMixture(*given),
}
FORMS = '"no-slip", "free-slip", { moving = [1.0, 0.0] }, { value = 1.0 }, { slope = -1.0 } or { robin = [a, b, c] }'


def condition_from(given: Any, of: str) -> Condition:
    """A condition as a run file has it.

    Args:
        given: a word or a table of one key.
        of: name of the key, for messages.
    """
    if isinstance(given, Condition):
        return given
    if isinstance(given, str) and given in WORDS:
        return WORDS[given]()
    if isinstance(given, Mapping) and len(given) == 1:
        [(word, numbers)] = given.items()
        if word in TABLES and _fits(word, numbers):
            return TABLES[word](numbers)
    raise ValueError(f"{of} = {given!r}: {FORMS} is needed")


def _fits(word: str, numbers: Any) -> bool:
    is_number = lambda v: isinstance(v, int | float) and not isinstance(v, bool)  # noqa: E731
    if word in ("value", "slope"):
        return is_number(numbers)
    if word == "moving" and is_number(numbers):
        return True
    known = isinstance(numbers, Sequence) and not isinstance(numbers, str) and all(map(is_number, numbers))
    return known and (word == "moving" or len(numbers) == 3)


def walls_from(given: Any, of: str) -> Walls:
    """The conditions of a field, as Python gives them or as a run file's table."""
    if isinstance(given, Walls):
        return given
    if isinstance(given, Mapping) and set(given) <= {LOWER, UPPER}:
        both = [condition_from(given.get(side, "no-slip"), f"{of}.{side}") for side in (LOWER, UPPER)]
        if both[0].of_velocity != both[1].of_velocity:
            raise ValueError(f"{of}: one wall is of a velocity, the other of a scalar; two of one kind are needed")
        return Walls(*both)
    raise ValueError(
        f"{of} = {given!r}: solver.walls.NoSlip() or another of solver.walls is needed, or lower and upper"
    )
