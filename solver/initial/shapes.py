"""Scalars with closed forms: a constant, a bump, a ball with a smooth wall, a cosine wave."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need, require
from solver.grid import Grid, distance_squared, sample
from solver.initial.initial import Initial, as_tuples, component_count, need_resolved, per_axis
from solver.operators import root
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


class Ball(Initial):
    """f = outside + (inside − outside) · ½(1 − tanh((r − R)/w)), r to the nearest periodic image of the centre.

    A ball, a disc in two dimensions, an interval in one.

    Args:
        inside, outside: in the field's units.
        radius: R > 0 [length].
        width: w > 0, of the wall [length]; √2 ε for Allen–Cahn, √(2κ) for Cahn–Hilliard.
        centre: [length], the middle of the box if None.

    Returns:
        When called: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: a radius or width that is not positive; when called: a centre without one entry per axis.
    """

    inside: ArrayLike = 1.0
    outside: ArrayLike = -1.0
    radius: ArrayLike = 1.0
    width: ArrayLike = 0.1
    centre: tuple[ArrayLike, ...] | None = eqx.field(converter=as_tuples, default=None)

    name: ClassVar[str] = "ball"
    ranks: ClassVar[tuple[str, ...]] = ("scalar",)

    def __check_init__(self) -> None:
        for what in ("radius", "width"):
            require(f"ball with {what}", getattr(self, what), "a positive length", above=0)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        middle = per_axis("centre", self.centre, grid, [0.5 * length for length in grid.lengths])  # type: ignore[union-attr]

        def fill(*points: Array) -> tuple[Array]:
            r2 = distance_squared(points, middle, grid)
            r = root(r2)
            return (self.outside + (self.inside - self.outside) * 0.5 * (1 - jnp.tanh((r - self.radius) / self.width)),)

        return sample(fill, grid)


class Cosine(Initial):
    """f = background + amplitude · cos(k·x + phase) with k = 2π modes/L.

    Args:
        modes: periods along each axis, static; 0 along axes not named.
        background, amplitude: in the field's units.
        phase: [radians].

    Returns:
        When called: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: when called: more modes than axes, or more periods than the grid resolves.
    """

    modes: tuple[int, ...] = eqx.field(converter=as_tuples, static=True, default=(1,))
    background: ArrayLike = 0.0
    amplitude: ArrayLike = 1.0
    phase: ArrayLike = 0.0

    name: ClassVar[str] = "cosine"
    ranks: ClassVar[tuple[str, ...]] = ("scalar",)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if len(self.modes) > grid.dimensions:
            raise ValueError(f"cosine with modes {list(self.modes)} on a grid of {grid.dimensions} dimensions")
        for axis, n in enumerate(self.modes):
            need_resolved("cosine", "a mode of", n, grid, [axis])
        k = [n * f for n, f in zip(self.modes, grid.fundamental, strict=False)]

        def fill(*points: Array) -> tuple[Array]:
            angle = self.phase + sum(a * b for a, b in zip(k, points, strict=False))
            return (self.background + self.amplitude * jnp.cos(angle),)

        return sample(fill, grid)
