"""Implicit–explicit multistep methods: the linear part implicitly, the rest extrapolated from earlier steps.

With ω = dt_n/dt_{n−1}, the weights of two steps of different sizes are those of Wang and Ruuth. At the start there is
no earlier step: dt_{n−1} is infinite, so that ω = 0 and the method is its own first-order starting step, whose error
of one step, O(dt²), leaves the order as it is. A shortened step or CFL control keeps the order for the same reason.

Three steps of different sizes have the weights of the polynomials that interpolate u and N at their times; the first
two steps are those of a Runge–Kutta method of order 2, whose error of one step is O(dt³).

Source: Wang & Ruuth, J. Comput. Math. 26 (2008) 838.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from solver.equations.base import Equation
from solver.equations.driven import Driven
from solver.grid import Storage
from solver.operators import Fields
from solver.steppers.additive import IMEXRK2
from solver.steppers.base import Stepper


@dataclass(frozen=True)
class Weights:
    """(a_new u⁺ + a_now u_n + a_old u_{n−1})/dt = b_now N_n + b_old N_{n−1} + L (g_new u⁺ + g_now u_n)."""

    a: tuple[Any, Any, Any]
    b: tuple[Any, Any]
    g: tuple[Any, Any]


class _TwoStep(Stepper):
    """Two-step implicit–explicit method; one evaluation of N and one solve per step."""

    stages_held: ClassVar[int] = 2

    @abstractmethod
    def weights(self, ratio: Any) -> Weights:
        """The tableau, for a ratio ω of this step to the one before."""

    def start(self, equation: Equation, fields: Fields) -> Any:
        """N and u of the step before (zeros: there is none yet), and its size, infinite."""
        nothing = jax.tree.map(jnp.zeros_like, fields)
        before = {"nonlinear": nothing, "dt": jnp.asarray(jnp.inf, equation.grid.dtype)}
        return {**before, "field": nothing} if self._holds_field else before

    def history_storage(self, fields: Mapping[str, Storage]) -> Any:
        before = {"nonlinear": dict(fields), "dt": None}
        return {**before, "field": dict(fields)} if self._holds_field else before

    def counted_from(self, history: Any, origin: Fields) -> Any:
        return _less(history, origin)

    @property
    def _holds_field(self) -> bool:
        return bool(self.weights(1.0).a[2])

    def coefficients(self, equation: Driven, dt: ArrayLike) -> tuple[()]:
        """No coefficients: the weights depend on the step before, too."""
        return ()

    def advance(
        self, equation: Driven, fields: Fields, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: tuple[()]
    ) -> Any:
        w = self.weights(dt / history["dt"])
        linear = equation.linear()
        now = equation.first_nonlinear()
        right = {
            name: dt * (w.b[0] * now[name] + w.b[1] * history["nonlinear"][name]) - w.a[1] * u
            for name, u in fields.items()
        }
        if self._holds_field:
            right = {name: r - w.a[2] * history["field"][name] for name, r in right.items()}
        if w.g[1]:
            half = linear.apply(fields)
            right = {name: r + (dt * w.g[1]) * half[name] for name, r in right.items()}
        after = linear.solve(w.a[0], dt * w.g[0]).apply(right)
        kept = {"nonlinear": now, "dt": jnp.asarray(dt, equation.grid.dtype)}
        return after, ({**kept, "field": fields} if self._holds_field else kept)


class CNAB2(_TwoStep):
    """Crank–Nicolson and Adams–Bashforth: order 2, stable for any linear part, but it does not damp stiff modes.

    Source: Wang & Ruuth (2008).
    """

    name: ClassVar[str] = "cnab2"
    order: ClassVar[int] = 2
    largest_decay: ClassVar[float] = 1.0

    def weights(self, ratio: Any) -> Weights:
        return Weights((1, -1, 0), (1 + ratio / 2, -ratio / 2), (0.5, 0.5))


class SBDF2(_TwoStep):
    """Semi-implicit backward differences: order 2, damps stiff modes strongly.

    Source: Wang & Ruuth (2008); Ascher, Ruuth & Wetton, SIAM J. Numer. Anal. 32 (1995) 797.
    """

    name: ClassVar[str] = "sbdf2"
    order: ClassVar[int] = 2
    largest_decay: ClassVar[float] = 4 / 3

    def weights(self, ratio: Any) -> Weights:
        a = ((1 + 2 * ratio) / (1 + ratio), -(1 + ratio), ratio * ratio / (1 + ratio))
        return Weights(a, (1 + ratio, -ratio), (1, 0))


class SBDF3(Stepper):
    """Semi-implicit backward differences: order 3, one evaluation of N and one solve per step, damps stiff modes.

    Use it for real linear parts only: it makes slow waves grow. Steps may change; the method stays stable where each
    step is at most 1.53 times the step before, and CFL control keeps below that.

    Source: Ascher, Ruuth & Wetton, SIAM J. Numer. Anal. 32 (1995) 797; Hairer, Nørsett & Wanner, Solving Ordinary
    Differential Equations I (1993), III.5, for steps of changing size.
    """

    name: ClassVar[str] = "sbdf3"
    order: ClassVar[int] = 3
    largest_decay: ClassVar[float] = 0.95
    stable_for: ClassVar[frozenset[str]] = frozenset({"real"})
    stages_held: ClassVar[int] = 5

    def start(self, equation: Equation, fields: Fields) -> Any:
        """u, N and the size of the last two steps: none yet, and infinite."""
        nothing = jax.tree.map(jnp.zeros_like, fields)
        entry = {"field": nothing, "nonlinear": nothing, "dt": jnp.asarray(jnp.inf, equation.grid.dtype)}
        return {"last": entry, "last_but_one": entry}

    def history_storage(self, fields: Mapping[str, Storage]) -> Any:
        entry = {"field": dict(fields), "nonlinear": dict(fields), "dt": None}
        return {"last": entry, "last_but_one": entry}

    def counted_from(self, history: Any, origin: Fields) -> Any:
        return {name: _less(entry, origin) for name, entry in history.items()}

    def coefficients(self, equation: Driven, dt: ArrayLike) -> tuple[()]:
        """No coefficients: the weights depend on the steps before, too."""
        return ()

    def advance(
        self, equation: Driven, fields: Fields, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: tuple[()]
    ) -> Any:
        dt = jnp.asarray(dt, equation.grid.dtype)
        now = {"field": fields, "nonlinear": equation.first_nonlinear(), "dt": dt}
        entries = (now, history["last"], history["last_but_one"])

        def go_on() -> Fields:
            # a step that was not taken counts as one like this: this branch may be traced beside the other
            before = [jnp.where(jnp.isinf(entry["dt"]), dt, entry["dt"]) / dt for entry in entries[1:]]
            a, b = backward_weights((-1.0, -1.0 - before[0], -1.0 - before[0] - before[1]))
            right = {
                name: sum(
                    dt * b[j] * entry["nonlinear"][name] - a[j + 1] * entry["field"][name]
                    for j, entry in enumerate(entries)
                )
                for name in fields
            }
            return equation.linear().solve(a[0], dt).apply(right)

        def begin() -> Fields:
            starter = IMEXRK2()
            return starter.advance(equation, fields, (), t, dt, starter.coefficients(equation, dt))[0]

        after = jax.lax.cond(jnp.isinf(history["last_but_one"]["dt"]), begin, go_on)
        return after, {"last": now, "last_but_one": history["last"]}


def _less(entry: Any, origin: Fields) -> Any:
    """One step's entry of a history, its fields counted from `origin`."""
    if "field" not in entry:
        return entry
    moved = {name: entry["field"][name] - start for name, start in origin.items()}
    return {**entry, "field": {**entry["field"], **moved}}


def backward_weights(times: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Weights for steps of any sizes, from interpolation; times in units of the step that ends at 0.

    Returns:
        Those of the derivative at 0 of the polynomial through values at 0 and at `times`, and those of the value at 0
        of the polynomial through values at `times` alone.
    """
    values = []
    for j, s in enumerate(times):
        factors = [other / (other - s) for m, other in enumerate(times) if m != j]
        values.append(math.prod(factors[1:], start=factors[0]))
    slopes = [value / s for value, s in zip(values, times, strict=True)]
    return [-sum(1 / s for s in times), *slopes], values
