"""Implicit–explicit multistep methods: the linear part implicitly, the rest extrapolated from earlier steps.

With ω = dt_n/dt_{n−1}, the weights of two steps of different sizes follow Wang and Ruuth. At the start there is
no earlier step: dt_{n−1} is infinite, so that ω = 0 and the method is its own first-order starting step, whose error
of one step, O(dt²), leaves the order as it is. CFL control keeps the order for the same reason.

A step may be shortened to meet a time, to almost nothing. A step after it of the usual size would extrapolate from two
points that lie side by side, and magnify their rounding by ω. So a short step leaves in the history what was there
before it, which then lies a longer step back; and where ω would be large all the same, a method starts anew, by a step
of an order less: few such steps leave the order as it is.

Three steps of different sizes have the weights of the polynomials that interpolate u and N at their times; the first
two steps are steps of a Runge–Kutta method of order 2, whose error of one step is O(dt³).

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

from solver.dynamics.driven import Driven
from solver.dynamics.equation import Equation
from solver.grid import Storage
from solver.operators import Fields
from solver.steppers.additive import IMEXRK2
from solver.steppers.stepper import Stepper

SHORT_STEP = 3 / 4  # of the step at which the history began: a step shorter than that leaves the history as it is
OLDEST = 3.0  # of that step: how far back the history may come to lie for it
LARGEST_RATIO = 16.0  # ω with which two steps magnify rounding little: beyond it they start anew
LARGEST_OF_THREE = 2.0  # the same of three steps, which magnify it by ω²


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
        """N and u at an earlier time (zeros before the first step), how long ago, infinite, and the step there."""
        nothing = jax.tree.map(jnp.zeros_like, fields)
        before = {"nonlinear": nothing, **_no_step(equation)}
        return {**before, "field": nothing} if self._holds_field else before

    def history_storage(self, fields: Mapping[str, Storage]) -> Any:
        before = {"nonlinear": dict(fields), "ago": None, "step": None}
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
        dt = jnp.asarray(dt, equation.grid.dtype)
        ratio = dt / history["ago"]
        w = self.weights(jnp.where(ratio > LARGEST_RATIO, 0, ratio))
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
        kept = {"nonlinear": now, "ago": dt, "step": dt}
        return after, _after_step(dt, history, {**kept, "field": fields} if self._holds_field else kept)


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
    step is at most 1.53 times the step before. CFL control keeps to 1.5 where no step is shortened to meet a time, and
    much shorter ones leave the history as it is; a step of more than twice the one before it starts the method anew.

    Source: Ascher, Ruuth & Wetton, SIAM J. Numer. Anal. 32 (1995) 797; Hairer, Nørsett & Wanner, Solving Ordinary
    Differential Equations I (1993), III.5, for steps of changing size.
    """

    name: ClassVar[str] = "sbdf3"
    order: ClassVar[int] = 3
    largest_decay: ClassVar[float] = 0.95
    stable_for: ClassVar[frozenset[str]] = frozenset({"real"})
    stages_held: ClassVar[int] = 5

    def start(self, equation: Equation, fields: Fields) -> Any:
        """u and N at two earlier times (none yet), how long before the next one, infinite, and the steps there."""
        nothing = jax.tree.map(jnp.zeros_like, fields)
        entry = {"field": nothing, "nonlinear": nothing, **_no_step(equation)}
        return {"last": entry, "last_but_one": entry}

    def history_storage(self, fields: Mapping[str, Storage]) -> Any:
        entry = {"field": dict(fields), "nonlinear": dict(fields), "ago": None, "step": None}
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
        now = {"field": fields, "nonlinear": equation.first_nonlinear(), "ago": dt, "step": dt}
        last, last_but_one = history["last"], history["last_but_one"]
        entries = (now, last, last_but_one)

        def go_on() -> Fields:
            # a step that was not taken counts as one like this: this branch may be traced beside the other
            before = [jnp.where(jnp.isinf(entry["ago"]), dt, entry["ago"]) / dt for entry in entries[1:]]
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

        largest = (LARGEST_OF_THREE * last["ago"], LARGEST_OF_THREE**2 * last_but_one["ago"])
        is_new = jnp.isinf(last_but_one["ago"]) | (dt > largest[0]) | (dt > largest[1])
        after = jax.lax.cond(is_new, begin, go_on)
        before = _kept_or_new(_is_short(dt, last), last_but_one, last)
        return after, {"last": _after_step(dt, last, now), "last_but_one": before}


def _no_step(equation: Any) -> dict[str, Any]:
    """Age of an entry of a history, and the size of the step that began there; before the first entry, infinity."""
    dtype = equation.grid.dtype
    return {"ago": jnp.asarray(jnp.inf, dtype), "step": jnp.zeros((), dtype)}


def _is_short(dt: Any, entry: Any) -> Any:
    """True if a step is so short against an entry's that the entry is to stay."""
    return (dt < SHORT_STEP * entry["step"]) & (entry["ago"] + dt < OLDEST * entry["step"])


def _kept_or_new(is_short: Any, old: Any, new: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(is_short, _split_as(b, a), b), old, new)


def _split_as(new: Any, old: Any) -> Any:
    """`old`, split as `new` is: with Explicit axes, rates of a budget are whole where they are old."""
    same = jax.typeof(new).sharding == jax.typeof(old).sharding
    return old if same else old + jnp.zeros_like(new)


def _after_step(dt: Any, entry: Any, new: Any) -> Any:
    """The last entry of a history after a step: as it was, longer ago, if the step was short."""
    return _kept_or_new(_is_short(dt, entry), {**entry, "ago": entry["ago"] + dt}, new)


def _less(entry: Any, origin: Fields) -> Any:
    """The entry of a step in a history, its fields counted from `origin`."""
    if "field" not in entry:
        return entry
    moved = {name: entry["field"][name] - start for name, start in origin.items()}
    return {**entry, "field": {**entry["field"], **moved}}


def backward_weights(times: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Weights for steps of any sizes, from interpolation; times in units of the step that ends at 0.

    Returns:
        Weights of (a) the derivative at 0 of the polynomial through values at 0 and at `times`, and (b) the value at 0
        of the polynomial through values at `times` alone.
    """
    values = []
    for j, s in enumerate(times):
        factors = [other / (other - s) for m, other in enumerate(times) if m != j]
        values.append(math.prod(factors[1:], start=factors[0]))
    slopes = [value / s for value, s in zip(values, times, strict=True)]
    return [-sum(1 / s for s in times), *slopes], values
