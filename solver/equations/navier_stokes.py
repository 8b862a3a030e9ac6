"""Incompressible Navier–Stokes in two and three dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Complex

from solver.diagnostics import mean_square, weighted_mean_square
from solver.equations.base import Equation, advection_rate
from solver.operators import divergence, project_solenoidal


@dataclass(frozen=True)
class NavierStokes(Equation):
    """u_t + ∇·(u u) = −∇p + ν ∇²u, ∇·u = 0, on a periodic box.

    The momentum flux u_i u_j enters without its trace, which only changes the pressure: in 3-D five products
    instead of six, so that a right-hand side costs 3 inverse and 5 forward transforms of real fields in two
    exchanges (2 and 2 in 2-D). With two-thirds dealiasing every retained mode is free of aliasing.

    Args:
        grid: two or three dimensions, real fields.
        viscosity: kinematic viscosity ν ≥ 0 [length²/time].

    Source: Basdevant, J. Comput. Phys. 50 (1983) 209 (fewer transforms); Canuto et al. (2007).
    """

    viscosity: float

    name: ClassVar[str] = "navier-stokes"
    kind: ClassVar[str] = "velocity"
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    units: ClassVar[dict[str, str]] = {
        "energy": "length^2/time^2",
        "enstrophy": "1/time^2",
        "dissipation": "length^2/time^3",
        "max_divergence": "1/time",
        "cfl": "1",
        "kmax_eta": "1",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.viscosity >= 0:
            raise ValueError(f"viscosity {self.viscosity}: zero or more is needed")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"velocity_{axis}" for axis in "xyz"[: self.grid.dimensions])

    def from_physical(self, u: Array) -> Array:
        return project_solenoidal(self.transform.forward(u), self.grid)

    def linear(self) -> Array:
        return -self.viscosity * self.grid.k_squared()

    def nonlinear(self, u_hat: Complex[Array, "d ..."], t: ArrayLike) -> Complex[Array, "d ..."]:
        """−P[∇·(u u)], P the Leray projection."""
        flux_hat = self.transform.pointwise(_trace_free_flux, u_hat)
        return -project_solenoidal(self._flux_divergence(flux_hat), self.grid)

    def _flux_divergence(self, flux_hat: Array) -> Array:
        """i k_j T̂_ij from the independent components that `_trace_free_flux` stacks."""
        k = self.grid.derivative_wavenumbers()
        if self.grid.dimensions == 2:
            (kx, ky), (xx, xy) = k, flux_hat
            return 1j * jnp.stack([kx * xx + ky * xy, kx * xy])
        (kx, ky, kz), (xx, yy, xy, xz, yz) = k, flux_hat
        return 1j * jnp.stack([kx * xx + ky * xy + kz * xz, kx * xy + ky * yy + kz * yz, kx * xz + ky * yz])

    def rate(self, field: Array) -> Array:
        return advection_rate(self.transform.inverse(field), self.grid)

    def series(self, field: Array, dt: ArrayLike) -> dict[str, Array]:
        enstrophy = self._enstrophy(field)
        dissipation = 2 * self.viscosity * enstrophy
        return {
            "energy": 0.5 * mean_square(field, self.grid),
            "enstrophy": enstrophy,
            "dissipation": dissipation,
            "max_divergence": jnp.max(jnp.abs(self.transform.inverse(divergence(field, self.grid)))),
            "cfl": dt * self.rate(field),
            "kmax_eta": self.grid.k_max * _kolmogorov_length(self.viscosity, dissipation),
        }

    def _enstrophy(self, u_hat: Array) -> Array:
        """½⟨|∇×u|²⟩ = ½ Σ (|k|²|û|² − |k·û|²)."""
        k2 = sum(k * k for k in map(jnp.asarray, self.grid.derivative_wavenumbers()))
        compressible = mean_square(divergence(u_hat, self.grid), self.grid)
        return 0.5 * (weighted_mean_square(u_hat, k2, self.grid) - compressible)

    def warnings(self, row: dict[str, float]) -> list[str]:
        if self.viscosity > 0 and row["kmax_eta"] < 1:
            return [f"k_max·η = {row['kmax_eta']:.2f} is below 1: the smallest eddies are not resolved"]
        return []


def _trace_free_flux(u: Array) -> Array:
    """u_i u_j − δ_ij u_d u_d (d the last direction): xx, xy in 2-D; xx, yy, xy, xz, yz in 3-D."""
    if len(u) == 2:
        return jnp.stack([u[0] * u[0] - u[1] * u[1], u[0] * u[1]])
    last = u[2] * u[2]
    return jnp.stack([u[0] * u[0] - last, u[1] * u[1] - last, u[0] * u[1], u[0] * u[2], u[1] * u[2]])


def _kolmogorov_length(viscosity: float, dissipation: Array) -> Array:
    """η = (ν³/ε)^¼, infinite where nothing is dissipated."""
    return jnp.where(dissipation > 0, (viscosity**3 / jnp.where(dissipation > 0, dissipation, 1)) ** 0.25, jnp.inf)
