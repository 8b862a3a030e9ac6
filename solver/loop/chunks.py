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

from solver.dynamics.any_equation import AnyEquation
from solver.loop.cfl_at_start import warn_of_long_step
from solver.loop.controls import FixedStep, StepControl
from solver.loop.first_change import check_first_change
from solver.loop.rounded_time import rounded_time_at_start, warn_of_rounded_time
from solver.loop.schedule import TOLERANCE, Schedule, multiple, reached, slack
from solver.loop.short_words import check_end, step_control
from solver.loop.steps import StepLimits, advance, advance_donating, begin_control
from solver.loop.sums import as_number, as_pair, device_state, host_state, on_host
from solver.steppers.base import Stepper
from solver.steppers.state import State
from solver.steppers.suits import check_budget, check_history, check_kinds, check_state


class BlowUp(FloatingPointError):
    """The solution is no longer finite, or step control has driven the step to nothing."""


def evolve(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    *,
    end: float,
    control: StepControl | None = None,
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
        control: what decides the size of each step: `FixedStep`, `KeepCFL`, `MeetTolerance`, or your own. Or, for
            short, one of
        step: fixed time step: `FixedStep(step)`;
        cfl: CFL number dt · equation.rate to keep: `KeepCFL(cfl, max_step)`. dt is chosen anew at each step, at the
            price of one evaluation of `rate`;
        tolerance: relative error of each step that an embedded method may estimate: `MeetTolerance(tolerance,
            max_step)`. A step with a larger error is taken again, shorter; `state.rejected` counts them. Only steppers
            that have such a method take it.
        max_step: the longest step, beside `cfl` or `tolerance`.
        pauses: schedules at whose multiples the state is to be yielded.
        observe: gets every state before it is yielded, and whether it is the last, and returns it with other
            `statistics`.
        chunk: the most steps between two yields, or a function that says so each time. Never changes the result.
        donate: reuse the buffers of a yielded state when the generator is advanced. Saves the memory of one state;
            a state is then valid until the next is asked for, and using it later is an error.

    Yields:
        States.

    Warns:
        LongStep: the CFL number of a fixed step is above one at the start.
        RoundedTime: the equation holds t, which a grid in single precision rounds by more than 1 % of a step.

    Raises:
        ValueError: not exactly one of `control`, `step`, `cfl` and `tolerance`, one that is not positive, or `max_step`
            beside `step`; an end before the state's time; a state of another grid, equation or stepper; an own equation
            or forcing whose N no real field has.
        BlowUp: the solution stopped being finite; nothing of it is yielded.
        TypeError: an equation that the stepper cannot step, or a stepper without an error estimate.
    """
    control = step_control(control, step=step, cfl=cfl, tolerance=tolerance, max_step=max_step)
    items = course(
        equation, stepper, state, end=end, control=control, pauses=pauses, observe=observe, chunk=chunk, donate=donate
    )
    warned = False
    for item in items:
        if isinstance(item, Advance):
            item.carry_out(donate)
            continue
        if not warned:  # at the start, after all checks
            warn_of_long_step(equation, control, item)
            warn_of_rounded_time(rounded_time_at_start(equation, control, item, end))
        warned = True
        yield item


class Advance:
    """A call of `advance` that a run waits for; whoever carries it out sets `answer`.

    Args:
        equation, stepper, control, state, limits: the arguments of the call. The state is on the device, and belongs to
            the call alone.

    Attributes:
        answer: a function that gives what the call returned; the run takes it once.
    """

    def __init__(self, equation: Any, stepper: Any, control: Any, state: State, limits: StepLimits) -> None:
        self.equation, self.stepper, self.control, self.limits = equation, stepper, control, limits
        self.state: State | None = state
        self.answer: Callable[[], tuple[State, Any]] | None = None

    def carry_out(self, donate: bool) -> None:
        """Call `advance` for this run alone, and wait for it; `donate` reuses the buffers of the state."""
        run, state = advance_donating if donate else advance, self.state
        self.state = None
        moved, is_finite = run(self.equation, self.stepper, self.control, state, self.limits)
        del state
        result = [(moved, jax.block_until_ready(is_finite))]
        self.answer = result.pop  # which keeps nothing

    def take(self) -> tuple[State, bool]:
        """The state after the call, and whether it is finite; nothing is kept of them."""
        assert self.answer is not None
        (moved, is_finite), self.answer = self.answer(), None
        return moved, bool(is_finite)


def course(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    *,
    end: float,
    control: StepControl,
    pauses: Sequence[Schedule] = (),
    observe: Callable[[State, bool], State] | None = None,
    chunk: int | Callable[[], int] = 1000,
    donate: bool = False,
) -> Iterator[Advance | State]:
    """What `evolve` does, without carrying out the steps: it yields the calls that it waits for, too.

    So several runs can stand side by side, and one program steps all of them (`loop.members`). While it waits it holds
    no array.

    Args:
        As of `evolve`.

    Yields:
        States, as `evolve`, and an `Advance` between two of them, whose `answer` is needed to go on.

    Raises:
        As `evolve`.
    """
    check_kinds(equation, stepper, state)
    stepper.check(equation)
    check_state(equation, state)
    check_budget(equation, state)
    check_history(equation, stepper, state.history)
    control.check(stepper)
    control.check_rate(equation)
    control.check_step(stepper, equation)
    check_end(end, control, state.t)
    check_first_change(equation, state)
    for pause in pauses:
        if not pause.suits(control.size):
            every = pause.every_time
            raise ValueError(f"every_time = {every}: at least a thousandth of the step, {control.size}, is needed")
    state = begin_control(equation, control, _own(state) if donate else state)
    state = state.replace(control=jax.tree.map(on_host, state.control))
    if control.size is not None and float(state.dt) != float(control.size):
        state = _count_from_here(state.replace(dt=np.float64(control.size)))
    if observe is not None:
        state = observe(state, reached(state, end))
    yield state
    while not reached(state, end):
        target = min([end, *(p.next_time(float(state.t), slack(state)) for p in pauses)])
        limits = [chunk() if callable(chunk) else chunk, *(p.steps_left(int(state.step)) for p in pauses)]
        steps = max(1, min(n for n in limits if n is not None))
        ask = _ask(equation, stepper, control, state, steps, target)
        state = state.replace(field={}, history=(), forcing=())  # they are the call's now
        yield ask
        state = _after(ask, control, state, target)
        if observe is not None:
            state = observe(state, reached(state, end))
        yield state


def _ask(
    equation: AnyEquation, stepper: Stepper, control: StepControl, state: State, steps: int, target: float
) -> Advance:
    """A call for at most so many steps, and none beyond the target."""
    if control.size is not None:
        full = _full_steps(state, float(control.size), target)
        steps = min(steps, full) if full else 1
        if not full:
            control, state = FixedStep(target - float(state.t)), _count_from_here(state)
    limits = StepLimits(np.int64(steps), as_pair(target))
    return Advance(equation, stepper, control, device_state(state), limits)


def _after(ask: Advance, control: StepControl, before: State, target: float) -> State:
    """The state that a call led to; all but its arrays are known of the state before."""
    moved, is_finite = ask.take()
    if control.size is None:
        after = host_state(moved, before, _on_target(moved.t, target))
        after = _count_from_here(after.replace(dt=on_host(moved.dt), taken=on_host(moved.taken)))
        return _checked(after, is_finite, before)
    full = _full_steps(before, float(control.size), target)
    count = int(moved.step) - int(before.step_reference)
    t = multiple(count, float(control.size), float(before.t_reference)) if full else target
    after = host_state(moved, before, t).replace(taken=np.float64(ask.control.size))
    return _checked(after if full else _count_from_here(after), is_finite, before)


def _full_steps(state: State, step: float, target: float) -> int:
    """Number of whole steps left to the target; 0 where one shortened step meets it."""
    whole = math.floor((target - float(state.t_reference)) / step + TOLERANCE)
    return max(0, whole - int(state.step - state.step_reference))


def _on_target(t: Any, target: float) -> np.float64:
    """A time off the device, in double precision; the target itself where the device stands at it or beyond.

    With 32-bit times the device compares with a target rounded to 48 bits.
    """
    return np.float64(target if as_number(t) >= as_number(as_pair(target)) else as_number(t))


def _own(state: State) -> State:
    """A copy whose buffers the compiled chunks may reuse; what the caller holds stays valid."""
    return jax.tree.map(lambda x: jnp.copy(x) if isinstance(x, jax.Array) else x, state)


def _count_from_here(state: State) -> State:
    """Times are counted in units of dt: a new size of step starts a count of its own."""
    return state.replace(t_reference=np.float64(state.t), step_reference=state.step)


def _checked(after: State, is_finite: bool, before: State) -> State:
    if is_finite:
        return after
    raise BlowUp(
        f"the solution blew up between step {before.step} (t = {float(before.t):.6g}) and step {after.step} "
        f"(t = {float(after.t):.6g}); take a smaller step, or more points where the smallest scales are not resolved"
    )
