"""Forcing that keeps the energy of the large scales as it was at the start."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, shell_index, shell_wavenumbers, shell_width
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import need
from solver.dynamics.start_warnings import ROUNDING
from solver.forcing.forcing import Forcing
from solver.grid import Grid, Storage
from solver.spaces import FOURIER, Space


class FrozenShells(Forcing):
    """f̂(k) = û(k)/(2E) · (−T + (E₀ − E)/τ) in each shell of the spectrum with low ≤ k ≤ high: its energy E stays E₀.

    E = ½Σ|û|² over the shell, E₀ its value when the run began, and T = Σ Re û*·(L u + N) what everything else does to
    it. So ⟨u·f⟩ = −T at every stage of every step, and E is constant but for the stepper's error, which the second
    term takes back. Each shell is frozen by itself; phases, and how its modes share its energy, are free. The injection
    is what the shells lose: no power is given. A shell that held no energy at the start, or the energy of rounding
    errors alone, is not forced: of noise no direction is meant. A start without energy in any is a warning. One
    all-reduce per stage. The energies E₀ are the forcing's state: they lie in checkpoints.

    Shells are the same as in spectra, of width Δk = the largest 2π/L, each around a multiple of Δk.

    Args:
        low, high: wavenumbers of the first and the last shell [1/length], static.
        return_time: τ > 0, in which an error of E is taken back [time]; several time steps at least.

    Raises:
        ValueError: low above high, or a time that is not positive; when the equation is made: no shell between, or one
            that the grid does not keep as a whole.

    Source: Sullivan, Mahalingam & Kerr, Phys. Fluids 6 (1994) 1612, there for all shells together.
    """

    low: float = eqx.field(static=True, default=1.0)
    high: float = eqx.field(static=True, default=2.0)
    return_time: ArrayLike = 1.0

    name: ClassVar[str] = "frozen-shells"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)
    needs_change: ClassVar[bool] = True

    def __check_init__(self) -> None:
        if not 0 <= self.low <= self.high < np.inf:
            raise ValueError(f"frozen-shells with low {self.low} and high {self.high}: 0 ≤ low ≤ high is needed")
        need(self, "return_time", "frozen-shells with return_time", "a positive time", above=0)

    def check(self, equation: AnyEquation, field: str) -> None:
        grid = equation.space(field).fourier
        shells = self._shells(grid)
        if not shells:
            raise ValueError(
                f"frozen-shells with low {self.low} and high {self.high}: no multiple of {shell_width(grid):.4g}, the "
                "width of this grid's shells, lies between"
            )
        if (shells[-1] + 0.5) * shell_width(grid) > grid.k_max * (1 + 1e-9):
            whole = grid.k_max - shell_width(grid) / 2
            raise ValueError(f"frozen-shells with high {self.high}: the grid keeps shells up to {whole:.4g}")

    def start_from(self, u_hat: Array, space: Space, key: Array | tuple[()]) -> Array:
        """Energy of each shell `(shell,)` when the run began; 0 where it came from rounding errors alone."""
        grid = space.fourier
        energy = self._sums(jnp.abs(u_hat) ** 2, grid) / 2
        rounding = (ROUNDING * jnp.finfo(grid.dtype).eps) ** 2 * mean_square(u_hat, grid) / 2
        return jnp.where(energy > rounding, energy, 0)

    def state_storage(self, field: Storage) -> Storage:
        return Storage("host")

    def multiplied_modes(self, space: Space) -> Array:
        grid = space.fourier
        return jnp.isin(shell_index(grid), jnp.asarray(self._shells(grid))).astype(grid.dtype)

    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        grid = space.fourier
        energy = self._sums(jnp.abs(u_hat) ** 2, grid) / 2
        transfer = 0 if change is None else self._sums(jnp.real(jnp.conj(u_hat) * change), grid)
        wanted = (state - energy) / self.return_time - transfer
        is_forced = (state > 0) & (energy > 0)
        gain = jnp.where(is_forced, wanted / jnp.where(is_forced, 2 * energy, 1), 0)
        index = shell_index(grid)
        return u_hat * sum(jnp.where(index == shell, g, 0) for shell, g in zip(self._shells(grid), gain, strict=True))

    def _shells(self, grid: Grid) -> list[int]:
        """Numbers of the forced shells; the mean is in none of them."""
        k, close = shell_wavenumbers(grid), 1e-9 * shell_width(grid)
        return [i for i in range(1, len(k)) if self.low - close <= k[i] <= self.high + close]

    def _sums(self, density: Array, grid: Grid) -> Array:
        """Σ over each shell of a density `(component, …)` on the stored modes."""
        index, counted = shell_index(grid), jnp.sum(density, axis=0) * grid.mode_weights()
        return jnp.stack([jnp.sum(jnp.where(index == shell, counted, 0)) for shell in self._shells(grid)])
