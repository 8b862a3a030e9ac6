"""Incompressible magnetohydrodynamics in two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_product, mean_square, weighted_mean_square
from solver.equations.base import Equation, crossings
from solver.equations.budget import Budget, Changes, dissipation
from solver.equations.damping import damping, require_damping
from solver.equations.field import Field
from solver.equations.navier_stokes import flux_divergence, trace_free_flux
from solver.equations.system import require
from solver.fft import max_over_points
from solver.grid import Grid
from solver.operators import Diagonal, Fields, LinearOperator, Matrix, curl, divergence, project_solenoidal

Vector: TypeAlias = Sequence[float] | Array


class MHD(Equation):
    """u_t = −∇·(u u − b b) − ∇p + B₀·∇b + ν∇²u,  b_t = ∇×(u × b) + B₀·∇u + η∇²b,  ∇·u = ∇·b = 0, periodic.

    Alfvén units: b and B₀ are velocities. A constant mean field B₀ couples u and b by one matrix per mode, so that
    Alfvén waves ω = ±k·B₀ are exact for any step with integrating-factor and exponential steppers. In 3-D a
    right-hand side costs 6 inverse and 8 forward transforms in two exchanges (4 and 3 in 2-D). Ideal flow conserves
    the energy ½⟨|u|² + |b|²⟩, the cross-helicity ⟨u·b⟩ and, without mean field, in 3-D the magnetic helicity ⟨a·b⟩
    and in 2-D the mean square ⟨a²⟩ of the potential. Hyperviscosity, −ν_h(−∇²)^p u and −η_h(−∇²)^p b, may stand beside
    viscosity and resistivity, or for them.

    Good values: ν = η (magnetic Prandtl number 1); the Orszag–Tang vortex at 128², ν = η = 0.01.

    Args:
        grid: two or three dimensions, real fields.
        viscosity: ν ≥ 0 [length²/time].
        resistivity: η ≥ 0 [length²/time].
        mean_field: B₀, one number for each direction [length/time]; none if None.
        hyperviscosity: ν_h ≥ 0 [length^(2p)/time]; series and budget count it as viscosity.
        hyperresistivity: η_h ≥ 0 [length^(2p)/time]; series and budget count it as resistivity.
        hyper_order: p, one or more, static.

    Source: Biskamp, Magnetohydrodynamic Turbulence (2003), chapter 2.
    """

    viscosity: ArrayLike
    resistivity: ArrayLike
    mean_field: Vector | None = None
    hyperviscosity: ArrayLike = 0.0
    hyperresistivity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "mhd"
    fields: ClassVar[dict[str, Field]] = {
        "velocity": Field("vector", "length/time", solenoidal=True),
        "magnetic_field": Field("vector", "length/time", solenoidal=True),
    }
    keeps_constraints: ClassVar[bool] = True
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3 / 2, 3: 5 / 3}
    units: ClassVar[dict[str, str]] = {
        "kinetic_energy": "length^2/time^2",
        "magnetic_energy": "length^2/time^2",
        "cross_helicity": "length^2/time^2",
        "dissipation": "length^2/time^3",
        "max_divergence": "1/time",
        "cfl": "1",
    }
    budgeted: ClassVar[dict[str, str]] = {"kinetic_energy": "velocity", "magnetic_energy": "magnetic_field"}

    def __check_init__(self) -> None:
        for name in ("viscosity", "resistivity"):
            require(name, getattr(self, name), "zero or more", least=0)
        require_damping(
            self.grid, self.hyper_order, hyperviscosity=self.hyperviscosity, hyperresistivity=self.hyperresistivity
        )
        require("mean_field", self.mean_field, "finite numbers")
        if self.mean_field is not None and np.shape(self.mean_field) != (self.grid.dimensions,):
            raise ValueError(f"mean_field {self.mean_field}: {self.grid.dimensions} numbers are needed")

    def linear(self) -> LinearOperator:
        viscous, resistive = (-rate for rate in self._damping().values())
        if self.mean_field is None:
            return Diagonal({"velocity": viscous, "magnetic_field": resistive})
        k = self.grid.derivative_wavenumbers()
        along = 1j * sum(self.mean_field[i] * k[i] for i in range(len(k)))
        along = jnp.broadcast_to(along, self.grid.spectral_shape)
        rows = [[viscous + 0 * along, along], [along, resistive + 0 * along]]
        return Matrix(jnp.stack([jnp.stack(row) for row in rows]), tuple(self.fields), couples="fields")

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−P[∇·(u u − b b)] and ∇×(u × b)."""
        return self._changes(self._products(fields, None))

    def nonlinear_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        products, rate = self._products(fields, _crossings)
        return self._changes(products), rate

    def _products(self, fields: Fields, largest: Any) -> Any:
        """Coefficients of the stress and of the electromotive force."""
        return self.transform.pointwise(_products, self.join(fields), self._numbers(), largest=largest)

    def _numbers(self) -> dict[str, Any]:
        """The numbers that `_crossings` needs beside the fields."""
        mean = [0.0] * self.grid.dimensions if self.mean_field is None else self.mean_field
        mean = jnp.stack([jnp.asarray(b, self.grid.dtype) for b in mean])
        return {"spacing": jnp.asarray(self.grid.spacing, self.grid.dtype), "mean_field": mean}

    def _changes(self, products: Array) -> Fields:
        d = self.grid.dimensions
        stress_hat, emf_hat = (products[:5], products[5:]) if d == 3 else (products[:2], products[2:])
        momentum = flux_divergence(stress_hat, self.grid)
        if d == 3:
            induction = curl(emf_hat, self.grid)
        else:  # the field out of the plane has a curl in the plane
            kx, ky = self.grid.derivative_wavenumbers()
            induction = 1j * jnp.stack([ky * emf_hat[0], -kx * emf_hat[0]])
        return {"velocity": -project_solenoidal(momentum, self.grid), "magnetic_field": induction}

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """½⟨|u|² + |b|²⟩, ⟨u·b⟩ and, in 3-D, ⟨a·b⟩ with b = ∇×a; in 2-D ⟨a²⟩ with b = ∇×(a ẑ).

        The nonlinear term conserves the last one where the field b has no mean.
        """
        u_hat, b_hat = fields["velocity"], fields["magnetic_field"]
        turned = curl(b_hat, self.grid) if self.grid.dimensions == 3 else b_hat
        potential = 2 * self.grid.inverse_k_squared() * turned
        third = "magnetic_helicity" if self.grid.dimensions == 3 else "squared_potential"
        return {
            "energy": dict(fields),
            "cross_helicity": {"velocity": b_hat, "magnetic_field": u_hat},
            third: {"magnetic_field": potential},
        }

    def invariant_units(self) -> dict[str, str]:
        energy = "length^2/time^2"
        helicities = {"magnetic_helicity": "length^3/time^2", "squared_potential": "length^4/time^2"}
        return {"energy": energy, "cross_helicity": energy, **helicities}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of the energies by viscosity, resistivity, forcing, and the `exchange` between flow and field."""
        lost_by = dissipation(fields, self._damping(), self.grid)
        budget = {}
        for (column, name), cause in zip(self.budgeted.items(), ("viscosity", "resistivity"), strict=True):
            lost = -lost_by[name]
            inner = self.power(fields, changes.linear, name) + self.power(fields, changes.nonlinear, name)
            budget[column] = {cause: lost, "exchange": inner - lost, **self.power_of_forcing(fields, changes, name)}
        return budget

    def _damping(self) -> dict[str, Array]:
        """Rate at which each mode of velocity and magnetic field is damped [1/time]."""
        return {
            "velocity": damping(self.viscosity, self.hyperviscosity, self.hyper_order, self.grid),
            "magnetic_field": damping(self.resistivity, self.hyperresistivity, self.hyper_order, self.grid),
        }

    def rate(self, fields: Fields) -> Array:
        """Rate of the flow and of the Alfvén waves along the whole magnetic field."""
        return max_over_points(_crossings(self.transform.inverse(self.join(fields)), self._numbers()))

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        grid = self.grid
        u_hat, b_hat = fields["velocity"], fields["magnetic_field"]
        spread = jnp.stack([divergence(u_hat, grid), divergence(b_hat, grid)])
        return {
            "kinetic_energy": 0.5 * mean_square(u_hat, grid),
            "magnetic_energy": 0.5 * mean_square(b_hat, grid),
            "cross_helicity": mean_product(u_hat, b_hat, grid),
            "dissipation": sum(dissipation(fields, self._damping(), grid).values()),
            "max_divergence": jnp.max(jnp.abs(self.transform.inverse(spread))),
            "cfl": dt * self.rate(fields),
        }


def magnetic_helicity(b_hat: Array, grid: Grid) -> Array:
    """⟨a·b⟩ in 3-D, with b = ∇×a and ∇·a = 0; ⟨a²⟩ of b = ∇×(a ẑ) in 2-D. One all-reduce."""
    if grid.dimensions == 2:
        return weighted_mean_square(b_hat, grid.inverse_k_squared(), grid)
    a_hat = curl(b_hat, grid) * grid.inverse_k_squared()
    return mean_product(a_hat, b_hat, grid)


def _crossings(q: Array, numbers: dict[str, Array]) -> Array:
    """Σ_i (|u_i| + |b_i| + |b_0i|)/Δx_i at each point."""
    d = len(q) // 2
    speeds = [abs(q[i]) + abs(q[d + i]) + abs(numbers["mean_field"][i]) for i in range(d)]
    return crossings(speeds, numbers["spacing"])


def _products(q: Array, numbers: dict[str, Array]) -> Array:
    """u_i u_j − b_i b_j without its trace, and u × b, from (u, b) stacked."""
    d = len(q) // 2
    u, b = q[:d], q[d:]
    stress = trace_free_flux(u) - trace_free_flux(b)
    if d == 2:
        emf = (u[0] * b[1] - u[1] * b[0])[None]
    else:
        emf = jnp.stack([u[1] * b[2] - u[2] * b[1], u[2] * b[0] - u[0] * b[2], u[0] * b[1] - u[1] * b[0]])
    return jnp.concatenate([stress, emf])
