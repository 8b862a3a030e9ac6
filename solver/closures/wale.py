"""The wall-adapting eddy viscosity of Nicoud & Ducros."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.closures.closure import EddyViscosity, strain_of
from solver.dynamics.checks import need


class WALE(EddyViscosity):
    """ν_t = (C w)² (D:D)^3/2/((S:S)^5/2 + (D:D)^5/4), D the part of (∇u)² that is symmetric and without trace.

    D holds the rate of strain and the rotation. It is zero in pure shear, so that ν_t vanishes as z³ at a rigid wall
    and in a laminar shear flow, without a distance from the wall. w = π/k_max, between walls of each height.

    Args:
        constant: C ≥ 0. 0.325 is the value of Nicoud & Ducros' wall flows; they give 0.5 for decaying turbulence.

    Raises:
        ValueError: a negative constant, or a turbulent Schmidt number that is not positive.

    Source: Nicoud & Ducros, Flow Turbul. Combust. 62 (1999) 183.
    """

    constant: ArrayLike = 0.325

    name: ClassVar[str] = "wale"
    dimensions: ClassVar[tuple[int, ...]] = (3,)
    of: ClassVar[str] = "gradient"

    def __check_init__(self) -> None:
        need(self, "constant", "constant", "zero or more", least=0)

    def viscosity(self, resolved: Array, width: Any, prepared: Any) -> Array:
        square = jnp.einsum("ij...,jk...->ik...", resolved, resolved)
        third = jnp.trace(square) / 3
        bent = strain_of(square) - third * jnp.eye(3, dtype=third.dtype).reshape(3, 3, *[1] * third.ndim)
        of_bent, of_strain = (jnp.sum(part * part, axis=(0, 1)) for part in (bent, strain_of(resolved)))
        below = of_strain**2.5 + of_bent**1.25
        return (self.constant * width) ** 2 * jnp.where(below > 0, of_bent**1.5 / jnp.where(below > 0, below, 1), 0)
