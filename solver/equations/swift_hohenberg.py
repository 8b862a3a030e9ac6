"""The Swift–Hohenberg equation of pattern formation, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, weighted_mean_square
from solver.equations.base import Equation
from solver.equations.field import Field
from solver.equations.system import require
from solver.fft import max_over_points
from solver.operators import Diagonal, Fields


class SwiftHohenberg(Equation):
    """u_t = r u − (q₀² + ∇²)² u + g u² − u³, on a periodic box.

    Modes grow at the rate r − (q₀² − k²)², the linear part, so that a pattern of wavelength 2π/q₀ appears for r > 0:
    stripes of amplitude √(4r/3) for g = 0 and small r, hexagons for larger g. Its free energy ⟨−½r u² + ½((q₀² + ∇²)u)²
    − g u³/3 + ¼u⁴⟩ falls. The linear part is stiff, up to k_max⁴: take an exponential or implicit stepper. The rest
    costs one inverse transform and one forward per right-hand side. It is cubic: two-thirds dealiasing leaves a little
    aliasing (`one-half` none), so the pattern must be resolved (k_max above 4 q₀).

    Good values: q₀ = 1, r = 0.1 to 0.7 with g = 0 (stripes), r = 0.1 with g = 1 (hexagons), in a box of 20 wavelengths;
    steps of 0.1 to 0.5 with `etdrk4`.

    Args:
        grid: one to three dimensions, real fields.
        growth: r [1/time].
        pattern_wavenumber: q₀ ≥ 0 [1/length]; time is in units of length⁴.
        quadratic: g [1/(time·u)].

    Source: Swift & Hohenberg, Phys. Rev. A 15 (1977) 319; Cross & Hohenberg, Rev. Mod. Phys. 65 (1993) 851.
    """

    growth: ArrayLike = 0.3
    pattern_wavenumber: ArrayLike = 1.0
    quadratic: ArrayLike = 0.0

    name: ClassVar[str] = "swift-hohenberg"
    fields: ClassVar[dict[str, Field]] = {"u": Field(units="1/time^(1/2)")}
    units: ClassVar[dict[str, str]] = {
        "mean_square": "1/time",
        "max_u": "1/time^(1/2)",
        "free_energy": "1/time^2",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        require("growth", self.growth, "a finite number")
        require("pattern_wavenumber", self.pattern_wavenumber, "zero or more", least=0)
        require("quadratic", self.quadratic, "a finite number")

    def linear(self) -> Diagonal:
        return Diagonal({"u": self.growth - self._mismatch()})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """g u² − u³."""
        return {"u": self.transform.pointwise(_reaction, fields["u"], self.quadratic)}

    def rate(self, fields: Fields) -> Array:
        """Fastest reaction, |r| + max|2g u − 3u²|."""
        return self._fastest(self.transform.inverse(fields["u"]))

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        u_hat = fields["u"]
        u, square = self.transform.inverse(u_hat), mean_square(u_hat, self.grid)
        quadratic = 0.5 * weighted_mean_square(u_hat, self._mismatch(), self.grid) - 0.5 * self.growth * square
        return {
            "mean_square": square,
            "max_u": jnp.max(u),
            "free_energy": quadratic - self.quadratic * jnp.mean(u**3) / 3 + 0.25 * jnp.mean(u**4),
            "cfl": dt * self._fastest(u),
        }

    def _mismatch(self) -> Array:
        """(q₀² − k²)²."""
        return (self.pattern_wavenumber**2 - self.grid.k_squared()) ** 2

    def _fastest(self, u: Array) -> Array:
        return jnp.abs(self.growth) + max_over_points(jnp.abs(2 * self.quadratic * u - 3 * u * u))


def _reaction(u: Array, quadratic: Array) -> Array:
    """g u² − u³."""
    return u * u * (quadratic - u)
