"""A passive scalar in a uniform wind and a cellular flow, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, weighted_mean_square
from solver.equations.base import Equation
from solver.equations.field import Field
from solver.equations.mhd import Vector
from solver.equations.system import require
from solver.operators import Diagonal, Fields


class AdvectionDiffusion(Equation):
    """c_t + (U + v)·∇c = κ∇²c with constant U and cells v = A(sin ax cos by, −(a/b) cos ax sin by), periodic.

    U and κ are the linear part: without cells every step is exact and no transform is needed. With cells, a = 2πn/L_x
    and b = 2πn/L_y, a right-hand side costs one inverse transform and 2 forward; v is made of vectors along x and y,
    never stored. In 3-D the cells are alike along z. The mean ⟨c⟩ is conserved, and without diffusion the variance.
    With two-thirds dealiasing every retained mode is free of aliasing.

    Good values: A = 1, n = 1 to 4 in a box of 2π with κ = 1e-3 (boundary layers of width √(κ/(A a))).

    Args:
        grid: one to three dimensions, real fields; at least two with cells.
        diffusivity: κ ≥ 0 [length²/time].
        velocity: U, one number for each direction [length/time]; none if None.
        cell_speed: A, the largest velocity along x in the cells [length/time]; no cells if None.
        cell_periods: n ≥ 1, periods of the cells along x and y, static.

    Source: Childress, Phys. Earth Planet. Inter. 20 (1979) 172; Shraiman, Phys. Rev. A 36 (1987) 261.
    """

    diffusivity: ArrayLike
    velocity: Vector | None = None
    cell_speed: ArrayLike | None = None
    cell_periods: int = eqx.field(static=True, default=1)

    name: ClassVar[str] = "advection-diffusion"
    fields: ClassVar[dict[str, Field]] = {"c": Field(units="c")}
    units: ClassVar[dict[str, str]] = {
        "variance": "c^2",
        "dissipation": "c^2/time",
        "min_c": "c",
        "max_c": "c",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        require("diffusivity", self.diffusivity, "zero or more", least=0)
        require("velocity", self.velocity, "finite numbers")
        require("cell_speed", self.cell_speed, "a finite number")
        if self.velocity is not None and np.shape(self.velocity) != (self.grid.dimensions,):
            raise ValueError(f"velocity {self.velocity}: {self.grid.dimensions} numbers are needed")
        if self.cell_speed is None:
            return
        if self.grid.dimensions == 1:
            raise ValueError(f"cell_speed {self.cell_speed} in one dimension: cells need two or three")
        most = min(self.grid.layout.highest_mode(axis) for axis in (0, 1))
        if not 1 <= self.cell_periods <= most:
            raise ValueError(f"cell_periods {self.cell_periods}: this grid resolves 1 to {most}")

    def linear(self) -> Diagonal:
        diffusion = -self.diffusivity * self.grid.k_squared()
        if self.velocity is None:
            return Diagonal({"c": diffusion})
        k = self.grid.derivative_wavenumbers()
        return Diagonal({"c": diffusion - 1j * sum(u * k_i for u, k_i in zip(self.velocity, k, strict=True))})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−∇·(v c)."""
        if self.cell_speed is None:
            return {"c": jnp.zeros_like(fields["c"])}
        a, b = self._cell_wavenumbers()
        x, y = self.grid.coordinates()[:2]
        waves = {"x": (jnp.sin(a * x), jnp.cos(a * x)), "y": (jnp.sin(b * y), jnp.cos(b * y))}
        speeds = (self.cell_speed, -self.cell_speed * (a / b))
        flux = self.transform.pointwise(_flux, fields["c"], speeds, waves)
        kx, ky = self.grid.derivative_wavenumbers()[:2]
        return {"c": -1j * (kx * flux[:1] + ky * flux[1:])}

    def rate(self, fields: Fields) -> Array:
        """Σ_i max|U_i + v_i|/Δx_i [1/time], of the wind and the cells."""
        speeds = [jnp.zeros((), self.grid.dtype)] * self.grid.dimensions
        if self.velocity is not None:
            speeds = [abs(jnp.asarray(u)) for u in self.velocity]
        if self.cell_speed is not None:
            a, b = self._cell_wavenumbers()
            largest = abs(jnp.asarray(self.cell_speed))
            speeds = [speeds[0] + largest, speeds[1] + largest * (a / b), *speeds[2:]]
        return jnp.asarray(sum(u / dx for u, dx in zip(speeds, self.grid.spacing, strict=True)))

    def conserved(self, fields: Fields) -> dict[str, Array]:
        return {"mean": jnp.mean(self.transform.inverse(fields["c"]))}

    def conserved_scales(self, fields: Fields) -> dict[str, Array]:
        return {"mean": jnp.mean(jnp.abs(self.transform.inverse(fields["c"])))}

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        """Variance, dissipation, extremes and CFL number: the variance falls at the rate of dissipation, 2κ⟨|∇c|²⟩."""
        c = self.transform.inverse(fields["c"])
        slope = weighted_mean_square(fields["c"], self.grid.k_squared(), self.grid)
        return {
            "variance": mean_square(fields["c"], self.grid) - jnp.mean(c) ** 2,
            "dissipation": 2 * self.diffusivity * slope,
            "min_c": jnp.min(c),
            "max_c": jnp.max(c),
            "cfl": dt * self.rate(fields),
        }

    def _cell_wavenumbers(self) -> tuple[float, float]:
        """Wavenumbers a and b of the cells [1/length]."""
        return self.cell_periods * self.grid.fundamental[0], self.cell_periods * self.grid.fundamental[1]


def _flux(c: Array, speeds: tuple[Array, Array], waves: dict[str, tuple[Array, Array]]) -> Array:
    """v c, along x and y."""
    (sin_x, cos_x), (sin_y, cos_y) = waves["x"], waves["y"]
    return jnp.concatenate([speeds[0] * sin_x * cos_y * c, speeds[1] * cos_x * sin_y * c])
