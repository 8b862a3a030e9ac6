"""Breathers and kinks of the sine-Gordon equation φ_tt = c²∇²φ − m² sin φ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need, require
from solver.equations.sine_gordon import SineGordon
from solver.grid import Grid, sample
from solver.initial.initial import Initial, as_tuples, bounded
from solver.spaces.field import Field

T = TypeVar("T", bound=Initial)


class Breather(Initial):
    """φ = 4 arctan((η/ω) / cosh(η m(x − x₀)/c)), η = √(1 − ω²): a breather at rest at its turning point, where φ_t = 0.

    It is 4 arctan((η/ω) cos(ω m t) / cosh(…)) from then on. Alike along further axes.

    Args:
        frequency: ω, its frequency over m, between 0 and 1.
        position: x₀ [length]; the middle of the box if None, which should be many times as long as c/(η m).
        wave_speed, mass: c and m of the equation, which `for_equation` takes from it if None; else 1.

    Returns:
        When called: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: a frequency that is not between 0 and 1, or a wave speed or mass that is not positive.

    Source: Ablowitz, Kaup, Newell & Segur, Phys. Rev. Lett. 30 (1973) 1262.
    """

    frequency: ArrayLike = 0.5
    position: ArrayLike | None = None
    wave_speed: ArrayLike | None = None
    mass: ArrayLike | None = None

    name: ClassVar[str] = "breather"
    ranks: ClassVar[tuple[str, ...]] = ("scalar",)

    def __check_init__(self) -> None:
        _check("breather", self)
        need(self, "frequency", "breather with frequency", "a number between 0 and 1", above=0)
        if isinstance(self.frequency, int | float) and not self.frequency < 1:
            raise ValueError(f"breather with frequency {self.frequency}: a number between 0 and 1 is needed")

    def for_equation(self, equation: Any, field: str) -> Breather:
        """This breather with the wave speed and mass of the equation where it lacks its own."""
        return _completed(self, equation)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        length = grid.lengths[0]  # type: ignore[index]
        middle, k = 0.5 * length if self.position is None else self.position, _wavenumber(self)
        omega = jnp.asarray(self.frequency)
        eta = jnp.sqrt(1 - omega**2)

        def fill(x: Array, *others: Array) -> tuple[Array]:
            nearest = x - middle - length * jnp.round((x - middle) / length)
            return (4 * jnp.arctan(eta / omega / jnp.cosh(bounded(eta * k * nearest))),)

        return sample(fill, grid)


class KinkPair(Initial):
    """φ = 4 arctan exp(γ m(x − x₁)/c) − 4 arctan exp(γ m(x − x₂)/c), γ = 1/√(1 − v²): a kink and an antikink.

    The kink at x₁ moves with the velocity v c, the antikink at x₂ with −v c, each exact where the other vanishes;
    between them φ is 2π. Alike along further axes.

    Args:
        speed: v, over c, between −1 and 1.
        positions: x₁ < x₂ in the box [length]; a quarter and three quarters of it if None. The box should be many
            times as long as c/(γ m).
        rate: True for φ_t of the pair, False for φ; static.
        wave_speed, mass: c and m of the equation, which `for_equation` takes from it if None; else 1.

    Returns:
        When called: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: a speed that is not between −1 and 1, other than two positions, or a wave speed or mass that is not
            positive.

    Source: Perring & Skyrme, Nucl. Phys. 31 (1962) 550.
    """

    speed: ArrayLike = 0.5
    positions: tuple[ArrayLike, ...] | None = eqx.field(converter=as_tuples, default=None)
    rate: bool = eqx.field(static=True, default=False)
    wave_speed: ArrayLike | None = None
    mass: ArrayLike | None = None

    name: ClassVar[str] = "kink-pair"
    ranks: ClassVar[tuple[str, ...]] = ("scalar",)

    def __check_init__(self) -> None:
        _check("kink-pair", self)
        need(self, "speed", "kink-pair with speed", "a number between -1 and 1")
        if isinstance(self.speed, int | float) and not abs(self.speed) < 1:
            raise ValueError(f"kink-pair with speed {self.speed}: a number between -1 and 1 is needed")
        if self.positions is not None and len(self.positions) != 2:
            raise ValueError(f"kink-pair with positions {list(self.positions)}: two numbers are needed")

    def for_equation(self, equation: Any, field: str) -> KinkPair:
        """This pair with the wave speed and mass of the equation where it lacks its own."""
        return _completed(self, equation)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        length = grid.lengths[0]  # type: ignore[index]
        places = (0.25 * length, 0.75 * length) if self.positions is None else self.positions
        v, mass = jnp.asarray(self.speed), 1.0 if self.mass is None else self.mass
        gamma = 1 / jnp.sqrt(1 - v**2)

        def fill(x: Array, *others: Array) -> tuple[Array]:
            kink, antikink = (bounded(gamma * _wavenumber(self) * (x - place)) for place in places)
            if self.rate:
                return (-2 * gamma * v * mass * (1 / jnp.cosh(kink) + 1 / jnp.cosh(antikink)),)
            return (4 * jnp.arctan(jnp.exp(kink)) - 4 * jnp.arctan(jnp.exp(antikink)),)

        return sample(fill, grid)


def _wavenumber(start: Breather | KinkPair) -> Any:
    """The wavenumber m/c."""
    mass, speed = (1.0 if v is None else v for v in (start.mass, start.wave_speed))
    return mass / speed


def _completed(start: T, equation: Any) -> T:
    if not isinstance(equation, SineGordon):
        return start
    missing = [name for name in ("wave_speed", "mass") if getattr(start, name) is None]
    return replace(start, **{name: getattr(equation, name) for name in missing})


def _check(name: str, start: Breather | KinkPair) -> None:
    for what in ("wave_speed", "mass"):
        require(f"{name} with {what}", getattr(start, what), "a positive number, such as the equation's,", above=0)
