"""The surface quasi-geostrophic equation: buoyancy on the boundary of a rotating, stratified fluid."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import shell_spectrum, weighted_mean_square
from solver.equations.base import Equation, advection_rate, crossings
from solver.equations.budget import Budget, Changes
from solver.equations.damping import require_power
from solver.equations.field import Field
from solver.equations.system import require
from solver.equations.vorticity import stream_velocity
from solver.operators import Diagonal, Fields, divergence, gradient


class SurfaceQuasiGeostrophic(Equation):
    """θ_t + u·∇θ = −κ(−∇²)^α θ,  u = (−ψ_y, ψ_x),  ψ = (−∇²)^−½ θ, on a periodic box.

    θ, the buoyancy at the surface over the buoyancy frequency, is a velocity, and as large as u at every scale: fronts
    sharpen and roll up down to the smallest scales. Diffusion, of any power, is the linear part; the rest costs 3
    inverse and 2 forward transforms per right-hand side in two exchanges. Without diffusion the variance ½⟨θ²⟩ and the
    energy ½⟨ψθ⟩ are conserved.

    Good values: α = 1 (diffusion), ½ (Ekman friction, the critical case) or 4 (turbulence), κ such that κ k_max^(2α) is
    about k_max times the r.m.s. velocity: 1e-13 with α = 4 at 256² in a box of 2π for velocities of order one.

    Args:
        grid: two dimensions, real fields.
        diffusivity: κ ≥ 0 [length^(2α)/time].
        exponent: α > 0, need not be whole.

    Raises:
        ValueError: a diffusion κ|k|^(2α) that the grid's precision cannot hold.

    Source: Held, Pierrehumbert, Garner & Swanson, J. Fluid Mech. 282 (1995) 1; Constantin, Majda & Tabak, Nonlinearity
    7 (1994) 1495.
    """

    diffusivity: ArrayLike = 0.0
    exponent: ArrayLike = 1.0

    name: ClassVar[str] = "surface-quasi-geostrophic"
    fields: ClassVar[dict[str, Field]] = {"buoyancy": Field(units="length/time")}
    dimensions: ClassVar[tuple[int, ...]] = (2,)
    spectrum_laws: ClassVar[dict[int, float]] = {2: 5 / 3}
    units: ClassVar[dict[str, str]] = {
        "variance": "length^2/time^2",
        "energy": "length^3/time^2",
        "max_slope": "1/time",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        require("exponent", self.exponent, "a positive number", above=0)
        require_power(self.grid, "exponent", self.exponent, diffusivity=self.diffusivity)

    def linear(self) -> Diagonal:
        return Diagonal({"buoyancy": -self._damping()})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−∇·(u θ)."""
        return {"buoyancy": -divergence(self._flux(fields, None), self.grid)[None]}

    def nonlinear_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        flux_hat, rate = self._flux(fields, _crossings)
        return {"buoyancy": -divergence(flux_hat, self.grid)[None]}, rate

    def _flux(self, fields: Fields, largest: Any) -> Any:
        q = jnp.concatenate([fields["buoyancy"], self._velocity(fields)])
        return self.transform.pointwise(_flux, q, np.asarray(self.grid.spacing), largest=largest)

    def energies(self, fields: Fields) -> dict[str, Array]:
        return {name: 0.5 * self._mean_square(fields, weight) for name, weight in self._weights().items()}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of variance and energy by diffusion and forcing."""
        damping = self._damping()
        return {
            name: {
                "diffusion": -self._mean_square(fields, weight * damping),
                **self.power_of_forcing({n: weight * f for n, f in fields.items()}, changes, "buoyancy"),
            }
            for name, weight in self._weights().items()
        }

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """½⟨θ²⟩ and ½⟨ψθ⟩."""
        return {name: {"buoyancy": weight * fields["buoyancy"]} for name, weight in self._weights().items()}

    def vectors(self, fields: Fields) -> Fields:
        return {"velocity": self._velocity(fields)}

    def rate(self, fields: Fields) -> Array:
        return advection_rate(self.transform.inverse(self._velocity(fields)), self.grid)

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        slope = self.transform.inverse(gradient(fields["buoyancy"][0], self.grid))
        return {
            **self.energies(fields),
            "max_slope": jnp.sqrt(jnp.max(jnp.sum(slope * slope, axis=0))),
            "cfl": dt * self.rate(fields),
        }

    def spectra(self, fields: Fields) -> dict[str, Array]:
        """The spectrum of ½⟨θ²⟩, which is the kinetic energy at the surface."""
        return {"variance": shell_spectrum(fields["buoyancy"], self.grid)}

    def _damping(self) -> Array:
        """κ|k|^(2α), formed as κ K^(2α) (|k|/K)^(2α) with K the largest |k|: see `damping.hyper_damping`."""
        k2 = self.grid.k_squared()
        safe = jnp.where(k2 > 0, k2 / self.grid.k_corner**2, 1)  # the derivative of 0^α in α is not finite
        strongest = self.diffusivity * self.grid.k_corner ** (2 * self.exponent)
        return jnp.where(k2 > 0, jnp.asarray(strongest, self.grid.dtype) * safe**self.exponent, 0)

    def _weights(self) -> dict[str, Array]:
        """Weight of |θ̂|² in twice each conserved quantity."""
        return {"variance": jnp.ones_like(self.grid.k_squared()), "energy": jnp.sqrt(self.grid.inverse_k_squared())}

    def _mean_square(self, fields: Fields, weight: Array) -> Array:
        return weighted_mean_square(fields["buoyancy"], weight, self.grid)

    def _velocity(self, fields: Fields) -> Array:
        """Coefficients of (u, v)."""
        return stream_velocity(fields["buoyancy"][0] * jnp.sqrt(self.grid.inverse_k_squared()), self.grid)


def _crossings(q: Array, spacing: Array) -> Array:
    return crossings(q[1:], spacing)


def _flux(q: Array, spacing: Array) -> Array:
    """u θ and v θ, from (θ, u, v) stacked."""
    return q[1:] * q[:1]
