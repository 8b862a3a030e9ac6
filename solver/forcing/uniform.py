"""Forces that are the same everywhere: a given one, and one that keeps the mean velocity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import need, require
from solver.forcing.forcing import Forcing
from solver.spaces import Space
from solver.static import is_zero


class Uniform(Forcing):
    """f = a, the same everywhere and at all times: gravity, or the pressure gradient of a channel. No communication.

    Args:
        acceleration: a [u/time], a number for each component.
    """

    acceleration: tuple[ArrayLike, ...]

    name: ClassVar[str] = "uniform"

    def check(self, equation: AnyEquation, field: str) -> None:
        _need_components("uniform.acceleration", self.acceleration, equation, field)

    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        return space.uniform(jnp.stack([jnp.asarray(a, space.grid.dtype) for a in self.acceleration]))


class FlowRate(Forcing):
    """f(t), the same everywhere: what keeps the mean velocity at U, and brings it there in a time τ.

    d⟨u⟩/dt = (U − ⟨u⟩)/τ in every stage, whatever bodies and sponges take from the flow. One all-reduce.

    Between walls, of a velocity along them, the mean is U at all times, as exactly as the field is free of divergence;
    a start with another mean loses it. series.csv has the force, minus the mean pressure gradient, in
    `pressure_force_x`, `pressure_force_y`. No communication.

    Args:
        velocity: U [u], a number for each component.
        relaxation: τ > 0 [time], in which a mean that starts elsewhere comes to U; not used between walls.
    """

    velocity: tuple[ArrayLike, ...]
    relaxation: ArrayLike = 0.1

    name: ClassVar[str] = "flow-rate"
    needs_change: ClassVar[bool] = True

    def check(self, equation: AnyEquation, field: str) -> None:
        _need_components("flow-rate.velocity", self.velocity, equation, field)
        if equation.grid.walls and not (equation.fields[field].solenoidal and is_zero(self.velocity[-1])):
            raise ValueError(
                f"flow-rate.velocity {self.velocity} of {field} between walls: a velocity without divergence, and 0 "
                "across the walls, are needed"
            )
        need(self, "relaxation", "flow-rate.relaxation", "a positive time", above=0.0)

    @property
    def mean_between_walls(self) -> tuple[Any, ...]:
        return tuple(self.velocity[:-1])

    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        assert change is not None
        if space.grid.walls:
            return jnp.zeros_like(u_hat)
        missing = jnp.stack([jnp.asarray(u, space.grid.dtype) for u in self.velocity]) - space.means(u_hat)
        return space.uniform(missing / self.relaxation - space.means(change))


def _need_components(key: str, given: Any, equation: AnyEquation, field: str) -> None:
    count = len(equation.space(field).component_names)
    if not isinstance(given, Sequence) or len(given) != count or any(jnp.ndim(number) for number in given):
        raise ValueError(f"{key} {given}: {count} {'number is' if count == 1 else 'numbers are'} needed")
    require(key, given, "a finite number for each")
    if equation.fields[field].zero_mean:
        raise ValueError(f"{key} of {field}: it drives the mean, which is zero in this equation")
