"""Operator splitting for Schrödinger equations: a method is the list of the Strang steps that it is composed of."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.split_equation import SplitEquation
from solver.dynamics.splittable import Splittable
from solver.grid import Storage
from solver.operators import Fields, Rotation
from solver.steppers.stepper import Prepared, Stepper


class _Composition(Stepper):
    """Strang steps after one another: unitary, and time-reversible if they are symmetric.

    A drift is exp(−i T dt), in which the time advances; a kick is exp(−i V dt) at one time. Of wavefunctions that are
    held at the points each Strang step is kick, drift, kick. A kick leaves |ψ|² and so V as they are: the potential
    that ends one Strang step begins the next, and is the history. Of wavefunctions that are held as modes each is
    drift, kick, drift, without a history. Either way a Strang step costs one potential and one transform each way.
    Several wavefunctions share the exchange of a transform.

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
        return equation.split_potential(equation.join(fields)) if isinstance(equation, SplitEquation) else ()

    def history_storage(self, fields: Mapping[str, Storage]) -> Storage | None:
        at_points = Storage("points")
        return at_points if all(storage == at_points for storage in fields.values()) else None

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
            return self._advance_points(equation, fields, history, t, dt)
        return self._advance_modes(equation.equation, fields, t, dt, coefficients.of(dt)), history

    def _advance_points(
        self, equation: SplitEquation, fields: Fields, potential: Array, t: ArrayLike, dt: ArrayLike
    ) -> Any:
        psi = equation.join(fields)
        for fraction, after in zip(self.fractions, accumulate(self.fractions), strict=True):
            part = dt if fraction == 1 else fraction * dt
            psi = equation.drift(_kicked(psi, potential, part / 2), part)
            potential = equation.split_potential(psi, t + after * dt)
            psi = _kicked(psi, potential, part / 2)
        return equation.split(psi), potential

    def _advance_modes(
        self, equation: Any, fields: Fields, t: ArrayLike, dt: ArrayLike, drifts: Mapping[str, Any]
    ) -> Fields:
        for fraction, after in zip(self.fractions, accumulate(self.fractions), strict=True):
            half, middle, size = drifts[str(fraction)], t + (after - fraction / 2) * dt, fraction * dt
            fields = _drifted(equation, half, fields, middle - size / 2, size / 2)
            psi = equation.transform.inverse(equation.join(fields))
            psi = _kicked(psi, equation.split_potential(psi, middle), size)
            fields = equation.split(equation.transform.forward(psi))
            fields = _drifted(equation, half, fields, middle, size / 2)
        return fields


def _drifted(equation: Any, constant: Any, fields: Fields, t: ArrayLike, dt: ArrayLike) -> Fields:
    """exp(−i T dt) ψ from time t on; `constant` is the part of it that depends on dt alone."""
    varying = equation.varying_linear
    return constant.apply(fields if varying is None else varying.exp(t, dt).apply(fields))


def _kicked(psi: Array, potential: Array, dt: ArrayLike) -> Array:
    """exp(−i V dt) ψ."""
    return Rotation.by(-dt * potential).apply(psi)


class Strang(_Composition):
    """exp(−iV dt/2) exp(−iT dt) exp(−iV dt/2), or with T and V exchanged: order 2, unitary and time-reversible.

    `gross-pitaevskii` and `schroedinger-poisson` start with V. Texts of one wavefunction or several start with T, with
    dealias `none`: each wavefunction has a real potential that depends on all |ψ|², the place and the time. Among them
    are `nonlinear-schroedinger` without damping, and `coupled-gross-pitaevskii`. Linear terms belong to T, and so does
    a coherent coupling of two wavefunctions.

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
