"""Incompressible Navier–Stokes in two and three dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_product, mean_square, shell_spectrum, weighted_mean_square
from solver.equations.base import Equation, advection_rate, crossings
from solver.equations.budget import Budget, Changes
from solver.equations.field import Field, MoreFields
from solver.equations.system import require
from solver.grid import Grid
from solver.operators import Diagonal, Fields, components, curl, divergence, project_solenoidal


def _nested(gradients: Iterable[Iterable[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(gradient) for gradient in gradients)


class NavierStokes(Equation):
    """u_t + ∇·(u u) = −∇p + ν ∇²u, ∇·u = 0, on a periodic box.

    The momentum flux u_i u_j enters without its trace, which only changes the pressure: in 3-D five products
    instead of six, so that a right-hand side costs 3 inverse and 5 forward transforms of real fields in two
    exchanges (2 and 2 in 2-D). With two-thirds dealiasing every retained mode is free of aliasing.

    With passive scalars, c_t + ∇·(u c) = κ∇²c − G·u for each: κ its diffusivity, G the constant gradient of its mean.
    Each costs one inverse and three forward transforms more (2 in 2-D), in the same two exchanges.

    Args:
        grid: two or three dimensions, real fields.
        viscosity: kinematic viscosity ν ≥ 0 [length²/time].
        scalars: names of passive scalars; each is a field of its own.
        diffusivities: κ ≥ 0 of each [length²/time].
        mean_gradients: G of each, one number for each direction [1/length]; none if empty.

    Source: Basdevant, J. Comput. Phys. 50 (1983) 209 (fewer transforms); Canuto et al. (2007).
    """

    viscosity: ArrayLike
    scalars: tuple[str, ...] = eqx.field(default=(), static=True, converter=tuple)
    diffusivities: tuple[ArrayLike, ...] = eqx.field(default=(), converter=tuple)
    mean_gradients: tuple[tuple[ArrayLike, ...], ...] = eqx.field(default=(), converter=_nested)

    name: ClassVar[str] = "navier-stokes"
    fields: ClassVar[Any] = MoreFields(
        {"velocity": Field("vector", "length/time", solenoidal=True)}, by="scalars", each=Field()
    )
    keeps_constraints: ClassVar[bool] = True
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3.0, 3: 5 / 3}
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
        require("diffusivities", self.diffusivities, "zero or more", least=0)
        require("mean_gradients", self.mean_gradients, "finite numbers")
        count, d = len(self.scalars), self.grid.dimensions
        taken = {"velocity", *self.units}
        if len(set(self.scalars)) < count or taken & set(self.scalars) or "" in self.scalars:
            raise ValueError(
                f"scalars {self.scalars}: names are needed that differ, none of {', '.join(sorted(taken))}"
            )
        if len(self.diffusivities) != count:
            raise ValueError(f"diffusivities {self.diffusivities}: {count} are needed, one for each scalar")
        if self.mean_gradients and [len(gradient) for gradient in self.mean_gradients] != [d] * count:
            raise ValueError(
                f"mean_gradients {self.mean_gradients}: {d} numbers are needed for each of {count} scalars"
            )

    def linear(self) -> Diagonal:
        coefficients = dict(zip(self.fields, (self.viscosity, *self.diffusivities), strict=True))
        return Diagonal({name: -value * self.grid.k_squared() for name, value in coefficients.items()})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−P[∇·(u u)], P the Leray projection; −∇·(u c) − G·u of each scalar."""
        return self._changes(fields, self._products(fields, None))

    def nonlinear_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        products, rate = self._products(fields, _crossings if self.scalars else crossings)
        return self._changes(fields, products), rate

    def _products(self, fields: Fields, largest: Any) -> Any:
        """Coefficients of u_i u_j without its trace, and of u_i c."""
        u_hat, spacing = fields["velocity"], np.asarray(self.grid.spacing)
        if not self.scalars:
            return self.transform.pointwise(flux_of_velocity, u_hat, spacing, largest=largest)
        carried = jnp.concatenate([fields[name] for name in self.scalars])
        return self.transform.pointwise(_fluxes, {"velocity": u_hat, "scalars": carried}, spacing, largest=largest)

    def _changes(self, fields: Fields, products: Any) -> Fields:
        flux_hat = products["momentum"] if self.scalars else products
        changes = {"velocity": -project_solenoidal(flux_divergence(flux_hat, self.grid), self.grid)}
        if not self.scalars:
            return changes
        carried = products["carried"].reshape(len(self.scalars), self.grid.dimensions, *self.grid.spectral_shape)
        for i, name in enumerate(self.scalars):
            changes[name] = -divergence(carried[i], self.grid)[None]
            if self.mean_gradients:
                along = zip(self.mean_gradients[i], fields["velocity"], strict=True)
                changes[name] = changes[name] - sum(g * u for g, u in along)[None]
        return changes

    def energies(self, fields: Fields) -> dict[str, Array]:
        variances = {f"{name}_variance": mean_square(fields[name], self.grid) for name in self.scalars}
        return {**super().energies(fields), **variances}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of the energy by viscosity and forcing, and of a scalar's variance by diffusion, by its mean gradient
        (−2 G·⟨u c⟩) and by forcing. Advection and pressure change no energy where no product is aliased."""
        viscosity = -self.viscosity * weighted_mean_square(fields["velocity"], self.grid.k_squared(), self.grid)
        budget = {"energy": {"viscosity": viscosity, **self.power_of_forcing(fields, changes, "velocity")}}
        for i, name in enumerate(self.scalars):
            causes = {"diffusion": self.power(fields, changes.linear, name)}
            if self.mean_gradients:
                along = zip(self.mean_gradients[i], fields["velocity"], strict=True)
                causes["gradient"] = -sum(g * mean_product(u, fields[name][0], self.grid) for g, u in along)
            causes |= self.power_of_forcing(fields, changes, name)
            budget[f"{name}_variance"] = {cause: 2 * power for cause, power in causes.items()}
        return budget

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """½⟨|u|²⟩; in 3-D the helicity ⟨u·ω⟩, in 2-D the enstrophy ½⟨ω²⟩; ⟨c²⟩ of each scalar."""
        of_velocity = flow_invariants(fields["velocity"], self.grid)
        return {**of_velocity, **{f"{name}_variance": {name: 2 * fields[name]} for name in self.scalars}}

    def invariant_units(self) -> dict[str, str]:
        return {**self.series_units(), "helicity": "length/time^2"}

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
            **{f"{name}_variance": mean_square(fields[name], self.grid) for name in self.scalars},
        }

    def series_units(self) -> dict[str, str]:
        return {**self.units, **{f"{name}_variance": "1" for name in self.scalars}}

    def spectra(self, fields: Fields) -> dict[str, Array]:
        """½|û|² of the velocity, |ĉ|² of each scalar: their sums are the energy and the variances."""
        variances = {f"{name}_variance": 2 * shell_spectrum(fields[name], self.grid) for name in self.scalars}
        return {"energy": shell_spectrum(fields["velocity"], self.grid), **variances}

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


def flux_of_velocity(u: Array, spacing: Array) -> Array:
    """`trace_free_flux`; the spacing is there for `crossings` beside it."""
    return trace_free_flux(u)


def _crossings(q: Fields, spacing: Array) -> Array:
    return crossings(q["velocity"], spacing)


def _fluxes(q: Fields, spacing: Array) -> Fields:
    """u_i u_j without its trace, and u_i c of each scalar c, scalars after one another."""
    u, c = q["velocity"], q["scalars"]
    carried = (c[:, None] * u[None]).reshape(-1, *u.shape[1:])
    return {"momentum": trace_free_flux(u), "carried": carried}


def flow_invariants(u_hat: Array, grid: Grid) -> dict[str, Fields]:
    """Energy, and helicity in 3-D or enstrophy in 2-D, of a solenoidal velocity: see `Equation.invariants`."""
    energy: dict[str, Fields] = {"energy": {"velocity": u_hat}}
    if grid.dimensions == 3:
        return {**energy, "helicity": {"velocity": 2 * curl(u_hat, grid)}}
    return {**energy, "enstrophy": {"velocity": grid.k_squared() * u_hat}}


def mean_enstrophy(u_hat: Array, grid: Grid) -> Array:
    """½⟨|∇×u|²⟩ = ½ Σ (|k|²|û|² − |k·û|²). All-reduces only."""
    k2 = sum(k * k for k in map(jnp.asarray, grid.derivative_wavenumbers()))
    compressible = mean_square(divergence(u_hat, grid), grid)
    return 0.5 * (weighted_mean_square(u_hat, k2, grid) - compressible)


def flux_divergence(flux_hat: Array, grid: Grid) -> Array:
    """i k_j T̂_ij of a symmetric, trace-free tensor, from the components that `trace_free_flux` stacks."""
    k = grid.derivative_wavenumbers()
    if grid.dimensions == 2:
        (kx, ky), (xx, xy) = k, components(flux_hat)
        return 1j * jnp.stack([kx * xx + ky * xy, kx * xy])
    (kx, ky, kz), (xx, yy, xy, xz, yz) = k, components(flux_hat)
    return 1j * jnp.stack([kx * xx + ky * xy + kz * xz, kx * xy + ky * yy + kz * yz, kx * xz + ky * yz])


def trace_free_flux(u: Array) -> Array:
    """u_i u_j − δ_ij u_d u_d (d the last direction): xx, xy in 2-D; xx, yy, xy, xz, yz in 3-D."""
    if len(u) == 2:
        x, y = components(u)
        return jnp.stack([x * x - y * y, x * y])
    x, y, z = components(u)
    last = z * z
    return jnp.stack([x * x - last, y * y - last, x * y, x * z, y * z])


def kolmogorov_length(viscosity: ArrayLike, dissipation: Array) -> Array:
    """η = (ν³/ε)^¼, infinite where nothing is dissipated."""
    return jnp.where(dissipation > 0, (viscosity**3 / jnp.where(dissipation > 0, dissipation, 1)) ** 0.25, jnp.inf)
