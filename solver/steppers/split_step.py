"""Operator splitting for Schrödinger equations."""

from __future__ import annotations

from typing import Any, ClassVar

from jax.typing import ArrayLike
from jaxtyping import Array

from solver.equations.base import SplitEquation
from solver.operators import Fields
from solver.steppers.base import Stepper


class Strang(Stepper):
    """Kick–drift–kick: exp(−iV dt/2) exp(−iT dt) exp(−iV dt/2), order 2, unitary and time-reversible.

    A kick leaves |ψ|² and so V as they are: the potential that ends one step begins the next, and is the
    history. One potential and one drift per step. Nothing is prepared for a given dt, so dt may change.

    Source: Strang, SIAM J. Numer. Anal. 5 (1968) 506.
    """

    name: ClassVar[str] = "strang"
    order: ClassVar[int] = 2
    takes: ClassVar[Any] = SplitEquation
    stages_held: ClassVar[int] = 1

    def start(self, equation: SplitEquation, fields: Fields) -> Array:
        return equation.potential(fields["wavefunction"])

    def coefficients(self, equation: SplitEquation, dt: ArrayLike) -> tuple[()]:
        return ()

    def step(
        self,
        equation: SplitEquation,
        fields: Fields,
        history: Array,
        t: ArrayLike,
        dt: ArrayLike,
        coefficients: tuple[()],
    ) -> Any:
        psi = equation.kick(fields["wavefunction"], history, dt / 2)
        psi = equation.drift(psi, dt)
        potential = equation.potential(psi)
        return {"wavefunction": equation.kick(psi, potential, dt / 2)}, potential
