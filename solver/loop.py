"""Stepping: chunks of steps as one compiled call each, with pauses that yield the state; and a pure `integrate`.

The number of steps in a chunk is an argument of the compiled program, so where a chunk ends changes neither the
program nor the bits of the result. So are the parameters of equation and stepper: another viscosity compiles nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square
from solver.equations.base import Equation, PeriodicSystem
from solver.equations.budget import split_budget, with_budget, without_budget
from solver.operators import Fields
from solver.steppers.base import State, Stepper

TOLERANCE = 1e-9  # of a step: a time this close to a target counts as having reached it
SHORTEST = 1e-3  # of a step: the least interval of time between two pauses
MOST_STEPS = 1e15  # more cannot be counted in double precision
GROWTH = 1.5  # the most by which CFL control lengthens a step against the one before


class BlowUp(FloatingPointError):
    """The solution is no longer finite, or CFL control has driven the step to nothing."""


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
        nearest = round(float(state.t) / self.every_time) * self.every_time
        return abs(float(state.t) - nearest) <= TOLERANCE * max(float(state.dt), 0.0)

    def steps_left(self, step: int) -> int | None:
        """Steps until the next multiple."""
        return self.every_steps - step % self.every_steps if self.every_steps else None

    def next_time(self, t: float, tolerance: float) -> float:
        """The next multiple in time that lies beyond `t`."""
        if not self.every_time:
            return math.inf
        multiple = math.floor(t / self.every_time)
        while multiple * self.every_time <= t + tolerance:
            multiple += 1
        return multiple * self.every_time


def evolve(
    equation: PeriodicSystem,
    stepper: Stepper,
    state: State,
    *,
    end: float,
    step: float | None = None,
    cfl: float | None = None,
    max_step: float | None = None,
    pauses: Sequence[Schedule] = (),
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
        max_step: the longest step that CFL control may take: what accuracy allows where `rate` does not see it.
        pauses: schedules at whose multiples the state is to be yielded.
        chunk: the most steps between two yields, or a function that says so each time. Never changes the result.
        donate: reuse the buffers of a yielded state when the generator is advanced. Saves the memory of one state;
            a state is then valid until the next is asked for, and using it later is an error.

    Yields:
        States.

    Raises:
        ValueError: both or neither of `step` and `cfl`, one that is not positive, or `max_step` without `cfl`.
        BlowUp: the solution stopped being finite; nothing of it is yielded.
        TypeError: an equation that the stepper cannot step.
    """
    stepper.check(equation)
    control = check_control(end, step, cfl, max_step)
    for pause in pauses:
        if not pause.suits(step):
            raise ValueError(f"every_time = {pause.every_time}: at least a thousandth of the step, {step}, is needed")
    longest = np.float64(math.inf if max_step is None else max_step)
    state = _own(state) if donate else state
    if step is not None and float(state.dt) != step:
        state = _count_from_here(state, np.float64(step))
    yield state
    while not reached(state, end, step):
        target = min([end, *(p.next_time(float(state.t), _slack(state, step)) for p in pauses)])
        limits = [chunk() if callable(chunk) else chunk, *(p.steps_left(int(state.step)) for p in pauses)]
        steps = max(1, min(n for n in limits if n is not None))
        if step is None:
            state = _to_target_by_cfl(equation, stepper, state, steps, target, float(control), longest, donate)
        else:
            state = _to_target_by_count(equation, stepper, state, steps, target, float(step), donate)
        yield state


def check_control(end: float, step: float | None, cfl: float | None, max_step: float | None) -> float:
    """Whichever of `step` and `cfl` is given.

    Raises:
        ValueError: both or neither of them, one that is not positive, an end that is not finite or that no number of
            such steps can reach, or `max_step` without `cfl`.
    """
    control = cfl if step is None else step
    if (step is None) == (cfl is None) or not (control and control > 0 and math.isfinite(control)):
        raise ValueError(f"step={step}, cfl={cfl}: one of them is needed, a positive number")
    if max_step is not None and (cfl is None or not max_step > 0):
        raise ValueError(f"max_step={max_step}, cfl={cfl}: a positive number beside cfl is needed")
    if not math.isfinite(end):
        raise ValueError(f"end={end}: a finite time is needed")
    if step is not None and abs(end) > MOST_STEPS * step:
        raise ValueError(f"step={step}: too small to reach end={end} in {MOST_STEPS:.0e} steps")
    return control


def _slack(state: State, step: float | None) -> float:
    return TOLERANCE * (step if step is not None else float(state.dt))


def reached(state: State, target: float, step: float | None) -> bool:
    """Whether a state stands at or beyond a time, but for a billionth of a step."""
    return float(state.t) >= target - _slack(state, step)


