"""Rotating, stratified flow in the Boussinesq approximation, in three dimensions and in a vertical plane."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_product, mean_square
from solver.equations.base import Equation, advection_rate, crossings
from solver.equations.budget import Budget, Changes, dissipation
from solver.equations.damping import damping, require_damping
from solver.equations.field import Field
from solver.equations.navier_stokes import flux_divergence, mean_enstrophy, trace_free_flux
from solver.equations.system import require
from solver.grid import Grid
from solver.operators import Fields, Matrix, divergence, project_solenoidal


class Boussinesq(Equation):
    """u_t + ∇·(u u) + f ẑ×u = −∇p + b ẑ + ν∇²u,  b_t + ∇·(u b) = −N² w + κ∇²b,  ∇·u = 0, on a periodic box.

    Hyperviscosity, −ν_h(−∇²)^p u and −κ_h(−∇²)^p b, may stand beside viscosity and diffusion, or for them.

    b is the buoyancy, N its frequency, f the Coriolis parameter; ẑ is the last direction. Rotation, stratification,
    pressure and diffusion form one small real matrix per mode, so that inertial and internal gravity waves,
    ω² = (N² k_h² + f² k_z²)/k², are exact for any step with integrating-factor and exponential steppers. In 3-D a
    right-hand side costs 4 inverse and 8 forward transforms in two exchanges (3 and 4 in 2-D).

    Good values: N/f from 1 to 100; a Froude number U/(N L) of 0.01 to 0.1 for strong stratification.

    Args:
        grid: two (x, z) or three dimensions, real fields.
        viscosity: ν ≥ 0 [length²/time].
        diffusivity: κ ≥ 0 of buoyancy [length²/time].
        buoyancy_frequency: N ≥ 0 [1/time].
        rotation: f, the Coriolis parameter, about z [1/time]; 0 in two dimensions.
        hyperviscosity: ν_h ≥ 0 [length^(2p)/time]; the budget counts it as viscosity.
        hyperdiffusivity: κ_h ≥ 0 of buoyancy [length^(2p)/time]; the budget counts it as diffusivity.
        hyper_order: p, one or more, static.

    Source: Vallis, Atmospheric and Oceanic Fluid Dynamics (2017), chapters 2 and 7.
    """

    viscosity: ArrayLike
    diffusivity: ArrayLike
    buoyancy_frequency: ArrayLike = 0.0
    rotation: ArrayLike = 0.0
    hyperviscosity: ArrayLike = 0.0
    hyperdiffusivity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "boussinesq"
    fields: ClassVar[dict[str, Field]] = {
        "velocity": Field("vector", "length/time", solenoidal=True),
        "buoyancy": Field("scalar", "length/time^2"),
    }
    keeps_constraints: ClassVar[bool] = True
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    spectrum_laws: ClassVar[dict[int, float]] = {3: 5 / 3}
    units: ClassVar[dict[str, str]] = {
        "kinetic_energy": "length^2/time^2",
        "buoyancy_variance": "length^2/time^4",
        "enstrophy": "1/time^2",
        "buoyancy_flux": "length^2/time^3",
        "max_divergence": "1/time",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        for name in ("viscosity", "diffusivity", "buoyancy_frequency"):
            require(name, getattr(self, name), "zero or more", least=0)
        require_damping(
            self.grid, self.hyper_order, hyperviscosity=self.hyperviscosity, hyperdiffusivity=self.hyperdiffusivity
        )
        require("rotation", self.rotation, "a finite number")
        if self.grid.dimensions == 2 and not (isinstance(self.rotation, int | float) and self.rotation == 0):
            raise ValueError(f"rotation {self.rotation} in two dimensions: 0 is needed, there is no third component")

    def linear(self) -> Matrix:
        d, grid = self.grid.dimensions, self.grid
        ones, zeros = jnp.ones(grid.spectral_shape, grid.dtype), jnp.zeros(grid.spectral_shape, grid.dtype)
        force = [[zeros] * (d + 1) for _ in range(d)]  # acceleration of each direction by (u, b)
        force[d - 1][d] = ones
        if d == 3:
            force[0][1], force[1][0] = self.rotation * ones, -self.rotation * ones
        columns = [_projected([row[j] for row in force], grid) for j in range(d + 1)]
        viscous, diffusive = self._damping().values()
        rows = [[columns[j][i] - (viscous if i == j else 0) for j in range(d + 1)] for i in range(d)]
        lift = [zeros] * (d - 1) + [-(self.buoyancy_frequency**2) * ones]
        rows.append([*lift, -diffusive])
        return Matrix(jnp.stack([jnp.stack(row) for row in rows]), tuple(self.fields))

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−P[∇·(u u)] and −∇·(u b)."""
        return self._changes(self._products(fields, None))

    def nonlinear_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        flux_hat, rate = self._products(fields, _crossings)
        return self._changes(flux_hat), rate

    def _products(self, fields: Fields, largest: Any) -> Any:
        return self.transform.pointwise(_fluxes, self.join(fields), np.asarray(self.grid.spacing), largest=largest)

    def _changes(self, flux_hat: Array) -> Fields:
        d = self.grid.dimensions
        momentum = flux_divergence(flux_hat[:-d], self.grid)
        return {
            "velocity": -project_solenoidal(momentum, self.grid),
            "buoyancy": -divergence(flux_hat[-d:], self.grid)[None],
        }

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """The kinetic energy ½⟨|u|²⟩ and the potential one ½⟨b²⟩/N², ½⟨b²⟩ where N = 0."""
        squared = jnp.asarray(self.buoyancy_frequency) ** 2
        weight = 1 / jnp.where(squared > 0, squared, 1)
        return {
            "kinetic": {"velocity": fields["velocity"]},
            "potential": {"buoyancy": weight * fields["buoyancy"]},
        }

    def invariant_units(self) -> dict[str, str]:
        return {"kinetic": "length^2/time^2", "potential": "length^2/time^2"}

    def exchanges(self, fields: Fields) -> dict[str, tuple[Array, Array]]:
        """The buoyancy flux ⟨w b⟩: what kinetic energy gains per time, and potential energy loses (N > 0)."""
        return {"exchange": (fields["velocity"][-1], fields["buoyancy"][0])}

    def energies(self, fields: Fields) -> dict[str, Array]:
        return {
            "kinetic_energy": 0.5 * mean_square(fields["velocity"], self.grid),
            "buoyancy_variance": mean_square(fields["buoyancy"], self.grid),
        }

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes by viscosity, diffusivity, forcing, the buoyancy flux ⟨w b⟩, and the stratification (−2N² ⟨w b⟩)."""
        viscous, diffusive = dissipation(fields, self._damping(), self.grid).values()
        flux = self._buoyancy_flux(fields)
        forced = {name: self.power_of_forcing(fields, changes, name) for name in fields}
        return {
            "kinetic_energy": {
                "viscosity": -viscous,
                "buoyancy": flux,
                **forced["velocity"],
            },
            "buoyancy_variance": {
                "diffusivity": -2 * diffusive,
                "stratification": -2 * self.buoyancy_frequency**2 * flux,
                **{cause: 2 * power for cause, power in forced["buoyancy"].items()},
            },
        }

    def _damping(self) -> dict[str, Array]:
        """Rate at which each mode of velocity and buoyancy is damped [1/time]."""
        return {
            "velocity": damping(self.viscosity, self.hyperviscosity, self.hyper_order, self.grid),
            "buoyancy": damping(self.diffusivity, self.hyperdiffusivity, self.hyper_order, self.grid),
        }

    def _buoyancy_flux(self, fields: Fields) -> Array:
        return mean_product(fields["velocity"][-1], fields["buoyancy"][0], self.grid)

    def rate(self, fields: Fields) -> Array:
        return advection_rate(self.transform.inverse(fields["velocity"]), self.grid)

    def error_scales(self, sizes: Fields) -> Fields:
        """Buoyancy and velocity count alike in energy: errors of b are relative to ‖b‖ or N‖u‖, whichever is larger."""
        driven = self.buoyancy_frequency * sizes["velocity"]
        return {**sizes, "buoyancy": jnp.maximum(sizes["buoyancy"], driven)}

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        u_hat, b_hat = fields["velocity"], fields["buoyancy"]
        return {
            "kinetic_energy": 0.5 * mean_square(u_hat, self.grid),
            "buoyancy_variance": mean_square(b_hat, self.grid),
            "enstrophy": mean_enstrophy(u_hat, self.grid),
            "buoyancy_flux": self._buoyancy_flux(fields),
            "max_divergence": jnp.max(jnp.abs(self.transform.inverse(divergence(u_hat, self.grid)))),
            "cfl": dt * self.rate(fields),
        }


def _projected(column: list[Array], grid: Grid) -> Array:
    return project_solenoidal(jnp.stack(column), grid)


def _crossings(q: Array, spacing: Array) -> Array:
    return crossings(q[:-1], spacing)


def _fluxes(q: Array, spacing: Array) -> Array:
    """u_i u_j without its trace, and u_i b, from (u, b) stacked."""
    u, b = q[:-1], q[-1]
    return jnp.concatenate([trace_free_flux(u), u * b])
