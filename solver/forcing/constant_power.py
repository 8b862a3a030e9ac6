"""Forcing that injects energy at a given rate."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square
from solver.forcing.base import Forcing, in_shells
from solver.grid import Grid


class ConstantPower(Forcing):
    """f̂(k) = P û(k)/Σ|û|² on low ≤ |k| ≤ high, so that ⟨u·f⟩ = P at every stage of every step.

    Nothing is forced while these shells hold no energy: start from a field that has some. One all-reduce per stage.

    Args:
        power: P, by which half the mean square of the field grows per time [units of the field, squared, per time]: the
            power of a force on a velocity [length²/time³], the enstrophy injected into a vorticity [1/time³].
        low, high: wavenumbers of the shells [1/length].

    Source: Ghosal, Lund, Moin & Akselvoll, J. Fluid Mech. 286 (1995) 229.
    """

    power: ArrayLike
    low: ArrayLike = 1.0
    high: ArrayLike = 2.0

    name: ClassVar[str] = "constant-power"

    def force(self, state: Any, u_hat: Array, grid: Grid) -> Array:
        driven = u_hat * in_shells(grid, self.low, self.high)
        square = mean_square(driven, grid)
        return jnp.where(square > 0, self.power / jnp.where(square > 0, square, 1), 0) * driven
