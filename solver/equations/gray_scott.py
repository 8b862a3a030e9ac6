"""The Gray–Scott model of pattern formation, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.equations.base import Equation
from solver.equations.field import Field
from solver.equations.system import require
from solver.fft import max_over_points
from solver.operators import Diagonal, Fields


class GrayScott(Equation):
    """u_t = D_u ∇²u − u v² + F (1 − u),  v_t = D_v ∇²v + u v² − (F + k) v, on a periodic box.

    Diffusion and first-order decay are the linear part; the rest costs 2 inverse transforms and 1 forward per
    right-hand side, in two exchanges. The product is cubic: two-thirds dealiasing leaves a little aliasing (`one-half`
    none), so the pattern must be resolved (its spectrum falling over several decades).

    Good values: D_u = 2e-5, D_v = 1e-5 in a box of 2.5 with F = 0.037, k = 0.06 (labyrinths), F = 0.025, k = 0.06
    (self-replicating spots); steps of 1 with `etdrk4`.

    Args:
        grid: one to three dimensions, real fields.
        diffusivity_u, diffusivity_v: D_u, D_v ≥ 0 [length²/time].
        feed: F ≥ 0 [1/time].
        kill: k ≥ 0 [1/time].

    Source: Pearson, Science 261 (1993) 189; Gray & Scott, Chem. Eng. Sci. 39 (1984) 1087.
    """

    diffusivity_u: ArrayLike = 2e-5
    diffusivity_v: ArrayLike = 1e-5
    feed: ArrayLike = 0.037
    kill: ArrayLike = 0.06

    name: ClassVar[str] = "gray-scott"
    fields: ClassVar[dict[str, Field]] = {"u": Field(units="concentration"), "v": Field(units="concentration")}
    units: ClassVar[dict[str, str]] = {
        "mean_u": "concentration",
        "mean_v": "concentration",
        "max_v": "concentration",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        for name in ("diffusivity_u", "diffusivity_v", "feed", "kill"):
            require(name, getattr(self, name), "zero or more", least=0)

    def linear(self) -> Diagonal:
        k2 = self.grid.k_squared()
        return Diagonal(
            {"u": -self.diffusivity_u * k2 - self.feed, "v": -self.diffusivity_v * k2 - (self.feed + self.kill)}
        )

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """F − u v² and u v²."""
        reaction = self.transform.pointwise(_reaction, fields)
        mean_mode = (self.grid.k_squared() == 0) & self.grid.is_kept()
        return {"u": jnp.where(mean_mode, self.feed, 0) - reaction, "v": reaction}

    def rate(self, fields: Fields) -> Array:
        """Fastest reaction, max(v² + 2 u v + F + k): CFL 1 is one turnover of the chemistry per step."""
        u, v = self.transform.inverse(self.join(fields))
        return max_over_points(v * v + 2 * jnp.abs(u * v)) + self.feed + self.kill

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        u, v = self.transform.inverse(self.join(fields))
        return {"mean_u": jnp.mean(u), "mean_v": jnp.mean(v), "max_v": jnp.max(v), "cfl": dt * self.rate(fields)}


def _reaction(q: Fields) -> Array:
    """u v²."""
    return q["u"] * q["v"] * q["v"]
