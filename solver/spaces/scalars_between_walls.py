"""Scalars, and vectors without a constraint, that meet a condition at each of two walls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.grid import Grid
from solver.spaces.polynomials import FieldBetweenWalls, times
from solver.static import is_zero
from solver.walls.conditions import Walls, rate_of, value_of, varies_along
from solver.walls.modes import Wall, lifting, lifting_is_linear, scalar_modes


class ScalarModes(eqx.Module):
    """Modes of −∂²/∂z² under the conditions of a field.

    Args:
        modes: `(polynomial, mode)`; columns without a mode are 0.
        rates: eigenvalue of each mode [1/length²].
        lifting: polynomials `(3, wall)` of a unit right-hand side at each wall.
    """

    modes: Any
    rates: Any
    lifting: Any

    @classmethod
    def on(cls, grid: Grid, walls: Walls) -> ScalarModes:
        half = 0.5 * float(grid.lengths[-1])  # type: ignore[index]
        pairs = (walls.lower.pair(half), walls.upper.pair(half))
        return _scalar_modes(grid.layout.retained[-1], half, *walls.homogeneous(half), *pairs, grid.dtype)

    def bytes_on_one(self, devices: int) -> int:
        """Bytes on each device, of which every one has all."""
        return int(sum(v.nbytes for v in (self.modes, self.rates, self.lifting)))


@lru_cache(maxsize=32)
def _scalar_modes(
    count: int, half: float, lower: Wall, upper: Wall, at_lower: Any, at_upper: Any, dtype: np.dtype
) -> ScalarModes:
    rates, modes = scalar_modes(count, lower, upper)
    missing = count - len(rates)
    padded = np.pad(modes, [(0, 0), (0, missing)]), np.pad(rates / half**2, (0, missing))
    return ScalarModes(*(v.astype(dtype) for v in (*padded, lifting(at_lower, at_upper))))


class ScalarSpace(FieldBetweenWalls):
    """A field with a value, a slope or a mixture of both at each wall.

    Its coefficients belong to the modes of diffusion under these conditions, homogeneous. The conditions add a lifting,
    linear in z or quadratic, which no state holds. So ∇² is a number for each mode.
    """

    def __str__(self) -> str:
        return "modes between walls"

    def without_lifting(self, u_hat: Array) -> Array:
        return times(self.own.modes, u_hat)

    def tested(self, c: Array) -> Array:
        return times(self.own.modes.T, c)

    @property
    def lifting(self) -> Array | None:
        return self._lifted([value_of(side.right) for side in self.walls])

    @property
    def rate_of_lifting(self) -> Array | None:
        return self._lifted([rate_of(side.right) for side in self.walls])

    def _lifted(self, rights: Sequence[Any]) -> Array | None:
        if all(map(is_zero, rights)):
            return None
        if any(jnp.ndim(right) for right in rights):
            return self._lifted_along_walls(rights)
        made = jnp.asarray(self.own.lifting) @ jnp.stack([jnp.asarray(right, self.grid.dtype) for right in rights])
        made = jnp.pad(made, (0, self.modes.spectral_shape[-1] - len(made)))
        return jnp.broadcast_to(made, (len(self.component_names), len(made)))

    def _lifted_along_walls(self, rights: Sequence[Any]) -> Array:
        """The same of right-hand sides as coefficients of the modes along the walls, `(component, …, n)`."""
        uniform = jnp.broadcast_to(self._uniform_along_walls(), self.modes.spectral_shape)[..., 0]
        each = [right if jnp.ndim(right) else jnp.where(uniform, right, 0) for right in rights]
        made = times(self.own.lifting, jnp.stack([one.astype(self.grid.complex_dtype) for one in each], -1))
        made = jnp.pad(made, [(0, 0)] * (made.ndim - 1) + [(0, self.modes.spectral_shape[-1] - made.shape[-1])])
        return jnp.broadcast_to(made, (len(self.component_names), *made.shape))

    @property
    def lifting_diffuses(self) -> bool:  # type: ignore[override]
        is_linear = lifting_is_linear(*(side.pair(0.5 * self.height) for side in self.walls))  # else a parabola
        return not is_linear or any(varies_along(side.right) for side in self.walls)

    @property
    def own_conditions(self) -> tuple[Wall, ...]:
        """The homogeneous conditions, which decide its modes."""
        own: tuple[Wall, ...] = self.walls.homogeneous(0.5 * self.height)
        return own

    def gives_values(self) -> list[bool]:
        return [side.is_value for side in self.walls.homogeneous(1.0)]

    def missed_at_walls(self, u: Array) -> Array:
        missing = self.with_lifting(self.polynomials_of(u), -1)
        return self.mean_square_at_walls(missing, [[one] * len(missing) for one in self.gives_values()])

    def lost_along_walls(self) -> Array | None:
        lost = [side.right.share_lost for side in self.walls if varies_along(side.right)]
        return jnp.max(jnp.stack(lost)) if lost else None

    def holds(self) -> Array:
        is_mode = jnp.any(jnp.asarray(self.own.modes) != 0, axis=0)
        return jnp.broadcast_to(is_mode & self._is_stored(), self.modes.spectral_shape)

    def laplacian(self) -> Array:
        """−(λ + k²), and 0 where there is no mode."""
        return jnp.where(self.holds(), -(self.along_squared() + jnp.asarray(self.own.rates)), 0)
