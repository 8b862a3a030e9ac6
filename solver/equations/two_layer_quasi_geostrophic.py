"""Two layers of quasi-geostrophic flow under a mean shear: Phillips' model of baroclinic instability."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_product, mean_square, shell_spectrum, weighted_mean_square
from solver.equations.base import Equation, crossings
from solver.equations.budget import Budget, Changes
from solver.equations.damping import hyper_damping, require_damping
from solver.equations.field import Field
from solver.equations.navier_stokes import trace_free_flux
from solver.equations.system import require
from solver.equations.vorticity import flux_curl, stream_velocity
from solver.fft import max_over_points
from solver.operators import Fields, Matrix


class TwoLayerQuasiGeostrophic(Equation):
    """∂_t q_i + J(ψ_i, q_i) ± U ∂_x q_i + (β ± k_d² U) ∂_x ψ_i = −δ_i2 r ∇²ψ_2 − ν_h (−∇²)^p q_i, on a periodic box.

    q_1 = ∇²ψ_1 + ½k_d²(ψ_2 − ψ_1) and q_2 = ∇²ψ_2 + ½k_d²(ψ_1 − ψ_2) are the potential vorticities of two layers of
    equal depth, which flow with +U (the upper one) and −U in the mean. Shear, β, drag and hyperviscosity form one
    complex 2 × 2 matrix per mode, so that waves and baroclinic growth are exact for any step with integrating-factor
    and exponential steppers; some modes with |k| < k_d grow if k_d² |U| > |β|. A right-hand side costs 4 inverse and 5
    forward transforms in two exchanges. Without shear, drag and hyperviscosity both potential enstrophies ½⟨q_i²⟩ are
    conserved, and the energy ¼⟨|∇ψ_1|² + |∇ψ_2|² + ½k_d²(ψ_1 − ψ_2)²⟩.

    Good values: U = 1, k_d = 8 in a box of 2π, β between 0 and k_d² U, r = 0.1 to 1 of U k_d; p = 4 with ν_h k_max^8 of
    the order of the r.m.s. q.

    Args:
        grid: two dimensions, real fields.
        deformation_wavenumber: k_d > 0 [1/length].
        shear: U, half the difference of the mean velocities [length/time], of any sign.
        beta: β, the gradient of the Coriolis parameter along y [1/(length·time)].
        drag: r ≥ 0, of the lower layer [1/time].
        hyperviscosity: ν_h ≥ 0 [length^(2p)/time].
        hyper_order: p, one or more, static.

    Source: Vallis, Atmospheric and Oceanic Fluid Dynamics (2017), sections 5.3 and 9.6; Flierl, Dyn. Atmos. Oceans 2
    (1978) 341.
    """

    deformation_wavenumber: ArrayLike
    shear: ArrayLike = 0.0
    beta: ArrayLike = 0.0
    drag: ArrayLike = 0.0
    hyperviscosity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "two-layer-quasi-geostrophic"
    fields: ClassVar[dict[str, Field]] = {
        "upper_pv": Field(units="1/time", zero_mean=True),
        "lower_pv": Field(units="1/time", zero_mean=True),
    }
    keeps_constraints: ClassVar[bool] = True
    dimensions: ClassVar[tuple[int, ...]] = (2,)
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3.0}
    units: ClassVar[dict[str, str]] = {
        "energy": "length^2/time^2",
        "kinetic_energy": "length^2/time^2",
        "available_energy": "length^2/time^2",
        "upper_enstrophy": "1/time^2",
        "lower_enstrophy": "1/time^2",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        require("deformation_wavenumber", self.deformation_wavenumber, "a positive number", above=0)
        require("drag", self.drag, "zero or more", least=0)
        for name in ("shear", "beta"):
            require(name, getattr(self, name), "a finite number")
        require_damping(self.grid, self.hyper_order, hyperviscosity=self.hyperviscosity)

    def linear(self) -> Matrix:
        k2 = self.grid.k_squared()
        kx = jnp.asarray(self.grid.derivative_wavenumbers()[0])
        own, other = self._inversion()
        steepened = self.deformation_wavenumber**2 * self.shear
        upper, lower = -1j * kx * (self.beta + steepened), -1j * kx * (self.beta - steepened) + self.drag * k2
        carried, lost = -1j * kx * self.shear, -self._damping()
        rows = [
            [upper * own + carried + lost, upper * other],
            [lower * other, lower * own - carried + lost],
        ]
        return Matrix(jnp.stack([jnp.stack(row) for row in rows]), tuple(self.fields))

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−J(ψ_i, q_i) = −J(ψ_i, ∇²ψ_i) ∓ ½k_d² J(ψ_1, ψ_2)."""
        return self._changes(self._products(fields, None))

    def nonlinear_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        products, rate = self._products(fields, _crossings)
        return self._changes(products), rate

    def _products(self, fields: Fields, largest: Any) -> Any:
        spacing = np.asarray(self.grid.spacing)
        return self.transform.pointwise(_products, self._velocities(fields), spacing, largest=largest)

    def _changes(self, products: Array) -> Fields:
        exchange = 0.5 * self.deformation_wavenumber**2 * products[4]
        upper, lower = flux_curl(products[:2], self.grid), flux_curl(products[2:4], self.grid)
        return {"upper_pv": -(upper + exchange)[None], "lower_pv": -(lower - exchange)[None]}

    def energies(self, fields: Fields) -> dict[str, Array]:
        kinetic, available = self._energies_of(fields)
        return {"energy": kinetic + available}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of the energy, −½ Σ ⟨ψ_i · change_i⟩, by shear of the mean flow, drag, hyperviscosity and forcing."""
        psi = self._stream_functions(fields)
        k2 = self.grid.k_squared()
        drag = -0.5 * self.drag * weighted_mean_square(psi[1], k2, self.grid)
        q = self.join(fields)
        hyper = 0.5 * mean_product(psi, self._damping() * q, self.grid)
        given = -0.5 * mean_product(psi, self.join(changes.linear), self.grid)
        forced = [-0.5 * mean_product(psi[i], changes.forcing[n][0], self.grid) for i, n in self._forced(changes)]
        causes = {"shear": given - drag - hyper, "drag": drag, "hyperviscosity": hyper}
        return {"energy": {**causes, "forcing": sum(forced[1:], start=forced[0])} if forced else causes}

    def _damping(self) -> Array:
        """Rate at which hyperviscosity damps each mode [1/time]."""
        return hyper_damping(self.hyperviscosity, self.hyper_order, self.grid)

    def _forced(self, changes: Changes) -> list[tuple[int, str]]:
        return [(i, name) for i, name in enumerate(self.fields) if name in changes.forcing]

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """The energy −¼ Σ⟨ψ_i q_i⟩, and ½⟨q_i²⟩ of each layer."""
        psi = self._stream_functions(fields)
        return {
            "energy": {name: -0.5 * psi[i : i + 1] for i, name in enumerate(self.fields)},
            "upper_enstrophy": {"upper_pv": fields["upper_pv"]},
            "lower_enstrophy": {"lower_pv": fields["lower_pv"]},
        }

    def vectors(self, fields: Fields) -> Fields:
        u = self._velocities(fields)
        return {"upper_velocity": u[:2], "lower_velocity": u[2:]}

    def rate(self, fields: Fields) -> Array:
        """Rate of the fastest flow in either layer, without the mean flow, which is exact."""
        spacing = jnp.asarray(self.grid.spacing, self.grid.dtype)
        return max_over_points(_crossings(self.transform.inverse(self._velocities(fields)), spacing))

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        kinetic, available = self._energies_of(fields)
        return {
            "energy": kinetic + available,
            "kinetic_energy": kinetic,
            "available_energy": available,
            "upper_enstrophy": 0.5 * mean_square(fields["upper_pv"], self.grid),
            "lower_enstrophy": 0.5 * mean_square(fields["lower_pv"], self.grid),
            "cfl": dt * self.rate(fields),
        }

    def spectra(self, fields: Fields) -> dict[str, Array]:
        """The spectrum of the kinetic energy, mean of both layers."""
        return {"kinetic_energy": 0.5 * shell_spectrum(self._velocities(fields), self.grid)}

    def _inversion(self) -> tuple[Array, Array]:
        """ψ_i = own · q_i + other · q_j, with zero means."""
        k2, stretching = self.grid.k_squared(), 0.5 * self.deformation_wavenumber**2
        inverse = -self.grid.inverse_k_squared() / (k2 + 2 * stretching)
        return (k2 + stretching) * inverse, stretching * inverse

    def _stream_functions(self, fields: Fields) -> Array:
        own, other = self._inversion()
        q = self.join(fields)
        return own * q + other * q[::-1]

    def _velocities(self, fields: Fields) -> Array:
        """Coefficients of (u, v) of the upper layer, and of the lower one."""
        psi = self._stream_functions(fields)
        return jnp.concatenate([stream_velocity(psi_hat, self.grid) for psi_hat in psi])

    def _energies_of(self, fields: Fields) -> tuple[Array, Array]:
        """¼⟨|∇ψ_1|² + |∇ψ_2|²⟩ and ⅛k_d²⟨(ψ_1 − ψ_2)²⟩."""
        psi = self._stream_functions(fields)
        kinetic = 0.25 * weighted_mean_square(psi, self.grid.k_squared(), self.grid)
        return kinetic, 0.125 * self.deformation_wavenumber**2 * mean_square(psi[0] - psi[1], self.grid)


def _crossings(u: Array, spacing: Array) -> Array:
    return jnp.maximum(crossings(u[:2], spacing), crossings(u[2:], spacing))


def _products(u: Array, spacing: Array) -> Array:
    """u² − v² and u v of both layers, and J(ψ_1, ψ_2) = u_1 v_2 − v_1 u_2."""
    exchange = u[0] * u[3] - u[1] * u[2]
    return jnp.concatenate([trace_free_flux(u[:2]), trace_free_flux(u[2:]), exchange[None]])
