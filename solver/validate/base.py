"""What a case of validation says of itself, and what it finds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import jax

from solver.discovery import concrete_classes
from solver.equations.system import PeriodicSystem, compiled
from solver.loop import Schedule, evolve
from solver.mesh import device_mesh
from solver.steppers.base import State, Stepper, initial_state


@dataclass(frozen=True)
class Finding:
    """One number, beside the one that is known.

    Args:
        quantity: what it is, with its time.
        found: here.
        expected: exact, or published.
        within: difference that is allowed.
        source: where `expected` is from.
    """

    quantity: str
    found: float
    expected: float
    within: float
    source: str

    @property
    def holds(self) -> bool:
        """Whether the difference is allowed."""
        return math.isfinite(self.found) and abs(self.found - self.expected) <= self.within


@dataclass(frozen=True)
class Case(ABC):
    """A problem whose result is known.

    Class attributes:
        name: on the command line.
        about: the problem, in a line.

    Args:
        quick: whether to take the small version, which takes seconds; its tolerances say what it can resolve.
    """

    quick: bool = True

    name: ClassVar[str]
    about: ClassVar[str]

    @abstractmethod
    def run(self) -> list[Finding]:
        """Compute it on all devices of this process, and compare."""


def cases() -> dict[str, type[Case]]:
    """Every case by its name."""
    return concrete_classes("solver.validate", Case)


def mesh_for(points: int) -> Any:
    """Of all devices, at most as many as there are points to split."""
    return device_mesh(range(min(len(jax.devices()), max(1, points // 4))))


def states(
    equation: PeriodicSystem,
    stepper: Stepper,
    start: Any,
    times: list[float],
    *,
    seed: int | None = None,
    **control: Any,
) -> list[State]:
    """States at the times asked for, in their order; the first state is not among them unless its time is asked for."""
    state = initial_state(equation, stepper, start, seed=seed)
    found = []
    for time in times:
        if time > float(state.t):
            *_, state = evolve(equation, stepper, state, end=time, pauses=[Schedule()], **control)
        found.append(state)
    return found


def series_of(equation: PeriodicSystem, state: State) -> dict[str, float]:
    """The numbers that the equation's series has of a state."""
    return {name: float(value) for name, value in _series(equation, state.field).items()}


_series = compiled(lambda equation, fields: equation.series(fields, 0.0))
