"""Two shear layers that roll up."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.grid import Grid, sample
from solver.initial.initial import Initial, need_resolved
from solver.spaces.field import Field


class KelvinHelmholtz(Initial):
    """Double shear layer: u = A s along x, and A ε sin(2π n x/L) across the layers, which wakes their instability.

    s = −tanh((L/2πδ) cos(2π ζ/L)) along the last direction ζ (y in 2-D, z in 3-D): −1 and 1 on the two sides of layers
    of half-width δ at ζ = L/4 and 3L/4, where it is tanh(±(ζ − ζ₀)/δ), and exactly periodic. In 3-D the velocity across
    the layers is A ε (sin(2π n x/L) + σ sin(2π y/L)). A scalar gets A s alone: a dye that marks the two streams, or
    layers of buoyancy, of which one is stably stratified and one is not.

    A layer is unstable to waves with k δ < 1, and most to k δ = 0.44.

    Args:
        amplitude: A, half the difference between the streams [field's units].
        width: δ > 0 [length].
        perturbation: ε.
        waves: n, periods of the perturbation per box side, static.
        spanwise: σ, strength of the variation in the third direction; of no effect in 2-D.

    Returns:
        When called: `(component, *grid.physical_shape)`, a vector divergence-free; each device fills its own block.

    Raises:
        ValueError: a width that is not positive; when called: one dimension, more waves than the grid resolves.

    Source: Bell, Colella & Glaz, J. Comput. Phys. 85 (1989) 257; Michalke, J. Fluid Mech. 19 (1964) 543, for the
    instability.
    """

    amplitude: ArrayLike = 1.0
    width: ArrayLike = 0.2
    perturbation: ArrayLike = 0.05
    waves: int = eqx.field(static=True, default=2)
    spanwise: ArrayLike = 0.5

    name: ClassVar[str] = "kelvin-helmholtz"
    ranks: ClassVar[tuple[str, ...]] = ("vector", "scalar")
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)

    def __check_init__(self) -> None:
        need(self, "width", "kelvin-helmholtz with width", "a positive length", above=0)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        need_resolved("kelvin-helmholtz", "waves", self.waves, grid, [0])

        def fill(*points: Array) -> tuple[Array, ...]:
            x, *across, last = (f * p for f, p in zip(grid.fundamental, points, strict=True))
            streams = self.amplitude * jnp.tanh(-jnp.cos(last) / (self.width * grid.fundamental[-1]))
            if field.rank == "scalar":
                return (streams,)
            wave = jnp.sin(self.waves * x) + sum(self.spanwise * jnp.sin(y) for y in across)
            none = [jnp.zeros(())] * len(across)
            return (streams, *none, self.amplitude * self.perturbation * wave)

        return sample(fill, grid)