def _to_target_by_count(
    equation: PeriodicSystem, stepper: Stepper, state: State, steps: int, target: float, step: float, donate: bool
) -> State:
    """At most `steps` full steps; or, where less than one is left to the target, the one shortened step to it."""
    whole = math.floor((target - float(state.t_reference)) / step + TOLERANCE)
    full = whole - int(state.step - state.step_reference)
    if full >= 1:
        steps = min(steps, full)
        dt, t_reference, step_reference = step, state.t_reference, state.step_reference
        counted = state.step + steps - step_reference
        t = t_reference + counted * np.float64(step)
    else:
        steps, dt = 1, target - float(state.t)
        t, t_reference, step_reference = np.float64(target), np.float64(target), state.step + 1
    field, history, forcing, is_finite = (fixed_steps_donating if donate else fixed_steps)(
        equation, stepper, with_budget(state.field, state.budget), state.history, np.int64(steps), np.float64(dt),
        state.t_reference, state.step - state.step_reference, state.forcing, state.key, np.int64(state.step),
    )  # fmt: skip
    field, budget = split_budget(field, state.budget)
    after = state.replace(
        field=field, history=history, budget=budget, forcing=forcing, t=t, step=state.step + steps, dt=np.float64(step),
        t_reference=t_reference, step_reference=step_reference,
    )  # fmt: skip
    return _checked(after, bool(is_finite), before=state)


def _own(state: State) -> State:
    """A copy whose buffers the compiled chunks may reuse; what the caller holds stays valid."""
    return jax.tree.map(lambda x: jnp.copy(x) if isinstance(x, jax.Array) else x, state)


def _count_from_here(state: State, dt: Any) -> State:
    """Times are counted in units of dt: a new size of step starts a count of its own."""
    return state.replace(t_reference=np.float64(state.t), step_reference=state.step, dt=dt)


def _fixed_steps(
    equation: Any,
    stepper: Any,
    field: Fields,
    history: Any,
    steps: Any,
    dt: Any,
    t_reference: Any,
    counted: Any,
    forcing: Any,
    key: Any,
    step: Any,
) -> tuple[Fields, Any, Any, Array]:
    dt = jnp.asarray(dt, equation.grid.dtype)
    at_step = lambda forcing, i: equation.at_step(forcing, key, step + i)  # noqa: E731
    coefficients = stepper.coefficients(at_step(forcing, 0), dt)

    def body(i: Array, carry: tuple[Fields, Any, Any]) -> Any:
        field, history, forcing = carry
        t = t_reference + (counted + i) * dt
        forcing = equation.advance_forcing(forcing, key, step + i, dt)
        return *stepper.step(at_step(forcing, i), field, history, t.astype(dt.dtype), dt, coefficients), forcing

    field, history, forcing = jax.lax.fori_loop(0, steps, body, (field, history, forcing))
    return field, history, forcing, _is_finite(field)


fixed_steps = jax.jit(_fixed_steps)
fixed_steps_donating = jax.jit(_fixed_steps, donate_argnums=(2, 3))


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
    first = np.float64(_first_step(equation, state, np.float64(state.t), cfl)) if at_start else np.float64("inf")
    field, history, forcing, t, dt, done, is_finite = (cfl_steps_donating if donate else cfl_steps)(
        equation, stepper, with_budget(state.field, state.budget), state.history, np.int64(steps), np.float64(cfl),
        np.float64(state.t), np.float64(state.dt), np.float64(target), longest, first,
        state.forcing, state.key, np.int64(state.step),
    )  # fmt: skip
    step = state.step + np.int64(done)
    # where JAX is limited to 32 bits the target is rounded on the device: reaching it there is reaching it
    t = target if np.asarray(t) >= np.asarray(target).astype(np.asarray(t).dtype) else t
    field, budget = split_budget(field, state.budget)
    after = state.replace(
        field=field, history=history, budget=budget, forcing=forcing, t=np.float64(t), dt=np.float64(dt), step=step
    )
    return _checked(_count_from_here(after, after.dt), bool(is_finite), before=state)


