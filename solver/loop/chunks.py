"""Chunks of steps as one compiled call each, with pauses that yield the state.

The number of steps in a chunk is an argument of the compiled program, so where a chunk ends changes neither the
program nor the bits of the result. So are the parameters of equation and stepper: another viscosity compiles nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from solver.equations.base import Equation
from solver.equations.system import PeriodicSystem
from solver.loop.by_cfl import cfl_steps, cfl_steps_donating
from solver.loop.by_error import error_steps, error_steps_donating
from solver.loop.control import TOLERANCE, BlowUp, Control, Schedule, multiple, reached, slack
from solver.loop.first_change import check_first_change
from solver.loop.fixed import fixed_steps, fixed_steps_donating
from solver.loop.start import first_step
from solver.loop.sums import as_number, as_pair, split_sums, with_sums
from solver.operators import Fields
from solver.steppers.base import State, Stepper
from solver.steppers.suits import check_history, check_state


def evolve(
    equation: PeriodicSystem,
    stepper: Stepper,
    state: State,
    *,
    end: float,
    step: float | None = None,
    cfl: float | None = None,
    tolerance: float | None = None,
    max_step: float | None = None,
    pauses: Sequence[Schedule] = (),
    observe: Callable[[State, bool], State] | None = None,
    chunk: int | Callable[[], int] = 1000,
    donate: bool = False,
) -> Iterator[State]:
    """Advance a state in time; a generator that yields it at the start, at each pause, and at `end`.

    Args:
        equation, stepper: from `solver.equations` and `solver.steppers`, or your own.
        state: from `initial_state` or a checkpoint; it stays valid.
        end: time to stop at; the last step is shortened to meet it.
        step: fixed time step, or
        cfl: CFL number dt · equation.rate to keep; dt is then chosen anew at each step, at the price of one
            evaluation of `rate`. A step is at most 1.5 times the one before, and the first one short against the
            time in which the fields change, so that a flow near rest is not crossed in one step.
        tolerance: relative error of each step that an embedded method may estimate: the root mean square over the
            box of the difference to it, over that of the field, of the field where it is largest. A step with a larger
            error is taken again, shorter; `state.rejected` counts them. Only steppers that have such a method take it.
        max_step: the longest step that control by `cfl` or `tolerance` may take.
        pauses: schedules at whose multiples the state is to be yielded.
        observe: gets every state before it is yielded, and whether it is the last, and returns it with other
            `statistics`.
        chunk: the most steps between two yields, or a function that says so each time. Never changes the result.
        donate: reuse the buffers of a yielded state when the generator is advanced. Saves the memory of one state;
            a state is then valid until the next is asked for, and using it later is an error.

    Yields:
        States.

    Raises:
        ValueError: not exactly one of `step`, `cfl` and `tolerance`, one that is not positive, or `max_step` beside
            `step`; a state of another grid, equation or stepper; an own equation or forcing whose N no real field has.
        BlowUp: the solution stopped being finite; nothing of it is yielded.
        TypeError: an equation that the stepper cannot step, or a stepper without an error estimate.
    """
    stepper.check(equation)
    check_state(equation, state)
    check_history(equation, stepper, state.history)
    Control(end, step, cfl, tolerance, max_step).check(stepper)
    check_first_change(equation, state)
    for pause in pauses:
        if not pause.suits(step):
            raise ValueError(f"every_time = {pause.every_time}: at least a thousandth of the step, {step}, is needed")
    longest = np.float64(math.inf if max_step is None else max_step)
    state = _own(state) if donate else state
    if step is not None and float(state.dt) != step:
        state = _count_from_here(state, np.float64(step))
    if observe is not None:
        state = observe(state, reached(state, end, step))
    yield state
    while not reached(state, end, step):
        target = min([end, *(p.next_time(float(state.t), slack(state, step)) for p in pauses)])
        limits = [chunk() if callable(chunk) else chunk, *(p.steps_left(int(state.step)) for p in pauses)]
        steps = max(1, min(n for n in limits if n is not None))
        if step is not None:
            state = _to_target_by_count(equation, stepper, state, steps, target, float(step), donate)
        elif cfl is not None:
            state = _to_target_by_cfl(equation, stepper, state, steps, target, float(cfl), longest, donate)
        else:
            assert tolerance is not None  # Control refuses anything else
            state = _to_target_by_error(equation, stepper, state, steps, target, float(tolerance), longest, donate)
        if observe is not None:
            state = observe(state, reached(state, end, step))
        yield state


def _to_target_by_count(
    equation: PeriodicSystem, stepper: Stepper, state: State, steps: int, target: float, step: float, donate: bool
) -> State:
    """At most `steps` full steps; or, where less than one is left to the target, the one shortened step to it."""
    whole = math.floor((target - float(state.t_reference)) / step + TOLERANCE)
    full = whole - int(state.step - state.step_reference)
    if full >= 1:
        steps = min(steps, full)
        dt, t_reference, step_reference = step, state.t_reference, state.step_reference
        t = np.float64(multiple(int(state.step + steps - step_reference), step, float(t_reference)))
    else:
        steps, dt = 1, target - float(state.t)
        t, t_reference, step_reference = np.float64(target), np.float64(target), state.step + 1
    field, history, forcing, is_finite = (fixed_steps_donating if donate else fixed_steps)(
        equation, stepper, with_sums(state.field, state.budget), state.history, np.int64(steps), np.float64(dt),
        state.t_reference, state.step - state.step_reference, state.forcing, state.key, np.int64(state.step),
    )  # fmt: skip
    after = _moved(
        state, field, history=history, forcing=forcing, t=t, step=state.step + steps, dt=np.float64(step),
        taken=np.float64(dt), t_reference=t_reference, step_reference=step_reference,
    )  # fmt: skip
    return _checked(after, bool(is_finite), before=state)


def _to_target_by_cfl(
    equation: PeriodicSystem,
    stepper: Stepper,
    state: State,
    steps: int,
    target: float,
    cfl: float,
    longest: np.float64,
    donate: bool,
) -> State:
    at_start = float(state.dt) == 0 and isinstance(equation, Equation)
    first = np.float64(first_step(equation, state, np.float64(state.t), cfl)) if at_start else np.float64("inf")
    field, history, forcing, t, dt, taken, done, is_finite = (cfl_steps_donating if donate else cfl_steps)(
        equation, stepper, with_sums(state.field, state.budget), state.history, np.int64(steps), np.float64(cfl),
        as_pair(state.t), np.float64(state.dt), as_pair(target), longest, first,
        state.forcing, state.key, np.int64(state.step),
    )  # fmt: skip
    after = _moved(
        state, field, history=history, forcing=forcing, t=_on_target(t, target), dt=np.float64(dt),
        taken=np.float64(taken), step=state.step + np.int64(done),
    )  # fmt: skip
    return _checked(_count_from_here(after, after.dt), bool(is_finite), before=state)


def _to_target_by_error(
    equation: PeriodicSystem,
    stepper: Stepper,
    state: State,
    steps: int,
    target: float,
    tolerance: float,
    longest: np.float64,
    donate: bool,
) -> State:
    proposed = np.float64(state.proposed)
    if not proposed > 0:  # no step was controlled so before
        proposed = np.float64(first_step(equation, state, np.float64(state.t), np.float64(1)))
    field, history, forcing, t, dt, taken, proposed, done, rejected, is_finite = (
        error_steps_donating if donate else error_steps
    )(
        equation, stepper, with_sums(state.field, state.budget), state.history, np.int64(steps),
        np.float64(tolerance), as_pair(state.t), np.float64(state.dt), as_pair(target), longest, proposed,
        np.int64(state.rejected), state.forcing, state.key, np.int64(state.step),
    )  # fmt: skip
    after = _moved(
        state, field, history=history, forcing=forcing, t=_on_target(t, target), dt=np.float64(dt),
        taken=np.float64(taken), step=state.step + np.int64(done), proposed=np.float64(proposed),
        rejected=np.int64(rejected),
    )  # fmt: skip
    return _checked(_count_from_here(after, after.dt), bool(is_finite), before=state)


def _moved(state: State, fields: Fields, **changes: Any) -> State:
    """A state after steps: `fields` as the stepper moves them, the budget beside them."""
    field, budget = split_sums(fields, state.budget)
    return state.replace(field=field, budget=budget, **changes)


def _on_target(t: Any, target: float) -> np.float64:
    """A time off the device, where JAX may round the target to 48 bits: reaching that is reaching it."""
    return np.float64(target if as_number(t) >= as_number(as_pair(target)) else as_number(t))


def _own(state: State) -> State:
    """A copy whose buffers the compiled chunks may reuse; what the caller holds stays valid."""
    return jax.tree.map(lambda x: jnp.copy(x) if isinstance(x, jax.Array) else x, state)


def _count_from_here(state: State, dt: Any) -> State:
    """Times are counted in units of dt: a new size of step starts a count of its own."""
    return state.replace(t_reference=np.float64(state.t), step_reference=state.step, dt=dt)


def _checked(after: State, is_finite: bool, before: State) -> State:
    if is_finite:
        return after
    raise BlowUp(
        f"the solution blew up between step {before.step} (t = {float(before.t):.6g}) and step {after.step} "
        f"(t = {float(after.t):.6g}); take a smaller step, or more points where the smallest scales are not resolved"
    )
