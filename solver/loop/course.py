"""A run as chunks of steps, one compiled call each, with pauses between them.

The number of steps in a chunk is an argument of the compiled program, so where a chunk ends changes neither the
program nor the bits of the result. So are the parameters of equation and stepper: another viscosity compiles nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from solver.dynamics.any_equation import AnyEquation
from solver.loop.controls import FixedStep, StepControl, check_step_control, step_control
from solver.loop.first_change import check_first_change
from solver.loop.schedule import TOLERANCE, Schedule, multiple, reached, slack
from solver.loop.step_warnings import rounded_time_at_start, warn_of_long_step, warn_of_rounded_time
from solver.loop.steps import StepLimits, advance, advance_donating, begin_control
from solver.loop.sums import as_number, as_pair, device_state, host_state, on_host
from solver.steppers.checks import check_budget, check_history, check_kinds, check_state
from solver.steppers.state import State
from solver.steppers.stepper import Stepper


class BlowUp(FloatingPointError):
    """The solution is no longer finite, or step control has driven the step to nothing."""

    @classmethod
    def of_members(cls, errors: Mapping[str, BlowUp], count: int) -> BlowUp:
        """An error for the members that blew up, of so many."""
        said = "; ".join(f"{name}: {error}" for name, error in errors.items())
        return cls(f"{len(errors)} of {count} members blew up: {said}")


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
        equation, stepper: equation and stepper, from `solver.equations` and `solver.steppers` or your own.
        state: state from `initial_state` or a checkpoint; it stays valid.
        end: time to stop at; the last step is shortened to meet it.
        control: control of the step size: `FixedStep`, `KeepCFL`, `MeetTolerance`, or your own. Or, for
            short, one of
        step: fixed time step: `FixedStep(step)`;
        cfl: CFL number dt · equation.rate to keep: `KeepCFL(cfl, max_step)`. dt is chosen anew at each step, at the
            price of one evaluation of `rate`;
        tolerance: relative error of each step that an embedded method may estimate: `MeetTolerance(tolerance,
            max_step)`. A step with a larger error is taken again, shorter; `state.rejected` counts them. Only steppers
            that have such a method take it.
        max_step: the longest step, with `cfl` or `tolerance`.
        pauses: schedules at whose multiples the state is to be yielded.
        observe: function that receives every state before it is yielded, and True for the last one, and returns the
            state with other `statistics`.
        chunk: the most steps between two yields, or a function that says so each time. Never changes the result.
        donate: True to reuse the buffers of a yielded state when the generator is advanced. Saves the memory of one
            state; a state is then valid until the generator is advanced, and using it later is an error.

    Yields:
        States.

    Warns:
        LongStep: the CFL number of a fixed step is above one at the start.
        RoundedTime: the equation holds t, which a grid in single precision rounds by more than 1 % of a step.

    Raises:
        ValueError: not exactly one of `control`, `step`, `cfl` and `tolerance`, one that is not positive, or `max_step`
            with `step`; an end before the state's time; a state of another grid, equation or stepper; an own equation
            or forcing whose N no real field has.
        BlowUp: the solution stopped being finite; nothing of it is yielded.
        TypeError: an equation that the stepper cannot step, or a stepper without an error estimate.
    """
    control = step_control(control, step=step, cfl=cfl, tolerance=tolerance, max_step=max_step)
    course = Course(
        equation, stepper, state, end=end, control=control, pauses=pauses, observe=observe, chunk=chunk, donate=donate
    )
    warn_of_long_step(equation, control, course.state)
    warn_of_rounded_time(rounded_time_at_start(equation, control, course.state, end))
    yield from course.states()


class Call:
    """A call of `advance` that a run waits for.

    Args:
        equation, stepper, control, state, limits: the arguments of the call. The state is on the device, and belongs to
            the call alone; None once it is carried out.
    """

    def __init__(self, equation: Any, stepper: Any, control: Any, state: State, limits: StepLimits) -> None:
        self.equation, self.stepper, self.control, self.limits = equation, stepper, control, limits
        self.state: State | None = state

    def carry_out(self, donate: bool) -> tuple[State, Any]:
        """The state after the call, and True if it is finite; `donate` reuses the buffers of the state before."""
        run, state = advance_donating if donate else advance, self.state
        self.state = None
        moved, is_finite = run(self.equation, self.stepper, self.control, state, self.limits)
        del state
        return moved, jax.block_until_ready(is_finite)


