"""Burgers' equation in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.equation import Equation
from solver.dynamics.report import Report, nothing, too_small
from solver.operators import Fields
from solver.written import Text


class Burgers(Equation):
    """Burgers' equation, on a periodic box.

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
    text: ClassVar[Text] = Text(
        write="dt(velocity) = -velocity@grad(velocity) + cause(viscosity, viscosity*lap(velocity))",
        fields={"velocity": "vector"},
        units={"velocity": "length/time"},
        energies={"energy": "velocity@velocity/2"},
        series={"dissipation": "-viscosity*velocity@lap(velocity)"},
        conserved={"momentum": "velocity.x"},
        limits={"viscosity": ">= 0"},
        symbols={"velocity": "u", "viscosity": "nu"},
        aliased=True,
    )
    spectrum_laws: ClassVar[dict[int, float]] = {2: 2.0, 3: 2.0}
    units: ClassVar[dict[str, str]] = {"kmax_delta": "1"}

    def reported(self, report: Report) -> Report:
        with_shocks = replace(
            report,
            columns=lambda fields: self._with_thinnest_shock(fields, report.columns),
            warnings=lambda row: too_small(
                "k_max·δ", row["kmax_delta"], 2, "the strongest shock would not be resolved"
            ),
        )
        if self.grid.dimensions == 1:
            return with_shocks
        return replace(with_shocks, conserved=nothing, conserved_scales=nothing)  # ⟨u⟩ in one dimension alone

    def _with_thinnest_shock(self, fields: Fields, columns: Callable[[Fields], dict[str, Array]]) -> dict[str, Array]:
        """With k_max δ, δ = 2ν/U the thickness of a shock across the whole range 2U of a component."""
        u = self.transform.inverse(fields["velocity"])
        space = tuple(range(1, u.ndim))
        jump = jnp.max(jnp.max(u, axis=space) - jnp.min(u, axis=space))
        thinnest = jnp.where(jump > 0, 4 * self.viscosity / jnp.where(jump > 0, jump, 1), jnp.inf)
        return {**columns(fields), "kmax_delta": self.grid.k_max * thinnest}
