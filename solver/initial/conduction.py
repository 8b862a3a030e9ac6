"""The field at rest between two walls."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.fft import Transform
from solver.grid import Grid
from solver.initial.initial import Initial
from solver.operators import random_modes
from solver.spaces.field import Field
from solver.spaces.polynomials import PolynomialSpace
from solver.static import is_zero


class Conduction(Initial):
    """The profile at rest that the conditions at the walls have, and noise that vanishes there.

    It is linear between two values, and between moving walls; where these vary, at each place along the walls, with the
    values at the time at which the run starts. The noise is Gaussian along the walls, of every mode that is kept, and
    sin(πz/H) across them; in one dimension it is sin(2πz/H). It has no mean. Fields between walls without an initial
    field start so, without noise.

    Args:
        amplitude: root mean square of the noise of a scalar [units of the field].
    """

    amplitude: ArrayLike = 0.0
    space: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)  # of the field of an equation

    name: ClassVar[str] = "conduction"
    ranks: ClassVar[tuple[str, ...]] = ("scalar", "vector", "tensor", "symmetric tensor")

    def __check_init__(self) -> None:
        object.__setattr__(self, "space", None)

    def check(self, equation: AnyEquation, field: str) -> None:
        if not equation.grid.walls:
            raise ValueError("name = 'conduction': two walls are needed, grid.walls; uniform is a field without them")
        rank = equation.fields[field].rank
        if rank != "scalar" and not is_zero(self.amplitude):
            raise ValueError(f"amplitude {self.amplitude}: a {rank} starts without noise here, 0 is needed")

    def for_equation(self, equation: Any, field: str) -> Conduction:
        """The same with the space of a field of an equation, which knows the profile."""
        space = equation.space(field)
        if not isinstance(space, PolynomialSpace):
            return self
        return eqx.tree_at(lambda start: start.space, self, space, is_leaf=lambda leaf: leaf is None)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if self.space is None:
            raise ValueError(f"{self.name}: an equation between walls gives the profile, for_equation(equation, field)")
        whole = jnp.broadcast_to(self._profile(grid), (len(self.space.component_names), *grid.physical_shape))
        if field.rank != "scalar" or is_zero(self.amplitude):
            return whole
        z, height = grid.coordinates()[-1], grid.lengths[-1]  # type: ignore[index]
        halves = 1 if grid.dimensions > 1 else 2  # which has no mean by itself
        across = jnp.asarray(np.sqrt(2) * np.sin(halves * np.pi * z / height), grid.dtype)
        return whole + self.amplitude * across * self._along(grid, jax.random.key(0) if key is None else key)

    def _profile(self, grid: Grid) -> Array:
        """The profile over the heights, of each component; over all points where it varies along the walls."""
        lifting = self.space.lifting
        if lifting is None:
            return jnp.zeros((), grid.dtype)
        if lifting.ndim > 2:
            values: Array = self.space.at_points(lifting)
            return values
        at = lifting @ jnp.asarray(self.space.polynomials.values).T
        return at.reshape(len(at), *[1] * (grid.dimensions - 1), -1)

    def _along(self, grid: Grid, key: Array) -> Array:
        """Gaussian noise along the walls, of mean square one and without a mean."""
        if grid.horizontal is None:
            return jnp.ones((), grid.dtype)
        modes = random_modes(key, grid.horizontal)[0]
        modes = jnp.where(grid.horizontal.k_squared() == 0, 0, modes)
        drawn = Transform(grid.horizontal).inverse(modes)
        return (drawn / jnp.sqrt(jnp.mean(drawn**2)))[..., None]
