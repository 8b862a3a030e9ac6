"""The CFL number of the first step, which a fixed step may make too large."""

from __future__ import annotations

import math
import warnings
from typing import Any

from solver.dynamics.compiled import compiled
from solver.dynamics.equation import Equation
from solver.loop.controls import StepControl
from solver.steppers.state import State

LARGEST = 1.0  # above it a wave or the flow crosses more than one interval between points in a step

_rate = compiled(lambda equation, fields: equation.rate(fields))


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
    number = float(control.size) * float(_rate(equation, state.field))
    return None if number <= LARGEST else number


def long_step_at_start(equation: Any, control: StepControl, state: State) -> str:
    """Warning if the CFL number of a fixed first step is above one, with a step that makes it one; else empty."""
    number = long_step(equation, control, state)
    if number is None or not math.isfinite(number):
        return ""
    step = float(control.size)
    fitting = _rounded_down(LARGEST * step / number)
    return f"step = {step:g}: the CFL number is {number:.3g} at the start; step = {fitting:g} makes it 1"


def warn_of_long_step(equation: Any, control: StepControl, state: State) -> None:
    """Warn, in the class `LongStep`, of a fixed step whose CFL number is above one at the start."""
    line = long_step_at_start(equation, control, state)
    if line:
        warnings.warn(line, LongStep, stacklevel=3)


def _rounded_down(step: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(step)) - 1)
    return math.floor(step / unit * (1 + 1e-9)) * unit
