"""Constant fields, and bumps on them."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.grid import Grid, distance_squared, sample
from solver.initial.initial import Initial, as_tuples, component_count, per_axis
from solver.spaces.field import RANKS, Field


class Uniform(Initial):
    """f = value everywhere, in every component of the field that it is called for.

    Args:
        value: value of all components, or a list with one for each, in the field's units.

    Returns:
        When called: `(component, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: when called: a list of another length than the field has components.
    """

    value: float | tuple[float, ...] = eqx.field(converter=as_tuples, default=0.0)

    name: ClassVar[str] = "uniform"
    ranks: ClassVar[tuple[str, ...]] = RANKS

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        count = component_count(field, grid)
        values = self.value if isinstance(self.value, tuple) else (self.value,) * count
        if len(values) != count:
            raise ValueError(f"value {list(values)}: {count} numbers are needed, or one")
        return sample(lambda *x: tuple(jnp.full((), value) for value in values), grid)


class Bump(Initial):
    """f = background + height · Σ exp(−r²/(2σ²)), r measured to the nearest periodic image of each centre.

    Args:
        background, height: in the field's units.
        width: σ [length].
        centres: centres of the bumps [length]; one in the middle of the box if None.

    Returns:
        When called: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: a width that is not positive; when called: a centre without one entry per axis.
    """

    background: ArrayLike = 0.0
    height: ArrayLike = 1.0
    width: ArrayLike = 0.1
    centres: tuple[tuple[ArrayLike, ...], ...] | None = eqx.field(converter=as_tuples, default=None)

    name: ClassVar[str] = "bump"
    ranks: ClassVar[tuple[str, ...]] = ("scalar",)

    def __check_init__(self) -> None:
        need(self, "width", "bump with width", "a positive length", above=0)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        middle = [[0.5 * length for length in grid.lengths]]  # type: ignore[union-attr]
        centres = middle if self.centres is None else self.centres
        places = [per_axis("centres", centre, grid, []) for centre in centres]

        def fill(*points: Array) -> tuple[Array]:
            bumps = sum(jnp.exp(-0.5 * distance_squared(points, place, grid) / self.width**2) for place in places)
            return (self.background + self.height * bumps,)

        return sample(fill, grid)
