"""Operator splitting for Schrödinger equations: a method is the list of the Strang steps that it is composed of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.equation import SplitEquation
from solver.dynamics.splittable import Splittable
from solver.grid import Storage
from solver.operators import Fields
from solver.steppers.stepper import Prepared, Stepper


class _Composition(Stepper):
    """Strang steps after one another: unitary, and time-reversible if they are symmetric.

    Of a field that is held at the points each is kick, drift, kick. A kick leaves |ψ|² and so V as they are: the
    potential that ends one Strang step begins the next, and is the history. Of a field that is held as modes each is
    drift, kick, drift, without a history. Either way a Strang step costs one potential and one transform each way.

    Class attributes:
        fractions: size of each Strang step in units of dt; their sum is 1.
    """

    takes: ClassVar[Any] = Splittable
    stages_held: ClassVar[int] = 1
    fractions: ClassVar[tuple[float, ...]]

    @classmethod
    def why_not(cls, equation: Any) -> str:
        return str(equation.why_not_split)

    def start(self, equation: Any, fields: Fields) -> Any:
        return equation.potential(fields["wavefunction"]) if isinstance(equation, SplitEquation) else ()

    def history_storage(self, fields: Mapping[str, Storage]) -> Storage | None:
        at_points = Storage("points")
        return at_points if fields["wavefunction"] == at_points else None

    def coefficients(self, equation: Any, dt: ArrayLike) -> Any:
        """Nothing for a field at the points; of one held as modes exp(½ w dt L) for each fraction w."""
        if isinstance(equation, SplitEquation):
            return ()
        linear = equation.linear()
        drifts = {str(part): linear.exp(0.5 * part * dt) for part in set(self.fractions)}
        return Prepared(jnp.asarray(dt, equation.grid.dtype), drifts, equation.prepare_kicks(dt))

    def advance(
        self, equation: Any, fields: Fields, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: Any
    ) -> Any:
        if isinstance(equation, SplitEquation):
            return self._advance_points(equation, fields["wavefunction"], history, dt)
        return self._advance_modes(equation.equation, fields, dt, coefficients.of(dt)), history

    def _advance_points(self, equation: SplitEquation, psi: Array, potential: Array, dt: ArrayLike) -> Any:
        for fraction in self.fractions:
            part = dt if fraction == 1 else fraction * dt
            psi = equation.drift(equation.kick(psi, potential, part / 2), part)
            potential = equation.potential(psi)
            psi = equation.kick(psi, potential, part / 2)
        return {"wavefunction": psi}, potential

    def _advance_modes(self, equation: Any, fields: Fields, dt: ArrayLike, drifts: Mapping[str, Any]) -> Fields:
        for fraction in self.fractions:
            half = drifts[str(fraction)]
            fields = half.apply(fields)
            psi = equation.transform.inverse(fields["wavefunction"])
            psi = equation.kick(psi, equation.potential(psi), fraction * dt)
            fields = half.apply({**fields, "wavefunction": equation.transform.forward(psi)})
        return fields


class Strang(_Composition):
    """exp(−iV dt/2) exp(−iT dt) exp(−iV dt/2), or with T and V exchanged: order 2, unitary and time-reversible.

    `gross-pitaevskii` and `schroedinger-poisson` start with V, `nonlinear-schroedinger` (undamped, dealias `none`)
    with T.

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
