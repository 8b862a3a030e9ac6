"""Forcing that injects energy at a given rate."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import need
from solver.forcing.forcing import Forcing, has_modes, in_shells
from solver.spaces import FOURIER, Space


class ConstantPower(Forcing):
    """f̂(k) = P û(k)/Σ|û|² on low ≤ |k| ≤ high, so that ⟨u·f⟩ = P at every stage of every step.

    Nothing is forced while these shells hold no energy: start from a field that has some; a start without is a warning.
    One all-reduce per stage.

    Args:
        power: P, by which half the mean square of the field grows per time [units of the field, squared, per time]: the
            power of a force on a velocity [length²/time³], the enstrophy injected into a vorticity [1/time³].
        low, high: wavenumbers of the shells [1/length]; the mean is not forced.

    Raises:
        ValueError: a power that is negative or not finite; when the equation is made: no mode of the grid in the
            shells.

    Source: Ghosal, Lund, Moin & Akselvoll, J. Fluid Mech. 286 (1995) 229.
    """

    power: ArrayLike
    low: ArrayLike = 1.0
    high: ArrayLike = 2.0

    name: ClassVar[str] = "constant-power"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def __check_init__(self) -> None:
        need(self, "power", "constant-power with power", "zero or more", least=0)

    def check(self, equation: AnyEquation, field: str) -> None:
        if any(isinstance(bound, jax.core.Tracer) for bound in (self.low, self.high)):
            return
        grid, bounds = equation.space(field).fourier, (float(np.min(self.low)), float(np.max(self.high)))
        if not has_modes(grid, *bounds):
            raise ValueError(
                f"constant-power with low {self.low} and high {self.high}: no mode of this grid lies between; its "
                f"|k| are {grid.k_min:.4g} to {grid.k_corner:.4g}"
            )

    def multiplied_modes(self, space: Space) -> Array:
        grid = space.fourier
        return in_shells(grid, self.low, self.high)

    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        grid = space.fourier
        driven = u_hat * in_shells(grid, self.low, self.high)
        square = mean_square(driven, grid)
        return jnp.where(square > 0, self.power / jnp.where(square > 0, square, 1), 0) * driven
