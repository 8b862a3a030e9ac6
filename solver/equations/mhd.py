"""Incompressible magnetohydrodynamics in two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_product, weighted_mean_square
from solver.equations.budget import Budget, Changes
from solver.equations.field import Field
from solver.equations.system import require
from solver.equations.written import Written
from solver.grid import Grid
from solver.operators import Fields, curl
from solver.written import Text

Vector: TypeAlias = Sequence[float] | Array


@cache
def _text(dimensions: int, has_mean_field: bool) -> Text:
    """The equations, with or without a mean field.

    Without one N conserves the last invariant: in 3-D the helicity ⟨a·b⟩ with b = ∇×a, in 2-D ⟨a²⟩ with b = ∇×(a ẑ).
    """
    u, b, b0 = "velocity", "magnetic_field", "mean_field"
    tension, stretching = (f" + {b0}@grad({b})", f" + {b0}@grad({u})") if has_mean_field else ("", "")
    third = (
        {"magnetic_helicity": f"-inverse_lap(curl({b}))@{b}"}
        if dimensions == 3
        else {"squared_potential": f"-inverse_lap({b})@{b}"}
    )
    return Text(
        write=[
            f"dt({u}) = -{u}@grad({u}) + {b}@grad({b}){tension} - grad(pressure)"
            f" + cause(viscosity, viscosity*lap({u}) + hyper({u}, hyperviscosity, hyper_order))",
            f"dt({b}) = {b}@grad({u}) - {u}@grad({b}){stretching}"
            f" + cause(resistivity, resistivity*lap({b}) + hyper({b}, hyperresistivity, hyper_order))",
            f"div({u}) = 0",
            f"div({b}) = 0",
        ],
        fields={u: "vector", b: "vector"},
        unknowns={"pressure": "scalar"},
        parameters={
            **({b0: "vector"} if has_mean_field else {}),
            **dict.fromkeys(["viscosity", "resistivity", "hyperviscosity", "hyperresistivity"], "scalar"),
            "hyper_order": "scalar",
        },
        energies={"kinetic_energy": f"{u}@{u}/2", "magnetic_energy": f"{b}@{b}/2"},
        series={
            "cross_helicity": f"{u}@{b}",
            "dissipation": f"hyperviscosity*{u}@fraclap({u}, hyper_order) - viscosity*{u}@lap({u})"
            f" + hyperresistivity*{b}@fraclap({b}, hyper_order) - resistivity*{b}@lap({b})",
            "max_divergence": f"max(max(abs(div({u})), abs(div({b}))))",
        },
        invariants={"energy": f"({u}@{u} + {b}@{b})/2", "cross_helicity": f"{u}@{b}", **third},
        limits={
            **dict.fromkeys(["viscosity", "resistivity", "hyperviscosity", "hyperresistivity"], ">= 0"),
            "hyper_order": ">= 1",
        },
        symbols={u: "u", b: "b", b0: "B_0", "pressure": "p", "viscosity": "nu", "resistivity": "eta",
                 "hyperviscosity": "nu_h", "hyperresistivity": "eta_h", "hyper_order": "q"},
        aliased=True,
    )  # fmt: skip


class MHD(Written):
    """Incompressible magnetohydrodynamics, periodic.

    Alfvén units: b and B₀ are velocities. A constant mean field B₀ couples u and b by one matrix per mode, so that
    Alfvén waves ω = ±k·B₀ are exact for any step with integrating-factor and exponential steppers. In 3-D a
    right-hand side costs 6 inverse and 8 forward transforms in two exchanges (4 and 3 in 2-D). Ideal flow conserves
    the energy ½⟨|u|² + |b|²⟩, the cross-helicity ⟨u·b⟩ and, without mean field, in 3-D the magnetic helicity ⟨a·b⟩
    and in 2-D the mean square ⟨a²⟩ of the potential.

    Good values: ν = η (magnetic Prandtl number 1); the Orszag–Tang vortex at 128², ν = η = 0.01.

    Args:
        grid: two or three dimensions, real fields.
        viscosity: ν ≥ 0 [length²/time].
        resistivity: η ≥ 0 [length²/time].
        mean_field: B₀, one number for each direction [length/time]; none if None.
        hyperviscosity: ν_h ≥ 0 [length^(2q)/time]; series and budget count it as viscosity.
        hyperresistivity: η_h ≥ 0 [length^(2q)/time]; series and budget count it as resistivity.
        hyper_order: q, one or more, static.

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
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3 / 2, 3: 5 / 3}

    def __check_init__(self) -> None:
        require_mean_field(self.mean_field, self.grid)

    @property
    def text(self) -> Text:  # type: ignore[override]
        """The equations, with a mean field if there is one."""
        return _text(self.grid.dimensions, self.mean_field is not None)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        return [_text(dimensions, has_mean_field) for has_mean_field in (False, True)]

    def rate_of_linear(self) -> ArrayLike:
        """Of the Alfvén waves along the mean field."""
        return alfven_rate(self.mean_field, self.grid)

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of the energies by viscosity, resistivity, forcing, and the `exchange` between flow and field."""
        budget = {}
        for energy, causes in super().budget(fields, changes).items():
            inner = sum(power for cause, power in causes.items() if cause in ("linear", "nonlinear"))
            others = {cause: power for cause, power in causes.items() if cause not in ("linear", "nonlinear")}
            budget[energy] = {**others, "exchange": inner}
        return budget


def require_mean_field(mean_field: Any, grid: Grid) -> None:
    """Refuse a mean field that is not one finite number for each direction.

    Raises:
        ValueError: the message names the mean field and how many numbers are needed.
    """
    require("mean_field", mean_field, "finite numbers")
    if mean_field is not None and np.shape(mean_field) != (grid.dimensions,):
        raise ValueError(f"mean_field {mean_field}: {grid.dimensions} numbers are needed")


def alfven_rate(mean_field: Any, grid: Grid) -> ArrayLike:
    """Σ_i |B₀_i|/Δx_i of Alfvén waves along a mean field [1/time]; 0 without one."""
    if mean_field is None:
        return 0.0
    return sum(jnp.abs(jnp.asarray(b, grid.dtype)) / dx for b, dx in zip(mean_field, grid.spacing, strict=True))


def magnetic_helicity(b_hat: Array, grid: Grid) -> Array:
    """⟨a·b⟩ in 3-D, with b = ∇×a and ∇·a = 0; ⟨a²⟩ of b = ∇×(a ẑ) in 2-D. One all-reduce."""
    if grid.dimensions == 2:
        return weighted_mean_square(b_hat, grid.inverse_k_squared(), grid)
    a_hat = curl(b_hat, grid) * grid.inverse_k_squared()
    return mean_product(a_hat, b_hat, grid)