class Course:
    """A run from a state to its end: `while not course.done: course.advance()`, with a pause after each.

    A caller that steps several runs by one program takes the `call` that each waits for, and gives the run the result
    of the call by `take` (`loop.members`). Meanwhile the course holds no array.

    Args:
        As of `evolve`.

    Attributes:
        state: the state at this pause.

    Raises:
        As `evolve`, when it is made; `BlowUp` when it advances.
    """

    def __init__(
        self,
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
    ) -> None:
        check_kinds(equation, stepper, state)
        check_step_control(equation, stepper, control, end, state.t)
        check_state(equation, state)
        check_budget(equation, state)
        check_history(equation, stepper, state.history)
        check_first_change(equation, state)
        for pause in pauses:
            if not pause.suits(control.size):
                every = pause.every_time
                raise ValueError(f"every_time = {every}: at least a thousandth of the step, {control.size}, is needed")
        self.equation, self.stepper, self.control, self.end = equation, stepper, control, end
        self._pauses, self._observe, self._chunk, self._donate = pauses, observe, chunk, donate
        self._call: Call | None = None
        self._target = end
        state = begin_control(equation, control, _own(state) if donate else state)
        state = state.replace(control=jax.tree.map(on_host, state.control))
        if control.size is not None and float(state.dt) != float(control.size):
            state = _count_from_here(state.replace(dt=np.float64(control.size)))
        self.state = self._observed(state)

    @property
    def done(self) -> bool:
        """True if the state has reached the end."""
        return reached(self.state, self.end)

    def states(self) -> Iterator[State]:
        """The state now, and after each of the calls that are left, each carried out for this run alone."""
        yield self.state
        while not self.done:
            self.advance()
            yield self.state

    def advance(self) -> None:
        """Go on to the next pause, in a call for this run alone."""
        self.take(*self.call().carry_out(self._donate))

    def call(self) -> Call:
        """The call that leads to the next pause: the same one until its answer is taken."""
        if self._call is None:
            t, step = float(self.state.t), int(self.state.step)
            self._target = min([self.end, *(pause.next_time(t, slack(self.state)) for pause in self._pauses)])
            limits = [self._chunk() if callable(self._chunk) else self._chunk]
            limits += [left for pause in self._pauses if (left := pause.steps_left(step)) is not None]
            self._call = self._call_of(max(1, min(limits)))
            self.state = self.state.replace(field={}, history=(), forcing=())  # they are the call's now
        return self._call

    def take(self, moved: State, is_finite: Any) -> None:
        """Continue with the result of the call.

        Raises:
            BlowUp: it is not finite.
        """
        call, before, self._call = self.call(), self.state, None
        after = self._state_after(call, moved)
        if not is_finite:
            raise BlowUp(
                f"the solution blew up between step {before.step} (t = {float(before.t):.6g}) and step {after.step} "
                f"(t = {float(after.t):.6g}); take a smaller step, or more points where the smallest scales are not "
                "resolved"
            )
        self.state = self._observed(after)

    def _observed(self, state: State) -> State:
        return state if self._observe is None else self._observe(state, reached(state, self.end))

    def _call_of(self, steps: int) -> Call:
        """A call for at most so many steps, and none beyond the target."""
        control, state = self.control, self.state
        if control.size is not None:
            full = _full_steps(state, float(control.size), self._target)
            steps = min(steps, full) if full else 1
            if not full:
                control, state = FixedStep(self._target - float(state.t)), _count_from_here(state)
        limits = StepLimits(np.int64(steps), as_pair(self._target))
        return Call(self.equation, self.stepper, control, device_state(state), limits)

    def _state_after(self, call: Call, moved: State) -> State:
        """The state that a call led to; all but its arrays are known of the state before."""
        before, control, target = self.state, self.control, self._target
        if control.size is None:
            after = host_state(moved, before, _on_target(moved.t, target))
            return _count_from_here(after.replace(dt=on_host(moved.dt), taken=on_host(moved.taken)))
        full = _full_steps(before, float(control.size), target)
        count = int(moved.step) - int(before.step_reference)
        t = multiple(count, float(control.size), float(before.t_reference)) if full else target
        after = host_state(moved, before, t).replace(taken=np.float64(call.control.size))
        return after if full else _count_from_here(after)


def _full_steps(state: State, step: float, target: float) -> int:
    """Number of whole steps left to the target; 0 where one shortened step meets it."""
    whole = math.floor((target - float(state.t_reference)) / step + TOLERANCE)
    return max(0, whole - int(state.step - state.step_reference))


def _on_target(t: Any, target: float) -> np.float64:
    """A time copied from the device, in double precision; the target itself if the device's time is at it or beyond.

    With 32-bit times the device compares with a target rounded to 48 bits.
    """
    return np.float64(target if as_number(t) >= as_number(as_pair(target)) else as_number(t))


def _own(state: State) -> State:
    """A copy whose buffers the compiled chunks may reuse; the caller's own state stays valid."""
    return jax.tree.map(lambda x: jnp.copy(x) if isinstance(x, jax.Array) else x, state)


def _count_from_here(state: State) -> State:
    """Times are counted in units of dt: a new size of step starts a count of its own."""
    return state.replace(t_reference=np.float64(state.t), step_reference=state.step)
