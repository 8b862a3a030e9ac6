"""`Splittable`: what a splitting stepper needs of an equation i ψ_t = (T + V) ψ."""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.operators import Rotation


class Splittable(eqx.Module):
    """i ψ_t = (T + V) ψ of one field, `wavefunction`: T diagonal in k, V real, diagonal in x and a function of |ψ|²."""

    @abstractmethod
    def potential(self, psi: Array) -> Array:
        """V at the points [1/time], from |ψ|²: a kick leaves it unchanged."""

    def kick(self, psi: Array, potential: Array, dt: ArrayLike) -> Array:
        """exp(−i V dt) ψ."""
        return Rotation.by(-dt * potential).apply(psi)

    @property
    def why_not_split(self) -> str:
        """Reason why a splitting would not solve this equation, and the remedy; empty if it would."""
        return ""
