"""Random forcing with a memory."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.forcing.forcing import Forcing
from solver.forcing.waves import need_periods
from solver.grid import Grid, Storage
from solver.operators import normal, project_solenoidal
from solver.spaces import FOURIER, Space


class OrnsteinUhlenbeck(Forcing):
    """Low modes of an acceleration follow Ornstein–Uhlenbeck processes of correlation time τ and given r.m.s. value.

    Each of the modes with 0 < |n| ≤ largest (n whole numbers, 0 along a side of one point) has independent real
    variables g, advanced exactly from step to step, g ← g e^{−dt/τ} + (1 − e^{−2dt/τ})^½ ξ, and constant within one:
    the power that they put in is 1 + (dt/τ)²/12 times the power of a force that changes all the time. A CFL number
    keeps dt ≤ τ/2, where this is 2 %, and fixed steps that are longer are refused; `white-noise` is for shorter
    memories. In two and three dimensions a vector is projected to be free of divergence. Noise is counter-based: the
    key of the run and the number of the step give the same forcing on any number of devices, and after a restart.

    Args:
        rms: ⟨|f|²⟩^½ in the mean over time [u/time].
        correlation_time: τ [time].
        largest: largest forced |n|, static: it decides the shape of the state.

    Raises:
        ValueError: an rms that is negative, a time that is not positive, or a `largest` below one.

    Source: Eswaran & Pope, Comput. Fluids 16 (1988) 257.
    """

    rms: ArrayLike
    correlation_time: ArrayLike = 1.0
    largest: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "ornstein-uhlenbeck"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)
    random: ClassVar[bool] = True

    def __check_init__(self) -> None:
        need_periods("ornstein-uhlenbeck", self.largest, "largest")
        need(self, "rms", "ornstein-uhlenbeck with rms", "zero or more", least=0)
        need(self, "correlation_time", "ornstein-uhlenbeck with correlation_time", "a positive time", above=0)

    def start(self, space: Space, key: Array | tuple[()]) -> Array:
        """Variables g `(components, 2n + 1, …)`, drawn from their stationary distribution; on every device."""
        grid = space.fourier
        reach = self._reach(grid)
        for axis, highest in enumerate(reach):
            resolved = grid.layout.highest_told_apart(axis)
            if resolved < highest:
                raise ValueError(
                    f"ornstein-uhlenbeck with largest {self.largest}: the grid resolves {resolved} modes along axis "
                    f"{axis}"
                )
        shape = (space.stored_components, *[2 * n + 1 for n in reach])
        return normal(key, shape, grid.dtype)

    def state_storage(self, field: Storage) -> Storage:
        return Storage("host")

    def advance(self, state: Any, key: Array | tuple[()], dt: ArrayLike, space: Space | None = None) -> Array:
        x = jnp.asarray(dt, state.dtype) / self.correlation_time
        # 1 − e^{−x} without cancellation: in single precision steps may be short against τ
        noise = jnp.sqrt(-jnp.expm1(-2 * x)) * normal(key, state.shape, state.dtype)
        return state + jnp.expm1(-x) * state + noise

    def longest_step(self) -> ArrayLike:
        return self.correlation_time / 2

    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        grid = space.fourier
        g = state.reshape(len(state), -1)
        opposite = g[:, ::-1]  # of −n
        table = 0.5 * ((g + opposite) + 1j * (g - opposite))  # conjugate at −n: the field is real
        inside, position = self._positions(grid)
        f_hat = jnp.where(inside, table[:, position], 0)
        count = self._modes(grid) * len(state)
        if len(state) == grid.dimensions > 1:  # in one dimension nothing is free of divergence: nothing is projected
            f_hat = project_solenoidal(f_hat, grid)
            count = self._modes(grid) * (grid.dimensions - 1)
        return (self.rms / jnp.sqrt(float(count)) * f_hat).astype(u_hat.dtype)

    def _reach(self, grid: Grid) -> tuple[int, ...]:
        """Largest number of a forced mode along each axis."""
        return tuple(self.largest if points > 1 else 0 for points in grid.shape)

    def _modes(self, grid: Grid) -> int:
        """Number of forced modes; n and −n count as two."""
        square = sum(np.meshgrid(*[np.arange(-n, n + 1) ** 2 for n in self._reach(grid)]))
        return int(np.sum((square > 0) & (square <= self.largest**2)))

    def _positions(self, grid: Grid) -> tuple[Array, Array]:
        """Which stored modes are forced, and where in the table each of them stands."""
        numbers = [jnp.round(k / f).astype(int) for k, f in zip(grid.wavenumbers(), grid.fundamental, strict=True)]
        square = sum(n * n for n in numbers)
        inside = (square > 0) & (square <= self.largest**2) & grid.is_kept()
        position = jnp.zeros((), int)
        for n, highest in zip(numbers, self._reach(grid), strict=True):
            position = position * (2 * highest + 1) + jnp.clip(n, -highest, highest) + highest
        return inside, jnp.broadcast_to(position, grid.spectral_shape)
