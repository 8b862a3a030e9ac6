"""When something is due in a run, and how times are counted and compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from solver.steppers.state import State

TOLERANCE = 1e-9  # of a step: a time this close to a target counts as having reached it
SHORTEST = 1e-3  # of a step: the least interval of time between two pauses


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
        for name, value, kind in (("every_steps", self.every_steps, int), ("every_time", self.every_time, float)):
            if value is None:
                continue
            if isinstance(value, str) or not hasattr(value, "__float__"):
                raise TypeError(f"{name} = {value!r}: a number is needed")
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} = {value}: a positive number is needed")
            if kind is int and int(value) != value:
                raise ValueError(f"{name} = {value}: a whole number is needed")
            object.__setattr__(self, name, kind(value))  # Python's own, of numbers of any library

    def suits(self, step: float | None) -> bool:
        """True if steps of this size can meet its times: they must be at least a thousandth of a step apart."""
        return step is None or self.every_time is None or bool(self.every_time >= SHORTEST * step)

    def due(self, state: State) -> bool:
        """True if the state is at one of the scheduled steps or times. Depends on nothing but the state."""
        if self.every_steps and int(state.step) % self.every_steps == 0:
            return True
        if not self.every_time:
            return False
        nearest = multiple(round(float(state.t) / self.every_time), self.every_time)
        return abs(float(state.t) - nearest) <= TOLERANCE * min(max(float(state.dt), 0.0), self.every_time)

    def count(self, end: float, steps: int | None) -> int | None:
        """Number of states up to the end of a run from t = 0 that are due, or the last; the first is not counted.

        Args:
            end: time at which the run ends.
            steps: number of its steps; None if it is not known.

        Returns:
            None if it depends on the number of steps, and that is not known.
        """
        if self.every_steps and steps is None:
            return None
        by_steps = math.ceil(steps / self.every_steps) if self.every_steps and steps is not None else 0
        by_time = math.ceil(end / self.every_time - TOLERANCE) if self.every_time else 0
        return max(1, by_steps + by_time - bool(by_steps and by_time))

    def steps_left(self, step: int) -> int | None:
        """Steps until the next multiple."""
        return self.every_steps - step % self.every_steps if self.every_steps else None

    def next_time(self, t: float, tolerance: float) -> float:
        """The next multiple in time beyond `t`, by more than a tolerance or a billionth of the interval."""
        if not self.every_time:
            return math.inf
        tolerance = min(tolerance, TOLERANCE * self.every_time)
        count = math.floor(t / self.every_time)
        while multiple(count, self.every_time) <= t + tolerance:
            count += 1
        return multiple(count, self.every_time)


def multiple(count: int, size: float, start: float = 0.0) -> float:
    """start + count · size, in decimal numbers if that is the shorter one to write.

    7 · 0.1 is 0.7 and not 0.7000000000000001, which it is in binary numbers; 3 · (1/3) is 1 in binary numbers alone.
    """
    binary = start + count * size
    decimal = float(Decimal(repr(start)) + count * Decimal(repr(size)))
    return min(binary, decimal, key=lambda t: len(repr(t)))


def slack(state: State) -> float:
    """Distance from a time within which a state counts as being at that time: a billionth of its last full step."""
    return TOLERANCE * float(state.dt)


def reached(state: State, target: float) -> bool:
    """True if a state is at or beyond a time, but for a billionth of a step or of the time.

    Where nothing moves a step may be of any size, far larger than the run.
    """
    return float(state.t) >= target - min(slack(state), TOLERANCE * abs(target))
