"""Operator splitting for Schrödinger equations: a method is the list of the Strang steps that it is composed of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.equation import SplitEquation
from solver.grid import Storage
from solver.operators import Fields
from solver.steppers.stepper import Stepper


class _Composition(Stepper):
    """Strang steps after one another, kick–drift–kick each: unitary, and time-reversible if they are symmetric.

    A kick leaves |ψ|² and so V as they are: the potential that ends one Strang step begins the next, and is the
    history. One potential and one drift per Strang step. Nothing is prepared for a given dt, so dt may change.

    Class attributes:
        fractions: size of each Strang step in units of dt; their sum is 1.
    """

    takes: ClassVar[Any] = SplitEquation
    stages_held: ClassVar[int] = 1
    fractions: ClassVar[tuple[float, ...]]

    def start(self, equation: SplitEquation, fields: Fields) -> Array:
        return equation.potential(fields["wavefunction"])

    def history_storage(self, fields: Mapping[str, Storage]) -> Storage:
        return Storage("points")

    def coefficients(self, equation: SplitEquation, dt: ArrayLike) -> tuple[()]:
        return ()

    def advance(
        self,
        equation: SplitEquation,
        fields: Fields,
        history: Array,
        t: ArrayLike,
        dt: ArrayLike,
        coefficients: tuple[()],
    ) -> Any:
        psi, potential = fields["wavefunction"], history
        for fraction in self.fractions:
            part = dt if fraction == 1 else fraction * dt
            psi = equation.drift(equation.kick(psi, potential, part / 2), part)
            potential = equation.potential(psi)
            psi = equation.kick(psi, potential, part / 2)
        return {"wavefunction": psi}, potential


class Strang(_Composition):
    """Kick–drift–kick: exp(−iV dt/2) exp(−iT dt) exp(−iV dt/2), order 2, unitary and time-reversible.

    Source: Strang, SIAM J. Numer. Anal. 5 (1968) 506.
    """

    name: ClassVar[str] = "strang"
    order: ClassVar[int] = 2
    fractions: ClassVar[tuple[float, ...]] = (1,)


W = 1 / (2 - 2 ** (1 / 3))


class Yoshida4(_Composition):
    """Three Strang steps of w, 1 − 2w and w, w = 1/(2 − 2^⅓): order 4, unitary and time-reversible, three drifts.

    The middle one goes back in time by 1.7 dt, so that a step must be shorter than one of `strang` to pay.

    Source: Yoshida, Phys. Lett. A 150 (1990) 262.
    """

    name: ClassVar[str] = "yoshida4"
    order: ClassVar[int] = 4
    fractions: ClassVar[tuple[float, ...]] = (W, 1 - 2 * W, W)
