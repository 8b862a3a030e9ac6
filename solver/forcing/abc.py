"""A steady force of the form of the Arnold–Beltrami–Childress flow."""

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


class ABC(Forcing):
    """f = (A sin kz + C cos ky, B sin kx + A cos kz, C sin ky + B cos kx), k = 2πn/L, in a cube. No communication.

    f is k times its own vector potential, ∇×f = k f: it injects helicity. u = f/(νk²) is an exact solution, with the
    power ⟨u·f⟩ = (A² + B² + C²)/(νk²); it becomes unstable at small ν.

    Args:
        coefficients: A, B, C [u/time].
        wavenumber: n, periods per box side, static.

    Raises:
        ValueError: other than three coefficients, a wavenumber below 1; when the equation is made: a grid that is not
            a cube in three dimensions, or does not resolve the wavenumber.

    Source: Podvigina & Pouquet, Physica D 75 (1994) 471, for the forced flow; Dombre et al., J. Fluid Mech. 167
    (1986) 353.
    """

    coefficients: tuple[ArrayLike, ...] = eqx.field(converter=tuple, default=(1.0, 1.0, 1.0))
    wavenumber: int = eqx.field(static=True, default=1)

    name: ClassVar[str] = "abc"
    ranks: ClassVar[tuple[str, ...]] = ("vector",)

    def __check_init__(self) -> None:
        if len(self.coefficients) != 3:
            raise ValueError(f"abc with coefficients {list(self.coefficients)}: three numbers A, B, C are needed")
        need_periods("abc", self.wavenumber)
        need(self, "coefficients", "abc with coefficients", "a finite number for each")

    def check(self, equation: AnyEquation, field: str) -> None:
        grid = equation.space(field).fourier
        if grid.dimensions != 3:
            raise ValueError(f"abc of a field in {grid.dimensions} dimensions: three are needed")
        if len(set(grid.lengths)) > 1:  # type: ignore[arg-type]
            raise ValueError(f"abc in a box of {grid.lengths}: it needs three equal lengths")
        for axis in range(3):
            need_kept("abc", [self.wavenumber if axis == a else 0 for a in range(3)], grid)

    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        grid = space.fourier
        a, b, c = self.coefficients
        sin, cos = (
            [wave_coefficients([(kind, self.wavenumber) if axis == a else ("cos", 0) for a in range(3)], grid)
             for axis in range(3)]
            for kind in ("sin", "cos")
        )  # fmt: skip
        parts = [a * sin[2] + c * cos[1], b * sin[0] + a * cos[2], c * sin[1] + b * cos[0]]
        return jnp.stack(parts).astype(u_hat.dtype)
