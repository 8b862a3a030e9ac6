"""Steady forces of the form of known flows: Kolmogorov, Arnold–Beltrami–Childress, Taylor–Green."""

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
from solver.spaces import FOURIER, Space

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
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

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
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)
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
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)
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
