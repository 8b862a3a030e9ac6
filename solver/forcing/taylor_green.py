"""A steady force of the form of the Taylor–Green vortex."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import need
from solver.forcing.forcing import Forcing
from solver.forcing.waves import need_kept, need_periods, wave_coefficients
from solver.spaces import Space


class TaylorGreen(Forcing):
    """f = A (sin nx cos ny cos nz, −cos nx sin ny cos nz, 0), coordinates in units of L/2π. No communication.

    In 2-D without z, cellular flow: u = f/(ν|k|²) is steady there, |k|² the sum of the squares of its two wavenumbers,
    and the power is ⟨u·f⟩ = A²/(2ν|k|²). In 3-D the force keeps the symmetries of the vortex: a flow that starts from
    rest, or from the vortex, keeps them too.

    Args:
        amplitude: A, the largest value [u/time].
        wavenumber: n, periods per box side, static.

    Raises:
        ValueError: a wavenumber below 1; when the equation is made: one dimension, unequal sides in x and y, or a
            wavenumber that the grid does not resolve.

    Source: Mininni, Ponty, Montgomery, Pinton, Politano & Pouquet, arXiv:astro-ph/0412071 (2004), for flows forced so.
    """

    amplitude: ArrayLike
    wavenumber: int = eqx.field(static=True, default=1)

    name: ClassVar[str] = "taylor-green"
    ranks: ClassVar[tuple[str, ...]] = ("vector",)

    def __check_init__(self) -> None:
        need_periods("taylor-green", self.wavenumber)
        need(self, "amplitude", "taylor-green with amplitude", "a finite number")

    def check(self, equation: AnyEquation, field: str) -> None:
        grid = equation.space(field).fourier
        if grid.dimensions == 1:
            raise ValueError("taylor-green of a field in one dimension: two or three are needed")
        if grid.lengths[0] != grid.lengths[1]:  # type: ignore[index]
            raise ValueError(f"taylor-green in a box of {grid.lengths[:2]}: it needs equal lengths in x and y")  # type: ignore[index]
        need_kept("taylor-green", [self.wavenumber] * grid.dimensions, grid)

    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        grid = space.fourier
        n = self.wavenumber
        along_z = [("cos", n)] * (grid.dimensions - 2)
        f_hat = self.amplitude * wave_coefficients([("sin", n), ("cos", n), *along_z], grid)
        g_hat = -self.amplitude * wave_coefficients([("cos", n), ("sin", n), *along_z], grid)
        zero = [jnp.zeros_like(f_hat)] * (grid.dimensions - 2)
        return jnp.stack([f_hat, g_hat, *zero]).astype(u_hat.dtype)
