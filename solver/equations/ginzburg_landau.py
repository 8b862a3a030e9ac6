"""The complex Ginzburg–Landau equation, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square
from solver.equations.base import Equation
from solver.equations.field import Field
from solver.equations.system import require
from solver.fft import max_over_points
from solver.operators import Diagonal, Fields


class ComplexGinzburgLandau(Equation):
    """A_t = A + (1 + iα)∇²A − (1 + iβ)|A|²A, on a periodic box.

    A is the complex amplitude of waves just above the onset of an oscillation; lengths and times are in units in which
    its growth rate and diffusivity are 1. Growth, diffusion and dispersion are the linear part, complex; the rest costs
    one inverse and one forward complex transform per right-hand side. It is cubic: two-thirds dealiasing leaves a
    little aliasing (`one-half` none), so the cores of spirals must be resolved (about 1 wide). Plane waves √(1 − q²)
    exp(i(qx − ωt)) have ω = β + (α − β)q²; all of them are unstable where 1 + αβ < 0 (Benjamin and Feir).

    Good values: α = 0, β = 1.5 (spiral waves); α = 2, β = −1 (turbulence of defects), in a box of 100 with points 0.5
    apart; steps of 0.05 with `etdrk4`.

    Args:
        grid: one to three dimensions, complex fields.
        linear_dispersion: α [1].
        nonlinear_dispersion: β [1].

    Source: Aranson & Kramer, Rev. Mod. Phys. 74 (2002) 99.
    """

    linear_dispersion: ArrayLike = 0.0
    nonlinear_dispersion: ArrayLike = 1.5

    name: ClassVar[str] = "complex-ginzburg-landau"
    fields: ClassVar[dict[str, Field]] = {"amplitude": Field("wavefunction", "1")}
    units: ClassVar[dict[str, str]] = {"mean_square": "1", "min_modulus": "1", "max_modulus": "1", "cfl": "1"}

    def __check_init__(self) -> None:
        for name in ("linear_dispersion", "nonlinear_dispersion"):
            require(name, getattr(self, name), "a finite number")

    def linear(self) -> Diagonal:
        return Diagonal({"amplitude": 1 - (1 + 1j * self.linear_dispersion) * self.grid.k_squared()})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−(1 + iβ)|A|²A."""
        return {"amplitude": self.transform.pointwise(_saturation, fields["amplitude"], self.nonlinear_dispersion)}

    def rate(self, fields: Fields) -> Array:
        """Fastest reaction, max(|A|²) |1 + iβ|."""
        return self._fastest(self.transform.inverse(fields["amplitude"]))

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        a = self.transform.inverse(fields["amplitude"])
        return {
            "mean_square": mean_square(fields["amplitude"], self.grid),
            "min_modulus": jnp.min(jnp.abs(a)),
            "max_modulus": jnp.max(jnp.abs(a)),
            "cfl": dt * self._fastest(a),
        }

    def snapshot(self, fields: Fields) -> dict[str, Array]:
        """Real and imaginary part, and the modulus, which is 0 in the core of a spiral."""
        return {**super().snapshot(fields), "modulus": jnp.abs(self.transform.inverse(fields["amplitude"])[0])}

    def snapshot_units(self) -> dict[str, str]:
        return {**super().snapshot_units(), "modulus": "1"}

    def _fastest(self, a: Array) -> Array:
        return max_over_points(_square(a)) * jnp.sqrt(1 + jnp.asarray(self.nonlinear_dispersion) ** 2)


def _saturation(a: Array, beta: Array) -> Array:
    """−(1 + iβ)|A|²A."""
    return -(1 + 1j * beta) * _square(a) * a


def _square(a: Array) -> Array:
    """|A|²."""
    return a.real**2 + a.imag**2
