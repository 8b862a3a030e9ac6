"""The Kuramoto–Sivashinsky equation in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, weighted_mean_square
from solver.equations.base import Equation, advection_rate
from solver.equations.field import Field
from solver.equations.manifold import without_mean
from solver.operators import Diagonal, Fields, gradient


class KuramotoSivashinsky(Equation):
    """u_t = −∇²u − ∇⁴u − ½|∇u|², with the mean of u removed.

    Modes with |k| < 1 grow at the rate k² − k⁴, at most ¼ at |k| = 1/√2; the nonlinearity moves their energy to
    the damped ones. Boxes much longer than 2π√2 are chaotic. The linear part is stiff, up to k_max⁴: take an
    exponential integrator. A right-hand side costs one inverse transform per dimension and one forward.

    Args:
        grid: one to three dimensions, real fields.

    Source: Kuramoto, Prog. Theor. Phys. Suppl. 64 (1978) 346; Sivashinsky, Acta Astronaut. 4 (1977) 1177.
    """

    name: ClassVar[str] = "kuramoto-sivashinsky"
    fields: ClassVar[dict[str, Field]] = {"u": Field(units="u", zero_mean=True)}
    keeps_constraints: ClassVar[bool] = True
    units: ClassVar[dict[str, str]] = {"energy": "u^2", "mean_square_gradient": "u^2/length^2", "cfl": "1"}
    budgeted: ClassVar[dict[str, str]] = {"energy": "u"}

    def linear(self) -> Diagonal:
        k2 = self.grid.k_squared()
        return Diagonal({"u": k2 - k2 * k2})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """−½|∇u|² without its mean."""
        return self._changes(self._slope(fields["u"]))

    def nonlinear_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        slope = self._slope(fields["u"])
        return self._changes(slope), advection_rate(slope, self.grid)

    def _changes(self, slope: Array) -> Fields:
        return {"u": without_mean(self.transform.forward(-0.5 * jnp.sum(slope * slope, axis=0)[None]), self.grid)}

    def rate(self, fields: Fields) -> Array:
        # a crest moves at speed ∇u: differentiate the equation once to see it advect
        return advection_rate(self._slope(fields["u"]), self.grid)

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        return {
            "energy": 0.5 * mean_square(fields["u"], self.grid),
            "mean_square_gradient": weighted_mean_square(fields["u"], self.grid.k_squared(), self.grid),
            "cfl": dt * self.rate(fields),
        }

    def _slope(self, u_hat: Array) -> Array:
        return self.transform.inverse(gradient(u_hat[0], self.grid))
