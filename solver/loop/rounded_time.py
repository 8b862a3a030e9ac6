"""The time in terms that hold it, which a grid in single precision rounds."""

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
        rate = _rate(equation, state.field) if control.needs_rate else None
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
