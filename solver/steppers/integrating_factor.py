"""Integrating-factor Runge–Kutta methods: the linear part exactly, the rest by an explicit scheme.

With v = exp(−L t) û the equation is v_t = exp(−L t) N. Every stage is carried in the frame of its own time, so that a
stage needs exp(L (c_{i+1} − c_i) dt) alone. Exact where N = 0, for any L. Good where L is not stiff against N
(viscosity); for stiff, forced balances take an exponential method, whose error does not grow with L.

Linear terms Λ(t) that depend on time are in N. Where they are diagonal, as L is, they are taken out of N, and exp ∫Λ dt
from stage to stage is worked out in each step.

Source of the idea: Canuto, Hussaini, Quarteroni & Zang, Spectral Methods (2007), appendix D.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from solver.dynamics.driven import Driven, InTime
from solver.operators import Fields, LinearOperator
from solver.steppers.stepper import Prepared, Stepper, axpy, fractions, scaled

Factors = dict[str, LinearOperator]  # exp(gap · L dt) by gap


class _IntegratingFactor(Stepper):
    """Shared by both families: factors between the times of the stages.

    Class attributes:
        nodes: c_i, the times of the stages in units of dt, never decreasing.
    """

    exact_linear: ClassVar[bool] = True
    for_walls: ClassVar[bool] = False
    nodes: ClassVar[tuple[Fraction, ...]]

    def gaps(self) -> list[Fraction]:
        """Time from each stage to the next, the last to the end of the step."""
        ends = (*self.nodes[1:], Fraction(1))
        return [after - before for before, after in zip(self.nodes, ends, strict=True)]

    def coefficients(self, equation: Driven, dt: ArrayLike) -> Prepared:
        """exp(gap · L dt) for each gap between stages that is not zero."""
        linear = equation.linear()
        factors = {str(gap): linear.exp(_fraction_of(dt, gap)) for gap in sorted(set(self.gaps())) if gap}
        return Prepared(jnp.asarray(dt, equation.grid.dtype), factors, equation.prepare_kicks(dt))

    def _of_step(self, equation: Driven, factors: Factors, t: ArrayLike, dt: ArrayLike) -> _Frames:
        """The frames of the stages of one step."""
        varying, gaps = equation.varying_linear(), self.gaps()
        later = [
            varying.exp(_later(t, dt, c), _fraction_of(dt, gap)) if varying is not None and gap else None
            for c, gap in zip(self.nodes, gaps, strict=True)
        ]
        return _Frames(equation, [factors[str(gap)] if gap else None for gap in gaps], later, varying)


class _Frames:
    """The frame of each stage, in which the linear part does nothing.

    Args:
        equation: equation during the step.
        constant: exp(L dt) from each stage to the next; None where both are at one time.
        later: exp ∫Λ dt likewise; None without a Λ, too.
        varying: Λ; None without one.
    """

    def __init__(
        self,
        equation: Driven,
        constant: Sequence[LinearOperator | None],
        later: Sequence[LinearOperator | None],
        varying: InTime | None,
    ) -> None:
        self.equation, self.constant, self.later, self.varying = equation, constant, later, varying

    def nonlinear(self, fields: Fields, t: ArrayLike, i: int) -> Fields:
        """N of stage i without Λ."""
        n = self.equation.nonlinear(fields, t, i) if i else self.equation.first_nonlinear()
        return n if self.varying is None else self.varying.taken_from(n, fields, t)

    def moved(self, i: int, fields: Fields) -> Fields:
        """Fields carried from the frame of stage i to the frame of the next stage."""
        for factor in (self.constant[i], self.later[i]):
            fields = fields if factor is None else factor.apply(fields)
        return fields


class _ChainRK(_IntegratingFactor):
    """Explicit Runge–Kutta whose stage i + 1 starts from u and uses N of stage i alone: a_{i+1,i} = c_{i+1}.

    Class attributes:
        weights: b_i.
        embedded: weights of the method of order `error_order` on the same stages.
    """

    weights: ClassVar[tuple[Fraction, ...]]
    embedded: ClassVar[tuple[Fraction, ...]]

    def advance(
        self, equation: Driven, fields: Fields, history: tuple[()], t: ArrayLike, dt: ArrayLike, coefficients: Prepared
    ) -> Any:
        total, _ = self._combined(self._of_step(equation, coefficients.of(dt), t, dt), fields, t, dt, ())
        return total, history

    def advance_with_error(
        self, equation: Driven, fields: Fields, history: tuple[()], t: ArrayLike, dt: ArrayLike, coefficients: Prepared
    ) -> Any:
        differences = [b - e for b, e in zip(self.weights, self.embedded, strict=True)]
        frames = self._of_step(equation, coefficients.of(dt), t, dt)
        total, error = self._combined(frames, fields, t, dt, differences)
        return total, history, error

    def _combined(
        self, frames: _Frames, fields: Fields, t: ArrayLike, dt: ArrayLike, other: Sequence[Fraction]
    ) -> tuple[Fields, Fields]:
        """u + dt Σ b_i N_i and dt Σ other_i N_i, if there are others, both in the frame of the end of the step."""
        base = stage = total = fields
        error = {name: jnp.zeros_like(field) for name, field in fields.items()} if other else {}
        last = len(self.nodes) - 1
        for i, (c, b) in enumerate(zip(self.nodes, self.weights, strict=True)):
            n = frames.nonlinear(stage, _later(t, dt, c), i)
            total = axpy(scaled(dt, b), n, total) if b else total
            error = axpy(scaled(dt, other[i]), n, error) if other and other[i] else error
            if i < last:
                stage = frames.moved(i, axpy(scaled(dt, self.nodes[i + 1]), n, base))
                base = frames.moved(i, base)
            total = frames.moved(i, total)
            if i < last:  # what follows the last stage may be fused with it
                base, total = jax.lax.optimization_barrier((base, total))
            error = frames.moved(i, error) if other else error
        return total, error


class _LowStorageRK(_IntegratingFactor):
    """Williamson's form: q ← A_i q + dt N(u), u ← u + B_i q; two fields are held, however many stages.

    Class attributes:
        keep, add: A_i and B_i.
    """

    keep: ClassVar[tuple[Fraction, ...]]
    add: ClassVar[tuple[Fraction, ...]]

    def advance(
        self, equation: Driven, fields: Fields, history: tuple[()], t: ArrayLike, dt: ArrayLike, coefficients: Prepared
    ) -> Any:
        q: Fields = {}
        frames = self._of_step(equation, coefficients.of(dt), t, dt)
        for i, (c, a, b) in enumerate(zip(self.nodes, self.keep, self.add, strict=True)):
            n = frames.nonlinear(fields, _later(t, dt, c), i)
            q = {name: dt * n[name] + (float(a) * q[name] if a else 0) for name in fields}
            fields = frames.moved(i, axpy(float(b), q, fields))
            q = frames.moved(i, q) if i + 1 < len(self.nodes) else q
        return fields, history


def _later(t: ArrayLike, dt: ArrayLike, c: Fraction) -> ArrayLike:
    return t + scaled(dt, c) if c else t


def _fraction_of(dt: ArrayLike, gap: Fraction) -> ArrayLike:
    return dt if gap == 1 else float(gap) * dt


class IFRK2(_ChainRK):
    """Heun's method on v = exp(−L t) û: order 2, two evaluations of N.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I (1993), II.1.
    """

    name: ClassVar[str] = "ifrk2"
    order: ClassVar[int] = 2
    largest_decay: ClassVar[float] = 2.0
    stages_held: ClassVar[int] = 2
    error_order: ClassVar[int | None] = 1
    nodes: ClassVar[tuple[Fraction, ...]] = fractions("0", "1")
    weights: ClassVar[tuple[Fraction, ...]] = fractions("1/2", "1/2")
    embedded: ClassVar[tuple[Fraction, ...]] = fractions("1", "0")


class IFRK3(_ChainRK):
    """Heun's third-order method on v = exp(−L t) û: order 3, three evaluations of N.

    The embedded method meets the two conditions of order 2, Σ b_i = 1 and Σ b_i c_i = 1/2, on the same stages.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I (1993), II.1.
    """

    name: ClassVar[str] = "ifrk3"
    order: ClassVar[int] = 3
    largest_decay: ClassVar[float] = 2.51
    stages_held: ClassVar[int] = 3
    nodes: ClassVar[tuple[Fraction, ...]] = fractions("0", "1/3", "2/3")
    error_order: ClassVar[int | None] = 2
    weights: ClassVar[tuple[Fraction, ...]] = fractions("1/4", "0", "3/4")
    embedded: ClassVar[tuple[Fraction, ...]] = fractions("0", "1/2", "1/2")


class IFRK4(_ChainRK):
    """Classical four-stage Runge–Kutta on v = exp(−L t) û: order 4, four evaluations of N.

    The embedded method is of order 2: on these nodes every method of order 3 has the same quadrature in time, so that
    its difference would not see a right-hand side that changes with t alone. The estimate is a careful one.

    Source: Canuto, Hussaini, Quarteroni & Zang, Spectral Methods (2007), appendix D.
    """

    name: ClassVar[str] = "ifrk4"
    order: ClassVar[int] = 4
    largest_decay: ClassVar[float] = 2.78
    stages_held: ClassVar[int] = 3
    nodes: ClassVar[tuple[Fraction, ...]] = fractions("0", "1/2", "1/2", "1")
    error_order: ClassVar[int | None] = 2
    weights: ClassVar[tuple[Fraction, ...]] = fractions("1/6", "1/3", "1/3", "1/6")
    embedded: ClassVar[tuple[Fraction, ...]] = fractions("0", "1/2", "1/2", "0")


class LSRK3(_LowStorageRK):
    """Williamson's third-order low-storage method on v = exp(−L t) û: order 3, three evaluations of N, two fields.

    Source: Williamson, J. Comput. Phys. 35 (1980) 48, case 7.
    """

    name: ClassVar[str] = "lsrk3"
    order: ClassVar[int] = 3
    largest_decay: ClassVar[float] = 2.51
    stages_held: ClassVar[int] = 2
    nodes: ClassVar[tuple[Fraction, ...]] = fractions("0", "1/3", "3/4")
    keep: ClassVar[tuple[Fraction, ...]] = fractions("0", "-5/9", "-153/128")
    add: ClassVar[tuple[Fraction, ...]] = fractions("1/3", "15/16", "8/15")