def _cfl_steps(
    equation: Any,
    stepper: Any,
    field: Fields,
    history: Any,
    steps: Any,
    cfl: Any,
    t: Any,
    dt: Any,
    target: Any,
    longest: Any,
    first: Any,
    forcing: Any,
    key: Any,
    step: Any,
) -> tuple[Any, ...]:
    def go_on(carry: tuple[Any, ...]) -> Array:
        _, _, _, t, _, done, is_finite = carry
        return (done < steps) & (t < target) & is_finite

    def body(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        field, history, forcing, t, before, done, _ = carry
        chosen = jnp.minimum(cfl / equation.rate(without_budget(field)).astype(t.dtype), longest)
        chosen = jnp.minimum(chosen, jnp.where(before > 0, GROWTH * before, first))
        last = t + chosen * (1 + TOLERANCE) >= target
        dt = jnp.where(last, target - t, chosen)
        is_finite = jnp.isfinite(dt) & (t + dt > t)
        short = dt.astype(equation.grid.dtype)
        forcing = equation.advance_forcing(forcing, key, step + done, short)
        driven = equation.at_step(forcing, key, step + done)
        coefficients = stepper.coefficients(driven, short)
        field, history = stepper.step(driven, field, history, t.astype(short.dtype), short, coefficients)
        usual = jnp.where(jnp.isfinite(chosen), chosen, dt)  # a field at rest allows any step
        return field, history, forcing, jnp.where(last, target, t + dt), usual, done + 1, is_finite

    start = (field, history, forcing, jnp.asarray(t), jnp.asarray(dt), jnp.zeros_like(steps), jnp.asarray(True))
    field, history, forcing, t, dt, done, is_finite = jax.lax.while_loop(go_on, body, start)
    return field, history, forcing, t, dt, done, is_finite & _is_finite(field)


cfl_steps = jax.jit(_cfl_steps)
cfl_steps_donating = jax.jit(_cfl_steps, donate_argnums=(2, 3))


@jax.jit
def _first_step(equation: Any, state: State, t: Any, cfl: Any) -> Array:
    """A hundredth of the time ‖u‖/‖u_t‖ in which the fields change; from rest, the time in which the acceleration
    alone would reach a tenth of the CFL number; infinite where nothing changes.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I (1993), II.4, for the hundredth.
    """
    short = jnp.asarray(t, equation.grid.dtype)
    fields, forced = state.field, equation.at_step(state.forcing, state.key, state.step)
    moved, driven = equation.linear().apply(fields), forced.nonlinear(fields, short)
    change = {name: moved[name] + driven[name] for name in fields}
    norm = lambda f: jnp.sqrt(sum(mean_square(v, equation.grid_of(name)) for name, v in f.items()))  # noqa: E731
    size, speed = norm(fields), norm(change)
    safe = jnp.where(speed > 0, speed, 1)
    accelerated = equation.rate(change)
    from_rest = jnp.sqrt(0.1 * cfl / jnp.where(accelerated > 0, accelerated, 1))
    from_rest = jnp.where(accelerated > 0, from_rest, jnp.inf)
    return jnp.where(size > 0, jnp.where(speed > 0, 0.01 * size / safe, jnp.inf), from_rest)


def _is_finite(fields: Fields) -> Array:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(field)) for field in fields.values()]))


def _checked(after: State, is_finite: bool, before: State) -> State:
    if is_finite:
        return after
    raise BlowUp(
        f"the solution blew up between step {before.step} (t = {float(before.t):.6g}) and step {after.step} "
        f"(t = {float(after.t):.6g}); take a smaller step, or more points where the smallest scales are not resolved"
    )


def integrate(equation: PeriodicSystem, stepper: Stepper, state: State, *, step: ArrayLike, steps: int) -> State:
    """The state after a number of equal steps: a pure function, for `jit`, `grad`, `jvp`, `vmap` and `scan`.

    Differentiable with respect to the fields of `state`, the parameters of `equation` and `stepper`, and `step`. The
    backward pass keeps √steps states and computes the steps between them once more; it is split over the devices as
    the forward pass is.

    Args:
        equation, stepper: as in `evolve`.
        state: from `initial_state` or a checkpoint.
        step: size of every step [time]; may be traced.
        steps: how many, zero or more.

    Returns:
        The state at t + steps · step. Nothing is checked for being finite: that would need the values.

    Raises:
        ValueError: a negative number of steps.
        TypeError: an equation that the stepper cannot step.

    Source: Griewank, Optim. Methods Softw. 1 (1992) 35, with one level of checkpoints.
    """
    if steps < 0:
        raise ValueError(f"integrate over {steps} steps: zero or more are needed")
    stepper.check(equation)
    dt = jnp.asarray(step, equation.grid.dtype)
    t0 = jnp.asarray(state.t, equation.grid.dtype)

    def advance(carry: Any, start: Any, count: int, coefficients: Any) -> Any:
        @partial(jax.checkpoint, prevent_cse=False)  # or each of its stages' fields at the points would be kept
        def body(carry: Any, i: Any) -> Any:
            field, history, forcing = carry
            forcing = equation.advance_forcing(forcing, state.key, state.step + start + i, dt)
            driven = equation.at_step(forcing, state.key, state.step + start + i)
            after = stepper.step(driven, field, history, t0 + (start + i) * dt, dt, coefficients)
            return (*after, forcing), None

        return jax.lax.scan(body, carry, jnp.arange(count))[0]

    advance_again = jax.checkpoint(advance, static_argnums=2)
    coefficients = stepper.coefficients(equation.at_step(state.forcing, state.key, state.step), dt)
    carry = (with_budget(state.field, state.budget), state.history, state.forcing)
    inner = max(1, math.isqrt(steps))
    outer, rest = divmod(steps, inner)
    block = lambda carry, j: (advance_again(carry, j * inner, inner, coefficients), None)  # noqa: E731
    carry = jax.lax.scan(block, carry, jnp.arange(outer))[0]
    if rest:
        carry = advance_again(carry, outer * inner, rest, coefficients)
    fields, history, forcing = carry
    field, budget = split_budget(fields, state.budget)
    t = jnp.asarray(state.t) + steps * jnp.asarray(step)
    return state.replace(
        field=field, history=history, budget=budget, forcing=forcing, t=t, dt=jnp.asarray(step),
        step=state.step + steps, t_reference=t, step_reference=state.step + steps,
    )  # fmt: skip
