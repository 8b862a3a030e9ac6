"""Exponential time differencing: the linear part exactly, the rest integrated against its propagator.

A method is a list of rows. Row i makes a stage value (the last row the result) from an earlier stage s and the
evaluations N_j so far, over a fraction w of the step:

    u_i = exp(w z) u_s + w dt Σ_j (Σ_k a_jk φ_k(w z)) N_j,   z = L dt

and, in one method, by φ-functions of the whole step too: + dt Σ_j (Σ_k b_jk φ_k(z)) N_j.

For stiff L, real, imaginary or complex, diagonal or matrices. With a changing dt all coefficients are recomputed.

Source: Cox & Matthews, J. Comput. Phys. 176 (2002) 430; coefficients written with φ-functions, which are evaluated by
series near zero instead of the contours of Kassam & Trefethen, SIAM J. Sci. Comput. 26 (2005) 1214.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from solver.dynamics.driven import Driven
from solver.operators import Fields, LinearOperator
from solver.steppers.stepper import Prepared, Stepper

Weights = tuple[tuple[int, float], ...]  # (k, a_k): Σ a_k φ_k


@dataclass(frozen=True)
class Row:
    """A stage of an exponential Runge–Kutta method.

    Args:
        over: w, the fraction of the step that it covers.
        terms: j → {k: a_jk}, the weights of φ_k for each evaluation N_j.
        start: s, the stage that it starts from; 0 is u itself.
        node: time of the stage value in units of dt.
        whole: j → {k: b_jk}, the weights of φ_k of the whole step.
    """

    over: float
    terms: dict[int, dict[int, float]]
    start: int = 0
    node: float = 1.0
    whole: dict[int, dict[int, float]] = field(default_factory=dict)

    @cached_property
    def grouped(self) -> dict[tuple[float, Weights], dict[int, float]]:
        """Evaluations that share a combination of φ-functions up to a factor: (fraction of the step, combination) →
        {j: factor}."""
        groups: dict[tuple[float, Weights], dict[int, float]] = {}
        for over, terms in ((self.over, self.terms), (1.0, self.whole)):
            for j, weights in terms.items():
                lead = weights[min(weights)]
                key = tuple((k, a / lead) for k, a in sorted(weights.items()))
                groups.setdefault((over, key), {})[j] = lead
        return groups


class _ETDRK(Stepper):
    """Class attributes: rows, the tableau."""

    exact_linear: ClassVar[bool] = True
    exact_companions: ClassVar[bool] = True
    rows: ClassVar[tuple[Row, ...]]

    def coefficients(self, equation: Driven, dt: ArrayLike) -> Prepared:
        """exp(w L dt) for the smallest w (others are powers of it), and w dt Σ_k a_k φ_k(w L dt) by combination."""
        linear = equation.linear_with_companions()
        operators: dict[str, LinearOperator] = {"exp": linear.exp(self._smallest() * dt)}
        for row in self.rows:
            for over, key in row.grouped:
                if _name(over, key) not in operators:
                    phi = linear.phi(dict(key), over * dt)
                    operators[_name(over, key)] = jax.tree.map(lambda a, over=over: over * dt * a, phi)
        return Prepared(jnp.asarray(dt, equation.grid.dtype), operators, equation.prepare_kicks(dt))

    def _smallest(self) -> float:
        return min(row.over for row in self.rows)

    def advance(
        self, equation: Driven, fields: Fields, history: tuple[()], t: ArrayLike, dt: ArrayLike, coefficients: Any
    ) -> Any:
        coefficients = coefficients.of(dt)
        stages, node = [fields], 0.0
        evaluated: list[Fields] = []
        for row in self.rows:
            later = (stages[-1], t + node * dt if node else t, len(evaluated))
            change = equation.nonlinear(*later) if evaluated else equation.first_nonlinear()
            evaluated.append(equation.without_linear_parts(change, stages[-1]))
            value = stages[row.start]
            for _ in range(round(row.over / self._smallest())):
                value = coefficients["exp"].apply(value)
            for (over, key), factors in row.grouped.items():
                part = coefficients[_name(over, key)].apply(_combined(factors, evaluated))
                value = {name: value[name] + part[name] for name in value}
            stages.append(value)
            node = row.node
        return stages[-1], history


def _name(over: float, key: Weights) -> str:
    return f"{over}: " + " ".join(f"{a:+g}φ{k}" for k, a in key)


def _combined(factors: dict[int, float], evaluated: list[Fields]) -> Fields:
    """Σ_j factor_j N_j."""
    total: Fields = {}
    for j, factor in sorted(factors.items()):
        part = evaluated[j] if factor == 1 else {name: factor * n for name, n in evaluated[j].items()}
        total = {name: total[name] + n for name, n in part.items()} if total else part
    return total


class ETDRK2(_ETDRK):
    """Two stages of Cox and Matthews: order 2, two evaluations of N.

    Source: Cox & Matthews (2002), equations 20–22.
    """

    name: ClassVar[str] = "etdrk2"
    order: ClassVar[int] = 2
    largest_decay: ClassVar[float] = 2.0
    stages_held: ClassVar[int] = 3
    rows: ClassVar[tuple[Row, ...]] = (Row(1, {0: {1: 1}}), Row(1, {0: {1: 1, 2: -1}, 1: {2: 1}}))


class ETDRK3(_ETDRK):
    """Three stages of Cox and Matthews: order 3, three evaluations of N.

    Source: Cox & Matthews (2002), equations 23–25.
    """

    name: ClassVar[str] = "etdrk3"
    order: ClassVar[int] = 3
    largest_decay: ClassVar[float] = 2.51
    stages_held: ClassVar[int] = 4
    rows: ClassVar[tuple[Row, ...]] = (
        Row(0.5, {0: {1: 1}}, node=0.5),
        Row(1, {0: {1: -1}, 1: {1: 2}}),
        Row(1, {0: {1: 1, 2: -3, 3: 4}, 1: {2: 4, 3: -8}, 2: {2: -1, 3: 4}}),
    )


class ETDRK4(_ETDRK):
    """Four stages of Cox and Matthews: order 4, four evaluations of N.

    Source: Cox & Matthews (2002), equations 26–29.
    """

    name: ClassVar[str] = "etdrk4"
    order: ClassVar[int] = 4
    largest_decay: ClassVar[float] = 2.78
    stages_held: ClassVar[int] = 5
    rows: ClassVar[tuple[Row, ...]] = (
        Row(0.5, {0: {1: 1}}, node=0.5),
        Row(0.5, {1: {1: 1}}, node=0.5),
        Row(0.5, {0: {1: -1}, 2: {1: 2}}, start=1),
        Row(1, {0: {1: 1, 2: -3, 3: 4}, 1: {2: 2, 3: -4}, 2: {2: 2, 3: -4}, 3: {2: -1, 3: 4}}),
    )


class Krogstad4(_ETDRK):
    """Four stages of Krogstad: order 4, four evaluations of N. It errs less than `etdrk4`.

    Between rigid walls, where N has no values of a smooth field at the wall, its order stays near 4.

    Source: Krogstad, J. Comput. Phys. 203 (2005) 72.
    """

    name: ClassVar[str] = "krogstad4"
    order: ClassVar[int] = 4
    largest_decay: ClassVar[float] = 2.78
    stages_held: ClassVar[int] = 5
    rows: ClassVar[tuple[Row, ...]] = (
        Row(0.5, {0: {1: 1}}, node=0.5),
        Row(0.5, {0: {1: 1, 2: -2}, 1: {2: 2}}, node=0.5),
        Row(1, {0: {1: 1, 2: -2}, 2: {2: 2}}),
        Row(1, {0: {1: 1, 2: -3, 3: 4}, 1: {2: 2, 3: -4}, 2: {2: 2, 3: -4}, 3: {2: -1, 3: 4}}),
    )


class ETDRK5S4(_ETDRK):
    """Five stages of Hochbruck and Ostermann: order 4 for every L that damps, five evaluations of N.

    Its order does not depend on the smoothness of N, so that it holds at walls.

    Source: Hochbruck & Ostermann, SIAM J. Numer. Anal. 43 (2005) 1069, equation 5.19.
    """

    name: ClassVar[str] = "etdrk5s4"
    order: ClassVar[int] = 4
    largest_decay: ClassVar[float] = 2.78
    stages_held: ClassVar[int] = 6
    rows: ClassVar[tuple[Row, ...]] = (
        Row(0.5, {0: {1: 1}}, node=0.5),
        Row(0.5, {0: {1: 1, 2: -2}, 1: {2: 2}}, node=0.5),
        Row(1, {0: {1: 1, 2: -2}, 1: {2: 1}, 2: {2: 1}}),
        Row(
            0.5,
            {0: {1: 1, 2: -1.5, 3: 1}, 1: {2: 1, 3: -1}, 2: {2: 1, 3: -1}, 3: {2: -0.5, 3: 1}},
            node=0.5,
            whole={0: {2: -0.25, 3: 1}, 1: {2: 0.25, 3: -1}, 2: {2: 0.25, 3: -1}, 3: {2: -0.25, 3: 1}},
        ),
        Row(1, {0: {1: 1, 2: -3, 3: 4}, 3: {2: -1, 3: 4}, 4: {2: 4, 3: -8}}),
    )
