"""The Korteweg–de Vries equation and the modified one, in one dimension."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, weighted_mean_square
from solver.equations.base import Equation, advection_rate
from solver.equations.field import Field
from solver.equations.system import require
from solver.grid import Grid
from solver.operators import Diagonal, Fields, gradient


class KortewegDeVries(Equation):
    """u_t + a u u_x + b u_xxx = 0, on a periodic line.

    Dispersion is the linear part, imaginary and up to b k_max³: exact with integrating-factor and exponential
    steppers. The nonlinearity is ½a(u²)_x: one inverse transform and one forward per right-hand side, free of aliasing
    with two-thirds. Solitons u = (3c/a) sech²(½√(c/b)(x − ct)) pass through each other and keep their speeds c.
    Conserves the mass ⟨u⟩, the momentum ½⟨u²⟩ and the energy ⟨½b u_x² − a u³/6⟩.

    Good values: a = 6, b = 1 with solitons of speed 1 to 16 in a box of 40 on 256 points, steps of 1e-3 with `etdrk4`;
    a = 1, b = 4.84e-4 in a box of 2 (Zabusky and Kruskal).

    Args:
        grid: one dimension, real fields.
        nonlinearity: a [length/(time·u)].
        dispersion: b [length³/time].

    Source: Korteweg & de Vries, Phil. Mag. 39 (1895) 422; Zabusky & Kruskal, Phys. Rev. Lett. 15 (1965) 240.
    """

    nonlinearity: ArrayLike = 6.0
    dispersion: ArrayLike = 1.0

    name: ClassVar[str] = "korteweg-de-vries"
    fields: ClassVar[dict[str, Field]] = {"u": Field(units="u")}
    dimensions: ClassVar[tuple[int, ...]] = (1,)
    units: ClassVar[dict[str, str]] = {
        "mass": "u",
        "momentum": "u^2",
        "energy": "u^2*length/time",
        "max_u": "u",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        require("nonlinearity", self.nonlinearity, "a finite number")
        require("dispersion", self.dispersion, "a finite number")

    def linear(self) -> Diagonal:
        return Diagonal({"u": self.dispersion * _minus_third_derivative(self.grid)})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−½a ∂x u²."""
        square = self.transform.pointwise(_square, fields["u"])
        return {"u": -0.5 * self.nonlinearity * gradient(square[0], self.grid)}

    def rate(self, fields: Fields) -> Array:
        """Rate of the advection at speed a·u; dispersion is exact."""
        return advection_rate(self.nonlinearity * self.transform.inverse(fields["u"]), self.grid)

    def conserved(self, fields: Fields) -> dict[str, Array]:
        return self._integrals(fields["u"], self.transform.inverse(fields["u"]))

    def conserved_scales(self, fields: Fields) -> dict[str, Array]:
        return {"mass": jnp.mean(jnp.abs(self.transform.inverse(fields["u"])))}

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        u = self.transform.inverse(fields["u"])
        fastest = advection_rate(self.nonlinearity * u, self.grid)
        return {**self._integrals(fields["u"], u), "max_u": jnp.max(u), "cfl": dt * fastest}

    def _integrals(self, u_hat: Array, u: Array) -> dict[str, Array]:
        bending = self.dispersion * weighted_mean_square(u_hat, self.grid.k_squared(), self.grid)
        return {
            "mass": jnp.mean(u),
            "momentum": 0.5 * mean_square(u_hat, self.grid),
            "energy": 0.5 * bending - self.nonlinearity * jnp.mean(u**3) / 6,
        }


class ModifiedKortewegDeVries(Equation):
    """u_t + 6σ u² u_x + u_xxx = 0 with σ = ±1, on a periodic line.

    Dispersion is the linear part, as in Korteweg–de Vries. The nonlinearity is 2σ(u³)_x: one inverse transform and one
    forward per right-hand side. It is cubic: two-thirds dealiasing leaves a little aliasing (`one-half` none), so the
    waves must be resolved (their spectrum falling over many decades). For σ = 1 there are solitons ±√c sech(√c(x −
    ct)), for σ = −1 none that vanish far away. Conserves the mass ⟨u⟩, the momentum ½⟨u²⟩ and the energy ⟨½u_x² −
    ½σu⁴⟩.

    Good values: solitons of speed 1 to 9 in a box of 40 on 512 points, steps of 1e-3 with `etdrk4`.

    Args:
        grid: one dimension, real fields.
        sign: σ, 1 (focusing) or −1 (defocusing), static.

    Source: Miura, J. Math. Phys. 9 (1968) 1202; Wadati, J. Phys. Soc. Jpn. 34 (1973) 1289.
    """

    sign: int = eqx.field(static=True, default=1)

    name: ClassVar[str] = "modified-korteweg-de-vries"
    fields: ClassVar[dict[str, Field]] = {"u": Field(units="u")}
    dimensions: ClassVar[tuple[int, ...]] = (1,)
    units: ClassVar[dict[str, str]] = {
        "mass": "u",
        "momentum": "u^2",
        "energy": "u^2/length^2",
        "max_u": "u",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        if self.sign not in (1, -1):
            raise ValueError(f"sign {self.sign}: 1 (focusing) or -1 (defocusing) is needed")

    def linear(self) -> Diagonal:
        return Diagonal({"u": _minus_third_derivative(self.grid)})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−2σ ∂x u³."""
        cube = self.transform.pointwise(_cube, fields["u"])
        return {"u": -2 * self.sign * gradient(cube[0], self.grid)}

    def rate(self, fields: Fields) -> Array:
        """Rate of the advection at speed 6u²; dispersion is exact."""
        return advection_rate(6 * self.transform.inverse(fields["u"]) ** 2, self.grid)

    def conserved(self, fields: Fields) -> dict[str, Array]:
        return self._integrals(fields["u"], self.transform.inverse(fields["u"]))

    def conserved_scales(self, fields: Fields) -> dict[str, Array]:
        return {"mass": jnp.mean(jnp.abs(self.transform.inverse(fields["u"])))}

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        u = self.transform.inverse(fields["u"])
        return {
            **self._integrals(fields["u"], u),
            "max_u": jnp.max(u),
            "cfl": dt * advection_rate(6 * u * u, self.grid),
        }

    def _integrals(self, u_hat: Array, u: Array) -> dict[str, Array]:
        bending = weighted_mean_square(u_hat, self.grid.k_squared(), self.grid)
        return {
            "mass": jnp.mean(u),
            "momentum": 0.5 * mean_square(u_hat, self.grid),
            "energy": 0.5 * (bending - self.sign * jnp.mean(u**4)),
        }


def _minus_third_derivative(grid: Grid) -> Array:
    """Minus the third derivative of each mode: −(ik)³ = ik³."""
    return 1j * jnp.asarray(grid.derivative_wavenumbers()[0]) ** 3


def _square(u: Array) -> Array:
    """u²."""
    return u * u


def _cube(u: Array) -> Array:
    """u³."""
    return u * u * u
