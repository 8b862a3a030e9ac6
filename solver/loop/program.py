"""The compiled call that advances a run, from shapes alone: what `evolve` will run, before it runs."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from solver.equations.system import PeriodicSystem
from solver.loop.by_cfl import cfl_steps_donating
from solver.loop.by_error import error_steps_donating
from solver.loop.control import Control
from solver.loop.fixed import fixed_steps_donating
from solver.loop.sums import shapes_with_sums
from solver.steppers.base import State, Stepper


def trace_chunk(equation: PeriodicSystem, stepper: Stepper, state: State, control: Control) -> Any:
    """The chunk of steps, traced for a state that may hold shapes alone; `.lower().compile()` goes on from there."""
    fields = shapes_with_sums(state.field, state.budget)
    number = jax.ShapeDtypeStruct((), np.float64)
    count = jax.ShapeDtypeStruct((), np.int64)
    time = (number, number)
    carried = (equation, stepper, fields, state.history, count, number)
    driving = (state.forcing, state.key, count)
    if control.step is not None:
        return fixed_steps_donating.trace(*carried, number, count, *driving)
    if control.cfl is not None:
        return cfl_steps_donating.trace(*carried, time, number, time, number, number, *driving)
    return error_steps_donating.trace(*carried, time, number, time, number, number, count, *driving)
