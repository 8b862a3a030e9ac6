"""Additive Runge–Kutta methods: stages implicit in the linear part, explicit in the rest, with one solve for all.

    (1 − γ dt L) U_i = u + dt Σ_{j<i} (a_ij N_j + ã_ij L U_j),   u⁺ = u + dt Σ_j b_j (N_j + L U_j)

A method is two tableaus, a and ã, with the same nodes c. ã has γ on its diagonal but for the first stage, which is u
itself, and the weights b of L as its last row: u⁺ = U_s + dt Σ_j (b_j − a_sj) N_j, so that stiff modes are damped as by
the last solve, and round-off is not multiplied by L dt. One-step methods: dt may change freely.

Source: Kennedy & Carpenter, Appl. Numer. Math. 44 (2003) 139; Ascher, Ruuth & Spiteri, Appl. Numer. Math. 25 (1997)
151.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike

from solver.dynamics.budget import without_budget
from solver.dynamics.driven import Driven
from solver.operators import Fields, LinearOperator
from solver.steppers.stepper import Prepared, Stepper, fractions

Numbers = tuple[Any, ...]  # fractions, or floats where the numbers are irrational


class _AdditiveRK(Stepper):
    """Class attributes:
    nodes: c_i, the times of the stages in units of dt.
    explicit, implicit: rows of a and ã below the diagonal, from the second stage on.
    diagonal: γ.
    weights: b_j of N.
    """

    nodes: ClassVar[Numbers]
    explicit: ClassVar[tuple[Numbers, ...]]
    implicit: ClassVar[tuple[Numbers, ...]]
    diagonal: ClassVar[Any]
    weights: ClassVar[Numbers]

    def coefficients(self, equation: Driven, dt: ArrayLike) -> Prepared:
        """(1 − γ dt L)⁻¹, the same for all stages."""
        solve = equation.linear().solve(1, float(self.diagonal) * dt)
        return Prepared(jnp.asarray(dt, equation.grid.dtype), solve)

    def advance(
        self, equation: Driven, fields: Fields, history: tuple[()], t: ArrayLike, dt: ArrayLike, coefficients: Any
    ) -> Any:
        after, _, _ = self._stages(equation, fields, t, dt, coefficients.of(dt), self._last())
        return after, history

    def _last(self) -> Numbers:
        """b_j − a_sj, what N_j adds to the last stage."""
        return tuple(b - a for b, a in zip(self.weights, (*self.explicit[-1], 0), strict=True))

    def _stages(
        self, equation: Driven, fields: Fields, t: ArrayLike, dt: ArrayLike, solve: LinearOperator, last: Numbers
    ) -> tuple[Fields, dict[int, Fields], dict[int, Fields]]:
        """u⁺, and N_j and L U_j of the stages; of the last one N only if it has a weight in `last`."""
        linear = equation.linear()
        stage = fields
        changes: dict[int, Fields] = {}
        moved: dict[int, Fields] = {}
        for i, c in enumerate(self.nodes):
            if i:
                right = _sum(fields, dt, [(self.explicit[i - 1], changes), (self.implicit[i - 1], moved)])
                stage = solve.apply(right)
            if i + 1 < len(self.nodes) or last[i]:
                later = t + float(c) * dt if c else t
                changes[i] = equation.nonlinear(stage, later, i) if i else equation.first_nonlinear()
            moved[i] = linear.apply(stage)
        return _sum(stage, dt, [(last, changes)]), changes, moved


def _sum(start: Fields, dt: ArrayLike, parts: Sequence[tuple[Numbers, Mapping[int, Fields]]]) -> Fields:
    """start + dt Σ weight_j change_j over all parts."""
    terms = [(float(w), changes[j]) for weights, changes in parts for j, w in enumerate(weights) if w]
    return {name: u + dt * sum(w * change[name] for w, change in terms) if terms else u for name, u in start.items()}


G = 1 - math.sqrt(0.5)


class IMEXRK2(_AdditiveRK):
    """Ascher, Ruuth and Spiteri's ARS(2,2,2): order 2, two evaluations of N and two solves, damps stiff modes strongly.

    Source: Ascher, Ruuth & Spiteri (1997), section 2.6.
    """

    name: ClassVar[str] = "imexrk2"
    order: ClassVar[int] = 2
    largest_decay: ClassVar[float] = 2.0
    stages_held: ClassVar[int] = 5
    nodes: ClassVar[Numbers] = (0, G, 1)
    explicit: ClassVar[tuple[Numbers, ...]] = ((G,), (1 - 1 / (2 * G), 1 / (2 * G)))
    implicit: ClassVar[tuple[Numbers, ...]] = ((0,), (0, 1 - G))
    diagonal: ClassVar[Any] = G
    weights: ClassVar[Numbers] = (1 - 1 / (2 * G), 1 / (2 * G), 0)


class IMEXRK3(_AdditiveRK):
    """Kennedy and Carpenter: order 3, four evaluations of N and three solves, damps stiff modes strongly.

    Its embedded solution of order 2 gives the error of a step.

    Source: Kennedy & Carpenter (2003), whose name for it is ARK3(2)4L[2]SA.
    """

    name: ClassVar[str] = "imexrk3"
    order: ClassVar[int] = 3
    largest_decay: ClassVar[float] = 3.66
    error_order: ClassVar[int | None] = 2
    stages_held: ClassVar[int] = 8
    nodes: ClassVar[Numbers] = fractions("0", "1767732205903/2027836641118", "3/5", "1")
    explicit: ClassVar[tuple[Numbers, ...]] = (
        fractions("1767732205903/2027836641118"),
        fractions("5535828885825/10492691773637", "788022342437/10882634858940"),
        fractions(
            "6485989280629/16251701735622", "-4246266847089/9704473918619", "10755448449292/10357097424841"
        ),
    )  # fmt: skip
    implicit: ClassVar[tuple[Numbers, ...]] = (
        fractions("1767732205903/4055673282236"),
        fractions("2746238789719/10658868560708", "-640167445237/6845629431997"),
        fractions(
            "1471266399579/7840856788654", "-4482444167858/7529755066697", "11266239266428/11593286722821"
        ),
    )  # fmt: skip
    diagonal: ClassVar[Any] = Fraction("1767732205903/4055673282236")
    weights: ClassVar[Numbers] = (*implicit[-1], diagonal)
    embedded: ClassVar[Numbers] = fractions(
        "2756255671327/12835298489170",
        "-10771552573575/22201958757719",
        "9247589265047/10645013368117",
        "2193209047091/5459859503100",
    )

    def advance_with_error(
        self, equation: Driven, fields: Fields, history: tuple[()], t: ArrayLike, dt: ArrayLike, coefficients: Any
    ) -> tuple[Fields, tuple[()], Fields]:
        """Fields and history one step of size dt later, and the difference to the embedded solution of order 2."""
        after, changes, moved = self._stages(equation, fields, t, dt, coefficients.of(dt), self._last())
        differences = tuple(b - other for b, other in zip(self.weights, self.embedded, strict=True))
        nothing = {name: 0 * u for name, u in fields.items()}
        error = _sum(nothing, dt, [(differences, changes), (differences, moved)])
        return after, history, without_budget(error)
