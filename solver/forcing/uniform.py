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

    Args:
        velocity: U [u], a number for each component.
        relaxation: τ > 0 [time], in which a mean that starts elsewhere comes to U.
    """

    velocity: tuple[ArrayLike, ...]
    relaxation: ArrayLike = 0.1

    name: ClassVar[str] = "flow-rate"
    needs_change: ClassVar[bool] = True

    def check(self, equation: AnyEquation, field: str) -> None:
        _need_components("flow-rate.velocity", self.velocity, equation, field)
        if equation.grid.walls:
            raise ValueError("between walls flow-rate is not known: uniform drives a channel there, or a moving wall")
        need(self, "relaxation", "flow-rate.relaxation", "a positive time", above=0.0)

    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        assert change is not None
        missing = jnp.stack([jnp.asarray(u, space.grid.dtype) for u in self.velocity]) - space.means(u_hat)
        return space.uniform(missing / self.relaxation - space.means(change))


def _need_components(key: str, given: Any, equation: AnyEquation, field: str) -> None:
    count = len(equation.space(field).component_names)
    if not isinstance(given, Sequence) or len(given) != count or any(jnp.ndim(number) for number in given):
        raise ValueError(f"{key} {given}: {count} {'number is' if count == 1 else 'numbers are'} needed")
    require(key, given, "a finite number for each")
    if equation.fields[field].zero_mean:
        raise ValueError(f"{key} of {field}: it drives the mean, which is zero in this equation")
