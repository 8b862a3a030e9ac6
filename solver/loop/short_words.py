"""The short words for step controls, `step=`, `cfl=` and `tolerance=`, and the end that a control can reach."""

from __future__ import annotations

import math
from typing import Any

from solver.dynamics.any_equation import AnyEquation
from solver.loop.controls import FixedStep, KeepCFL, MeetTolerance, StepControl, is_known
from solver.loop.schedule import TOLERANCE
from solver.steppers.stepper import Stepper

MOST_STEPS = 1e15  # more cannot be counted in double precision


def step_control(
    control: Any = None,
    *,
    step: Any = None,
    cfl: Any = None,
    tolerance: Any = None,
    max_step: Any = None,
) -> StepControl:
    """The given control, or the control that the short words describe.

    Raises:
        ValueError: not exactly one of control, step, cfl and tolerance; one that is not positive; or `max_step` without
            cfl or tolerance.
        TypeError: `control` is not a `StepControl`.
    """
    short = {"step": step, "cfl": cfl, "tolerance": tolerance}
    given = [name for name, value in short.items() if value is not None]
    if control is not None:
        if not isinstance(control, StepControl):
            raise TypeError(f"control={control!r}: a StepControl is needed, such as KeepCFL(0.5)")
        if given or max_step is not None:
            beside = given[0] if given else "max_step"
            raise ValueError(f"control={control} beside {beside}={short.get(beside, max_step)}: one of them is needed")
        return control
    if len(given) != 1:
        listed = ", ".join(f"{name}={value}" for name, value in short.items())
        raise ValueError(f"{listed}: one of them is needed, a positive number")
    if step is not None:
        if max_step is not None:
            raise ValueError(f"max_step={max_step}: a positive number is needed, beside cfl or tolerance")
        return FixedStep(step)
    return KeepCFL(cfl, max_step) if cfl is not None else MeetTolerance(tolerance, max_step)


def check_step_control(
    equation: AnyEquation, stepper: Stepper, control: StepControl, end: Any, begun: Any = None
) -> None:
    """Refuse an equation, a stepper, a step control and an end that do not go together; touches no device.

    Args:
        begun: time of the state that is stepped, if there is one.

    Raises:
        TypeError: an equation that the stepper cannot step, or a control that it cannot serve.
        ValueError: a control or an end that makes no sense for them.
    """
    stepper.check(equation)
    control.check(stepper)
    control.check_rate(equation)
    control.check_step(stepper, equation)
    check_end(end, control, begun)


def check_end(end: Any, control: StepControl, begun: Any = None) -> None:
    """Refuse a time to stop at that is not finite, that no number of such steps can reach, or that is before the time
    at which the steps begin, if it is given; traced ones pass.

    Raises:
        ValueError: the end is not finite, too many steps away, or before the time at which the steps begin.
    """
    if not is_known(end):
        return
    if isinstance(end, bool) or not math.isfinite(end):
        raise ValueError(f"end={end}: a finite time is needed")
    if is_known(control.size) and abs(end) > MOST_STEPS * control.size:
        raise ValueError(f"step={control.size}: too small to reach end={end} in {MOST_STEPS:.0e} steps")
    if is_known(begun) and begun - end > TOLERANCE * abs(begun):
        raise ValueError(f"end={end}: the state stands at t = {float(begun):.6g}; this time or a later one is needed")
