"""Fields from random numbers at points: white noise, and spots in random places."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import need
from solver.fft import Transform
from solver.grid import Grid, distance_squared, sample
from solver.initial.initial import Initial, component_count
from solver.operators import normal, project_solenoidal, uniform
from solver.spaces import Space
from solver.spaces.field import RANKS, Field
from solver.static import is_zero


class Noise(Initial):
    """f = background + amplitude · n with an independent normal number n at every point, in every component.

    White noise, which patterns grow from. The numbers are counter-based: a key gives the same field on any number of
    devices. They belong to the points: another grid has other noise, and dealiasing takes part of it. A complex field
    has ⟨|n|²⟩ = 1. For a solenoidal field the noise is projected to be free of divergence. Between walls a solenoidal
    field is the profile at rest and modes with normal coefficients, of root mean square `amplitude` in all.

    Args:
        background: in the field's units; 0 for a solenoidal field between walls.
        amplitude: ≥ 0, the standard deviation [field's units].

    Returns:
        When called: `(component, *grid.physical_shape)`, as many components as the field has.

    Raises:
        ValueError: an amplitude that is negative; when called: no key.
    """

    background: ArrayLike = 0.0
    amplitude: ArrayLike = 0.1
    space: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)  # of a solenoidal field between walls

    name: ClassVar[str] = "noise"
    ranks: ClassVar[tuple[str, ...]] = RANKS

    def __check_init__(self) -> None:
        object.__setattr__(self, "space", None)
        need(self, "amplitude", "noise with amplitude", "zero or more", least=0)

    def check(self, equation: AnyEquation, field: str) -> None:
        if equation.grid.walls and equation.fields[field].solenoidal and not is_zero(self.background):
            raise ValueError(
                f"background {self.background} of {field}, a field without divergence between walls: 0 is needed"
            )

    def for_equation(self, equation: Any, field: str) -> Noise:
        """The same with the space of a solenoidal field between walls, whose modes are drawn."""
        if not (equation.grid.walls and equation.fields[field].solenoidal):
            return self
        return eqx.tree_at(lambda start: start.space, self, equation.space(field), is_leaf=lambda leaf: leaf is None)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if key is None:
            raise ValueError("noise without a key: one from jax.random.key is needed")
        if grid.walls and field.solenoidal:
            return self._of_modes(key)
        transform = Transform(grid) if field.solenoidal else None

        @jax.jit
        def make(key: Array) -> Array:
            shape = (component_count(field, grid), *grid.physical_shape)
            noise = normal(key, shape, grid.physical_dtype)
            noise = jax.lax.with_sharding_constraint(noise, grid.physical_sharding(len(shape)))
            if transform is not None:
                noise = transform.inverse(project_solenoidal(transform.forward(noise), grid))
            return (self.background + self.amplitude * noise).astype(grid.physical_dtype)

        return make(key)

    def _of_modes(self, key: Array) -> Array:
        """Values of modes with normal coefficients."""
        if self.space is None:
            raise ValueError(f"{self.name}: an equation between walls gives the modes, for_equation(equation, field)")

        @jax.jit
        def make(space: Space, key: Array) -> Array:
            drawn = space.random(key)
            return space.inverse(self.amplitude * drawn / jnp.sqrt(space.mean_square(drawn)))

        return make(self.space, key)


class Spots(Initial):
    """f = background + height · Σ exp(−r²/(2σ²)) over spots in random places, r to the nearest periodic image.

    The places are the same on any grid, in either precision, and on any number of devices.

    Args:
        background, height: in the field's units.
        width: σ [length].
        count: number of spots, static.

    Returns:
        When called: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: a width that is not positive or a count below 1; when called: no key.
    """

    background: ArrayLike = 0.0
    height: ArrayLike = 1.0
    width: ArrayLike = 0.1
    count: int = eqx.field(static=True, default=10)

    name: ClassVar[str] = "spots"
    ranks: ClassVar[tuple[str, ...]] = ("scalar",)

    def __check_init__(self) -> None:
        need(self, "width", "spots with width", "a positive length", above=0)
        need(self, "count", "spots with count", "1 or more", least=1)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if key is None:
            raise ValueError("spots without a key: one from jax.random.key is needed")
        drawn = uniform(key, (self.count, grid.dimensions), jnp.float32)  # the same bits in both precisions
        places = drawn.astype(grid.dtype) * jnp.asarray(grid.lengths)

        def fill(*points: Array) -> tuple[Array]:
            spots = sum(jnp.exp(-0.5 * distance_squared(points, list(at), grid) / self.width**2) for at in places)
            return (self.background + self.height * spots,)

        return sample(fill, grid)
