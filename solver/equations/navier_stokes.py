"""Incompressible Navier–Stokes in two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, weighted_mean_square
from solver.equations.base import Equation, advection_rate, require
from solver.equations.budget import Budget, Changes
from solver.equations.field import Field
from solver.grid import Grid
from solver.operators import Diagonal, Fields, divergence, project_solenoidal


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

    viscosity: ArrayLike

    name: ClassVar[str] = "navier-stokes"
    fields: ClassVar[dict[str, Field]] = {"velocity": Field("vector", "length/time", solenoidal=True)}
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    units: ClassVar[dict[str, str]] = {
        "energy": "length^2/time^2",
        "enstrophy": "1/time^2",
        "dissipation": "length^2/time^3",
        "max_divergence": "1/time",
        "cfl": "1",
        "kmax_eta": "1",
    }
    budgeted: ClassVar[dict[str, str]] = {"energy": "velocity"}

    def __check_init__(self) -> None:
        require("viscosity", self.viscosity, "zero or more", least=0)

    def from_physical(self, u: Fields) -> Fields:
        return {"velocity": project_solenoidal(self.transform.forward(u["velocity"]), self.grid)}

    def linear(self) -> Diagonal:
        return Diagonal({"velocity": -self.viscosity * self.grid.k_squared()})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−P[∇·(u u)], P the Leray projection."""
        flux_hat = self.transform.pointwise(trace_free_flux, fields["velocity"])
        return {"velocity": -project_solenoidal(flux_divergence(flux_hat, self.grid), self.grid)}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """By viscosity and forcing: advection and pressure change no energy where no product is aliased."""
        viscosity = self.power(fields, changes.linear, "velocity")
        return {"energy": {"viscosity": viscosity, **self.power_of_forcing(fields, changes, "velocity")}}

    def rate(self, fields: Fields) -> Array:
        return advection_rate(self.transform.inverse(fields["velocity"]), self.grid)

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        u_hat = fields["velocity"]
        enstrophy = mean_enstrophy(u_hat, self.grid)
        dissipation = 2 * self.viscosity * enstrophy
        return {
            "energy": 0.5 * mean_square(u_hat, self.grid),
            "enstrophy": enstrophy,
            "dissipation": dissipation,
            "max_divergence": jnp.max(jnp.abs(self.transform.inverse(divergence(u_hat, self.grid)))),
            "cfl": dt * self.rate(fields),
            "kmax_eta": self.grid.k_max * self._smallest_eddy(u_hat, dissipation),
        }

    def _smallest_eddy(self, u_hat: Array, dissipation: Array) -> Array:
        """η: Kolmogorov's (ν³/ε)^¼ in 3-D; in 2-D (ν³/χ)^(1/6) of the cascade of enstrophy, χ = ν⟨|∇ω|²⟩."""
        if self.grid.dimensions == 3:
            return kolmogorov_length(self.viscosity, dissipation)
        k2 = self.grid.k_squared()
        lost = self.viscosity * weighted_mean_square(u_hat, k2 * k2, self.grid)
        return jnp.where(lost > 0, (self.viscosity**3 / jnp.where(lost > 0, lost, 1)) ** (1 / 6), jnp.inf)

    def warnings(self, row: dict[str, float]) -> list[str]:
        if self.viscosity > 0 and row["kmax_eta"] < 1:
            return [f"k_max·η = {row['kmax_eta']:.2f} is below 1: the smallest eddies are not resolved"]
        return []


def mean_enstrophy(u_hat: Array, grid: Grid) -> Array:
    """½⟨|∇×u|²⟩ = ½ Σ (|k|²|û|² − |k·û|²). All-reduces only."""
    k2 = sum(k * k for k in map(jnp.asarray, grid.derivative_wavenumbers()))
    compressible = mean_square(divergence(u_hat, grid), grid)
    return 0.5 * (weighted_mean_square(u_hat, k2, grid) - compressible)


def flux_divergence(flux_hat: Array, grid: Grid) -> Array:
    """i k_j T̂_ij of a symmetric, trace-free tensor, from the components that `trace_free_flux` stacks."""
    k = grid.derivative_wavenumbers()
    if grid.dimensions == 2:
        (kx, ky), (xx, xy) = k, flux_hat
        return 1j * jnp.stack([kx * xx + ky * xy, kx * xy])
    (kx, ky, kz), (xx, yy, xy, xz, yz) = k, flux_hat
    return 1j * jnp.stack([kx * xx + ky * xy + kz * xz, kx * xy + ky * yy + kz * yz, kx * xz + ky * yz])


def trace_free_flux(u: Array) -> Array:
    """u_i u_j − δ_ij u_d u_d (d the last direction): xx, xy in 2-D; xx, yy, xy, xz, yz in 3-D."""
    if len(u) == 2:
        return jnp.stack([u[0] * u[0] - u[1] * u[1], u[0] * u[1]])
    last = u[2] * u[2]
    return jnp.stack([u[0] * u[0] - last, u[1] * u[1] - last, u[0] * u[1], u[0] * u[2], u[1] * u[2]])


def kolmogorov_length(viscosity: ArrayLike, dissipation: Array) -> Array:
    """η = (ν³/ε)^¼, infinite where nothing is dissipated."""
    return jnp.where(dissipation > 0, (viscosity**3 / jnp.where(dissipation > 0, dissipation, 1)) ** 0.25, jnp.inf)
