"""A steady shear force: Kolmogorov flow."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import need
from solver.forcing.forcing import Forcing
from solver.forcing.waves import need_kept, need_periods, wave_coefficients
from solver.spaces import Space

AXES = ("x", "y", "z")


class Kolmogorov(Forcing):
    """f = A sin(k y) x̂ with k = 2π n/L: a steady force along one axis, periodic along another. No communication.

    A flow at rest becomes laminar, u = A/(νk²) (1 − exp(−νk²t)) sin(k y) x̂, with the power ⟨u·f⟩ = A²/(2νk²) in the
    end; it is unstable to long waves where A/(ν²k³) > √2. A scalar gets f = A sin(k y), whatever the direction.

    Args:
        amplitude: A [u/time].
        wavenumber: n, periods per box side, static.
        direction: axis along which a vector is forced, static.
        variation: axis along which the force varies, static; another one than `direction` for a solenoidal field.

    Raises:
        ValueError: a wavenumber below 1; when the equation is made: a wavenumber that the grid does not resolve, axes
            that it does not have, or a solenoidal field forced along the axis of variation.

    Source: Meshalkin & Sinai, J. Appl. Math. Mech. 25 (1961) 1700.
    """

    amplitude: ArrayLike
    wavenumber: int = eqx.field(static=True, default=4)
    direction: Literal["x", "y", "z"] = eqx.field(static=True, default="x")
    variation: Literal["x", "y", "z"] = eqx.field(static=True, default="y")

    name: ClassVar[str] = "kolmogorov"

    def __check_init__(self) -> None:
        need_periods("kolmogorov", self.wavenumber)
        need(self, "amplitude", "kolmogorov with amplitude", "a finite number")

    def check(self, equation: AnyEquation, field: str) -> None:
        grid, declared = equation.space(field).fourier, equation.fields[field]
        axes = AXES[: grid.dimensions]
        for what in ("variation", *(["direction"] if declared.rank == "vector" else [])):
            if getattr(self, what) not in axes:
                raise ValueError(f"kolmogorov with {what} {getattr(self, what)!r}: this grid has {', '.join(axes)}")
        if declared.solenoidal and self.direction == self.variation:
            raise ValueError(
                f"kolmogorov of {field} with direction and variation {self.direction!r}: two axes are needed, as the "
                "field has no divergence"
            )
        need_kept("kolmogorov", [self.wavenumber if axis == self.variation else 0 for axis in axes], grid)

    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        grid = space.fourier
        waves = [("sin", self.wavenumber) if axis == self.variation else ("cos", 0) for axis in AXES[: grid.dimensions]]
        f_hat = (self.amplitude * wave_coefficients(waves, grid)).astype(u_hat.dtype)
        forced = AXES.index(self.direction) if len(u_hat) > 1 else 0
        return jnp.stack([f_hat if i == forced else jnp.zeros_like(f_hat) for i in range(len(u_hat))])
