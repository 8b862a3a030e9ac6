"""Constant fields, and bumps on them."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array

from solver.grid import Grid, sample
from solver.initial.wavefunctions import distance_squared, vector


def uniform(grid: Grid, components: int = 1, value: float = 0.0) -> Array:
    """The same value everywhere, in every component.

    Args:
        grid: any.
        components: number of components.
        value: of each, in the field's units.

    Returns:
        `(components, *grid.physical_shape)`; each device fills its own block.
    """
    return sample(lambda *x: tuple(jnp.full((), value) for _ in range(components)), grid)


def bump(
    grid: Grid,
    background: float = 0.0,
    height: float = 1.0,
    width: float = 0.1,
    centres: Sequence[Sequence[float]] | None = None,
) -> Array:
    """f = background + height · Σ exp(−r²/(2σ²)), r measured to the nearest periodic image of each centre.

    Args:
        grid: any.
        background, height: in the field's units.
        width: σ [length].
        centres: of the bumps [length]; one in the middle of the box if None.

    Returns:
        `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: a width that is not positive, or a centre without one entry per axis.
    """
    if not width > 0:
        raise ValueError(f"bump with width {width}: a positive length is needed")
    middle = [[0.5 * length for length in grid.lengths]]  # type: ignore[union-attr]
    places = [vector("centres", centre, grid, []) for centre in (middle if centres is None else centres)]

    def fill(*points: Array) -> tuple[Array]:
        bumps = sum(jnp.exp(-0.5 * distance_squared(points, place, grid) / width**2) for place in places)
        return (background + height * bumps,)

    return sample(fill, grid)
