"""Stepping: `evolve`, with pauses that yield the state; `integrate` and `rollout`, pure functions."""

from solver.loop.chunks import BlowUp, evolve
from solver.loop.controls import Attempt, FixedStep, KeepCFL, MeetTolerance, StepControl
from solver.loop.energy import energy_of_all
from solver.loop.pure import integrate, rollout
from solver.loop.schedule import Schedule, reached
from solver.loop.short_words import check_end, step_control
from solver.loop.steps import StepLimits, advance, advance_donating, trace_advance
from solver.loop.sums import device_state

__all__ = [
    "Attempt",
    "BlowUp",
    "FixedStep",
    "KeepCFL",
    "MeetTolerance",
    "Schedule",
    "StepControl",
    "StepLimits",
    "advance",
    "advance_donating",
    "check_end",
    "device_state",
    "energy_of_all",
    "evolve",
    "integrate",
    "reached",
    "rollout",
    "step_control",
    "trace_advance",
]
