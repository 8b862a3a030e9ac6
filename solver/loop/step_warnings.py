"""Warnings before the first step: a CFL number that a fixed step makes too large, a time rounded too much."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from solver.dynamics.compiled import compiled
from solver.dynamics.equation import Equation
from solver.loop.controls import StepControl, is_known
from solver.steppers.state import State

SHARE = 0.01  # of a step, by which t may be rounded

_rate = compiled(lambda equation, fields: equation.rate(fields))


class RoundedTime(UserWarning):
    """An equation holds t, which a grid in single precision rounds by more than a hundredth of a step.

    `warnings.simplefilter("ignore", sw.RoundedTime)` turns it off.
    """


def rounded_time(equation: Any, start: Any, end: Any, step: Any) -> str:
    """Warning if t in an equation is rounded by more than 1 % of a step before the end; else empty.

    The state's own time has no such error: it is kept in double precision. A time or step that is being traced passes.

    Args:
        equation: equation, traced on shapes, where t is rounded by as much, to see whether its N depends on t.
        start, end: times of the first and the last state [time].
        step: size of a step [time].
    """
    if not isinstance(equation, Equation) or not all(map(is_known, (start, end, step))):
        return ""
    if equation.grid.dtype != np.float32 or not math.isfinite(float(step)):
        return ""
    latest = max(abs(float(start)), abs(float(end)))
    spacing = float(np.spacing(np.float32(latest)))
    if spacing <= SHARE * float(step) or not _holds_time(equation):
        return ""
    return (
        f'grid.precision = "float32": {equation.name} holds t, which is rounded to {spacing:.3g} at t = {latest:g}, in '
        f'steps of {float(step):.3g}; precision = "float64" is needed, or times that begin nearer to 0'
    )


def rounded_time_at_start(equation: Any, control: StepControl, state: State, end: Any) -> str:
    """The same of a run that begins at a state; a step that is chosen counts as it is chosen there."""
    if control.size is not None:
        return rounded_time(equation, state.t, end, control.size)
    if rounded_time(equation, state.t, end, np.finfo(np.float32).tiny):  # which would be said of the shortest step
        rate = _rate(equation.at_time(state.t), state.field) if control.needs_rate else None
        memory = state.control.get(type(control).__name__) or control.start(equation, state)
        proposed = float(control.propose(memory, rate))  # infinite for a field at rest
        return rounded_time(equation, state.t, end, min(proposed, float(end) - float(state.t)))
    return ""


def warn_of_rounded_time(line: str, stacklevel: int = 3) -> None:
    """Warn, in the class `RoundedTime`, if there is a line to say."""
    if line:
        warnings.warn(line, RoundedTime, stacklevel=stacklevel)


def _holds_time(equation: Equation) -> bool:
    """True if N(u, t) depends on t, by its trace on shapes."""
    t = jax.ShapeDtypeStruct((), equation.grid.dtype)
    traced = jax.make_jaxpr(lambda t, fields: equation.nonlinear(fields, t))(t, equation.field_shapes()).jaxpr
    return any(_depends(traced, [variable is traced.invars[0] for variable in traced.invars]))


def _depends(jaxpr: Any, depend: Sequence[bool]) -> list[bool]:
    """Which results of a trace depend on some of its arguments."""
    found = {variable for variable, does in zip(jaxpr.invars, depend, strict=True) if does}
    holds = lambda variable: not hasattr(variable, "val") and variable in found  # noqa: E731
    for equation in jaxpr.eqns:
        given = [holds(variable) for variable in equation.invars]
        inner = equation.params.get("jaxpr") if equation.primitive.name in ("pjit", "jit") else None
        results = _depends(inner.jaxpr, given) if inner is not None else [any(given)] * len(equation.outvars)
        found |= {variable for variable, does in zip(equation.outvars, results, strict=True) if does}
    return [holds(variable) for variable in jaxpr.outvars]


LARGEST_CFL = 1.0  # above it a wave or the flow crosses more than one interval between points in a step


class LongStep(UserWarning):
    """A fixed step whose CFL number is above one at the start.

    `warnings.simplefilter("ignore", sw.LongStep)` turns it off.
    """


def long_step(equation: Any, control: StepControl, state: State) -> float | None:
    """The CFL number of a fixed step if it is above one, or not finite; None otherwise.

    Equations at the points (`SplitEquation`) and those without a rate have no such number. One evaluation of `rate`.
    """
    if control.size is None or not isinstance(equation, Equation) or equation.why_no_rate:
        return None
    number = float(control.size) * float(_rate(equation.at_time(state.t), state.field))
    return None if number <= LARGEST_CFL else number


def long_step_at_start(equation: Any, control: StepControl, state: State) -> str:
    """Warning if the CFL number of a fixed first step is above one, with a step that makes it one; else empty."""
    number = long_step(equation, control, state)
    if number is None or not math.isfinite(number):
        return ""
    step = float(control.size)
    fitting = _rounded_down(LARGEST_CFL * step / number)
    return f"step = {step:g}: the CFL number is {number:.3g} at the start; step = {fitting:g} makes it 1"


def warn_of_long_step(equation: Any, control: StepControl, state: State) -> None:
    """Warn, in the class `LongStep`, of a fixed step whose CFL number is above one at the start."""
    line = long_step_at_start(equation, control, state)
    if line:
        warnings.warn(line, LongStep, stacklevel=3)


def _rounded_down(step: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(step)) - 1)
    return math.floor(step / unit * (1 + 1e-9)) * unit
