"""Stepping: `evolve`, with pauses that yield the state; `integrate` and `rollout`, pure functions."""

from solver.loop.chunks import evolve
from solver.loop.control import BlowUp, Control, Schedule, reached
from solver.loop.energy import energy_of_all
from solver.loop.fixed import fixed_steps, fixed_steps_donating
from solver.loop.program import trace_chunk
from solver.loop.pure import integrate, rollout

__all__ = [
    "BlowUp",
    "Control",
    "Schedule",
    "energy_of_all",
    "evolve",
    "fixed_steps",
    "fixed_steps_donating",
    "integrate",
    "reached",
    "rollout",
    "trace_chunk",
]
