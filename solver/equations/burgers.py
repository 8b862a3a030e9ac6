"""Burgers' equation in one, two and three dimensions."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, weighted_mean_square
from solver.equations.base import Equation, advection_rate, crossings
from solver.equations.field import Field
from solver.equations.system import require
from solver.operators import Diagonal, Fields, curl, gradient


class Burgers(Equation):
    """u_t + (u·∇)u = ν∇²u, on a periodic box.

    Diffusion is the linear part. In one dimension the nonlinearity is ½(u²)_x: one inverse transform and one forward
    per right-hand side. In 2-D and 3-D it is ∇½|u|² + ω×u with ω = ∇×u: 3 inverse and 3 forward transforms in 2-D, 6
    and 4 in 3-D. With two-thirds dealiasing every retained mode is free of aliasing. A flow without vorticity keeps
    none: it is the gradient −2ν∇ln θ of a solution of θ_t = ν∇²θ (Cole and Hopf).

    Good values: u of order 1 on a scale of 1 with ν from 0.005 to 0.1. A shock between −U and U is tanh(x/δ) with
    δ = 2ν/U; it is resolved where k_max·δ is above 2.

    Args:
        grid: one to three dimensions, real fields.
        viscosity: ν ≥ 0 [length²/time].

    Source: Burgers, Adv. Appl. Mech. 1 (1948) 171; Hopf, Commun. Pure Appl. Math. 3 (1950) 201; Cole, Quart. Appl.
    Math. 9 (1951) 225.
    """

    viscosity: ArrayLike

    name: ClassVar[str] = "burgers"
    spectrum_laws: ClassVar[dict[int, float]] = {2: 2.0, 3: 2.0}
    fields: ClassVar[dict[str, Field]] = {"velocity": Field("vector", "length/time")}
    units: ClassVar[dict[str, str]] = {
        "energy": "length^2/time^2",
        "dissipation": "length^2/time^3",
        "kmax_delta": "1",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        require("viscosity", self.viscosity, "zero or more", least=0)

    def linear(self) -> Diagonal:
        return Diagonal({"velocity": -self.viscosity * self.grid.k_squared()})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−½∂x u² in one dimension, −∇½|u|² − ω×u in more."""
        return self._changes(self._products(fields, None))

    def nonlinear_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        products, rate = self._products(fields, _crossings)
        return self._changes(products), rate

    def _products(self, fields: Fields, largest: Any) -> Any:
        u_hat, spacing = fields["velocity"], np.asarray(self.grid.spacing)
        if self.grid.dimensions == 1:
            return self.transform.pointwise(_half_square, u_hat, spacing, largest=largest)
        q = jnp.concatenate([u_hat, curl(u_hat, self.grid)])
        return self.transform.pointwise(_head_and_vortex_force, q, spacing, largest=largest)

    def _changes(self, products: Array) -> Fields:
        slope = -gradient(products[0], self.grid)
        return {"velocity": slope if self.grid.dimensions == 1 else slope - products[1:]}

    def rate(self, fields: Fields) -> Array:
        return advection_rate(self.transform.inverse(fields["velocity"]), self.grid)

    def conserved(self, fields: Fields) -> dict[str, Array]:
        """The momentum ⟨u⟩, in one dimension."""
        if self.grid.dimensions > 1:
            return {}
        return {"momentum": jnp.mean(self.transform.inverse(fields["velocity"]))}

    def conserved_scales(self, fields: Fields) -> dict[str, Array]:
        if self.grid.dimensions > 1:
            return {}
        return {"momentum": jnp.mean(jnp.abs(self.transform.inverse(fields["velocity"])))}

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        u_hat = fields["velocity"]
        u = self.transform.inverse(u_hat)
        return {
            "energy": 0.5 * mean_square(u_hat, self.grid),
            "dissipation": self.viscosity * weighted_mean_square(u_hat, self.grid.k_squared(), self.grid),
            "kmax_delta": self.grid.k_max * self._thinnest_shock(u),
            "cfl": dt * advection_rate(u, self.grid),
        }

    def _thinnest_shock(self, u: Array) -> Array:
        """Thickness δ = 2ν/U of a shock across the whole range 2U of a component."""
        space = tuple(range(1, u.ndim))
        jump = jnp.max(jnp.max(u, axis=space) - jnp.min(u, axis=space))
        return jnp.where(jump > 0, 4 * self.viscosity / jnp.where(jump > 0, jump, 1), jnp.inf)

    def warnings(self, row: dict[str, float]) -> list[str]:
        if row["kmax_delta"] < 2:
            return [f"k_max·δ = {row['kmax_delta']:.2f} is below 2: the strongest shock would not be resolved"]
        return []


def _crossings(q: Array, spacing: Array) -> Array:
    return crossings(q[: len(spacing)], spacing)


def _half_square(u: Array, spacing: Array) -> Array:
    """½u²."""
    return 0.5 * u * u


def _head_and_vortex_force(q: Array, spacing: Array) -> Array:
    """½|u|² and ω×u, from (u, ω) stacked."""
    d = 2 if len(q) == 3 else 3
    u, w = q[:d], q[d:]
    head = 0.5 * jnp.sum(u * u, axis=0)
    if d == 2:
        return jnp.stack([head, -w[0] * u[1], w[0] * u[0]])
    return jnp.stack([head, w[1] * u[2] - w[2] * u[1], w[2] * u[0] - w[0] * u[2], w[0] * u[1] - w[1] * u[0]])
