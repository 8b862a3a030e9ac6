"""When a run pauses and ends, and what may decide the size of its steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import jax
import jax.numpy as jnp

from solver.loop.sums import Pair, apart, plus
from solver.steppers.base import State, Stepper

TOLERANCE = 1e-9  # of a step: a time this close to a target counts as having reached it
SHORTEST = 1e-3  # of a step: the least interval of time between two pauses
MOST_STEPS = 1e15  # more cannot be counted in double precision


class BlowUp(FloatingPointError):
    """The solution is no longer finite, or step control has driven the step to nothing."""


@dataclass(frozen=True)
class Schedule:
    """When something is due: at every multiple of a number of steps, of an interval of time, or of either.

    Args:
        every_steps: number of steps between, if any.
        every_time: time between, if any; steps are shortened to meet its multiples.

    Raises:
        ValueError: a number that is not positive.
    """

    every_steps: int | None = None
    every_time: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("every_steps", self.every_steps), ("every_time", self.every_time)):
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} = {value}: a positive number is needed")

    def suits(self, step: float | None) -> bool:
        """Whether steps of this size can meet its times: none are less than a thousandth of a step apart."""
        return step is None or self.every_time is None or self.every_time >= SHORTEST * step

    def due(self, state: State) -> bool:
        """Whether this state is one of those asked for. Depends on nothing but the state."""
        if self.every_steps and int(state.step) % self.every_steps == 0:
            return True
        if not self.every_time:
            return False
        nearest = multiple(round(float(state.t) / self.every_time), self.every_time)
        return abs(float(state.t) - nearest) <= TOLERANCE * max(float(state.dt), 0.0)

    def steps_left(self, step: int) -> int | None:
        """Steps until the next multiple."""
        return self.every_steps - step % self.every_steps if self.every_steps else None

    def next_time(self, t: float, tolerance: float) -> float:
        """The next multiple in time that lies beyond `t`."""
        if not self.every_time:
            return math.inf
        count = math.floor(t / self.every_time)
        while multiple(count, self.every_time) <= t + tolerance:
            count += 1
        return multiple(count, self.every_time)


@dataclass(frozen=True)
class Control:
    """When a run ends, and what decides the size of its steps.

    Args:
        end: time at which it ends.
        step: fixed size of a step, or
        cfl: CFL number that the steps keep, or
        tolerance: relative error that a step may make.
        max_step: the longest step that `cfl` or `tolerance` may choose.

    Raises:
        ValueError: not exactly one of step, cfl and tolerance, one that is not positive, an end that is not finite or
            that no number of such steps can reach, or `max_step` beside `step`.
    """

    end: float
    step: float | None = None
    cfl: float | None = None
    tolerance: float | None = None
    max_step: float | None = None

    def __post_init__(self) -> None:
        controls = {"step": self.step, "cfl": self.cfl, "tolerance": self.tolerance}
        given = [value for value in controls.values() if value is not None]
        if len(given) != 1 or not (given[0] > 0 and math.isfinite(given[0])):
            told = ", ".join(f"{name}={value}" for name, value in controls.items())
            raise ValueError(f"{told}: one of them is needed, a positive number")
        if self.max_step is not None and (self.step is not None or not self.max_step > 0):
            raise ValueError(f"max_step={self.max_step}: a positive number is needed, beside cfl or tolerance")
        if not math.isfinite(self.end):
            raise ValueError(f"end={self.end}: a finite time is needed")
        if self.step is not None and abs(self.end) > MOST_STEPS * self.step:
            raise ValueError(f"step={self.step}: too small to reach end={self.end} in {MOST_STEPS:.0e} steps")

    def check(self, stepper: Stepper) -> None:
        """Raises TypeError where the steps are to meet a tolerance and the stepper cannot estimate its error."""
        if self.tolerance is not None:
            stepper.check_error_estimate()

    def __str__(self) -> str:
        """What decides the steps, as run files have it: `cfl = 0.5`."""
        controls = {"step": self.step, "cfl": self.cfl, "tolerance": self.tolerance}
        return next(f"{name} = {value:g}" for name, value in controls.items() if value is not None)


def multiple(count: int, size: float, start: float = 0.0) -> float:
    """start + count · size, in decimal numbers if that is the shorter one to write.

    7 · 0.1 is 0.7 and not 0.7000000000000001, which it is in binary numbers; 3 · (1/3) is 1 in those alone.
    """
    binary = start + count * size
    decimal = float(Decimal(repr(start)) + count * Decimal(repr(size)))
    return min(binary, decimal, key=lambda t: len(repr(t)))


def towards(target: Pair, t: Pair, chosen: Any) -> tuple[Any, Pair, Any, Any]:
    """A step of the chosen size, or the one that meets the target; inside a compiled chunk.

    Returns:
        Its size, the time after it, whether that is the target, and whether it is a step at all: finite, and long
        enough to change t.
    """
    left = apart(target, t)
    last = chosen * (1 + max(TOLERANCE, 4 * float(jnp.finfo(chosen.dtype).eps))) >= left
    dt = jnp.where(last, left, chosen)
    later = jax.tree.map(lambda end, after: jnp.where(last, end, after), target, plus(t, dt))
    return dt, later, last, jnp.isfinite(dt) & (apart(later, t) > 0)


def slack(state: State, step: float | None) -> float:
    return TOLERANCE * (step if step is not None else float(state.dt))


def reached(state: State, target: float, step: float | None) -> bool:
    """Whether a state stands at or beyond a time, but for a billionth of a step."""
    return float(state.t) >= target - slack(state, step)
