"""Pure functions of steps, for gradients and ensembles: `integrate` and `rollout`.

The caller chooses by `checkpoint` what the backward pass of a gradient keeps of the forward pass: see
`loop.checkpointing`.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import BUDGET, rates_in, shorn, without_budget
from solver.dynamics.checks import nothing_unless
from solver.dynamics.compiled import compiled
from solver.dynamics.energy_budget import kept_energies
from solver.dynamics.forcings import advance_forcings
from solver.loop.checkpointing import CHECKPOINTS, Carry, OneStep, repeat
from solver.loop.controls import StepControl, need_positive
from solver.loop.first_change import check_once
from solver.loop.rounded_time import rounded_time, rounded_time_at_start, warn_of_rounded_time
from solver.loop.schedule import TOLERANCE
from solver.loop.short_words import check_step_control, step_control
from solver.loop.steps import begin_control, controlled_step
from solver.loop.sums import Pair, apart, as_number, as_pair, device_state, on_host, traced
from solver.operators import Fields
from solver.steppers.checks import check_history, check_kinds, check_state
from solver.steppers.state import State
from solver.steppers.stepper import Stepper


def integrate(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    *,
    step: ArrayLike | None = None,
    steps: SupportsIndex | None = None,
    control: StepControl | None = None,
    cfl: ArrayLike | None = None,
    tolerance: ArrayLike | None = None,
    max_step: ArrayLike | None = None,
    end: ArrayLike | None = None,
    max_steps: SupportsIndex | None = None,
    checkpoint: str = "sqrt",
) -> State:
    """The state after `steps` equal steps, or at the time `end`: a pure function, for `jit`, `grad`, `jvp`, `vmap`.

    Differentiable any number of times with respect to the fields of `state`, the parameters of `equation` and
    `stepper`, and the sizes of steps; the backward pass is split over the devices as the forward pass is. Compiled once
    for each class of equation, grid, shapes and number of steps, also outside of `jit`: other parameters, fields and
    sizes of step compile nothing. Everything in the equation that is not an array (a function, a word, a whole number,
    a flag) is static.

    Args:
        equation, stepper: as in `evolve`.
        state: state from `initial_state` or a checkpoint.
        step: size of every step [time]; may be traced: then fields are not a number where it is not positive.
        steps: number of steps, zero or more; with `step`. Or
        control, cfl, tolerance, max_step: choice of the size of each step, as in `evolve`; `step` with `end` is
            `FixedStep(step)`.
        end: time of the returned state; the last step is shortened to meet it. May be traced.
        max_steps: the most attempts at a step until then, refused ones included; the program, and the memory of its
            gradient, are as large as if all were needed.
        checkpoint: choice of what a gradient keeps. `none` keeps what the derivative of each step needs, the most
            memory; `steps` keeps the state at each step, and takes each step once more; `sqrt` keeps 2 √steps states,
            and takes each step twice more. Which of them is fastest depends on grid and machine, since kept states are
            also written and read: try them. Makes no difference without a gradient.

    Returns:
        The state at t + steps · step, or at `end`. Its energy budget begins anew there, since nothing reads it on the
        way. `evolve` can continue from the state. Nothing is checked for being finite: that would need the values.
        Under `jit` and other transformations, where nothing can be raised, fields that `max_steps` attempts did not
        bring to `end`, or that were beyond it at the start, are not a number, and so are their derivatives. The same
        holds for a traced size of step, or parameter of an equation, that would be refused if it were known.

    Raises:
        ValueError: neither `steps` nor both of `end` and `max_steps`, or all; a number of steps that is not a whole
            number, zero or more; a step that is not positive; an end before the state's time; a state of another grid,
            equation or stepper; another `checkpoint`.
        TypeError: an equation that the stepper cannot step, or a stepper without an error estimate.
        RuntimeError: `max_steps` attempts did not reach `end`.
    """
    check_kinds(equation, stepper, state)
    if (steps is None) == (end is None and max_steps is None) or (end is None) != (max_steps is None):
        raise ValueError(
            f"integrate with steps={steps}, end={end}, max_steps={max_steps}: steps, or end and max_steps, are needed"
        )
    if end is not None:
        chosen = step_control(control, step=step, cfl=cfl, tolerance=tolerance, max_step=max_step)
        return _to_end(equation, stepper, state, chosen, end, max_steps, checkpoint)
    others = {"control": control, "cfl": cfl, "tolerance": tolerance, "max_step": max_step}
    given = [name for name, value in others.items() if value is not None]
    if given or step is None:
        raise ValueError(f"steps={steps} with {given[0] if given else 'no'} step: step alone is needed beside steps")
    count = _checked(step, steps, checkpoint)
    step = nothing_unless(step, above=0)
    stepper.check_step(equation, step)
    check_state(equation, state)
    check_once(equation, state)
    warn_of_rounded_time(rounded_time(equation, state.t, state.t + count * step, step))
    field, history, forcing = _integrated(equation, stepper, _for_equal_steps(state), step, count, checkpoint)
    after = state.replace(
        field=field, history=history, forcing=forcing, t=state.t + count * step, dt=_number(step), taken=_number(step),
        step=state.step + count,
    )  # fmt: skip
    return _counted_from_here(equation, after)


def _to_end(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    control: StepControl,
    end: Any,
    max_steps: Any,
    checkpoint: str,
) -> State:
    """`integrate` up to a time, with steps that a control chooses."""
    count = _whole_steps(max_steps, checkpoint)
    check_step_control(equation, stepper, control, end, state.t)
    check_state(equation, state)
    check_once(equation, state)
    check_history(equation, stepper, state.history)
    state = begin_control(equation, control, state)
    if not traced((equation, state, control)):
        warn_of_rounded_time(rounded_time_at_start(equation, control, state, end), stacklevel=4)
    moved, is_there = _controlled(equation, stepper, control, device_state(state), as_pair(end), count, checkpoint)
    if traced((moved, is_there)):
        moved, known = _nothing_unless(is_there, moved), lambda value: value
    elif is_there:
        known = on_host
    else:
        raise RuntimeError(
            f"integrate under {control}: {count} attempts at a step (max_steps) end at t = "
            f"{float(as_number(moved.t)):.6g}, step {int(moved.step)}; more are needed to reach end = {float(end):.6g}"
        )
    t = known(jnp.asarray(end)) if traced(end) else np.float64(end)
    after = state.replace(
        field=moved.field, history=moved.history, forcing=moved.forcing, t=t, dt=known(moved.dt),
        taken=known(moved.taken), step=known(moved.step), rejected=known(moved.rejected),
        control=jax.tree.map(known, moved.control),
    )  # fmt: skip
    return _counted_from_here(equation, after)


def _counted_from_here(equation: AnyEquation, state: State) -> State:
    """A state from which times and the energy budget are counted anew."""
    begun = _begin_budget(equation, state.field, tuple(state.budget)) if state.budget else {}
    return state.replace(**begun, t_reference=state.t, step_reference=state.step)


def _nothing_unless(is_there: Array, state: State) -> State:
    """A state whose fields are not a number unless the flag is set."""
    factor = jnp.where(is_there, 1.0, jnp.nan)  # so that derivatives are not a number either
    mark = lambda u: u * factor.astype(jnp.finfo(u.dtype).dtype)  # noqa: E731
    return state.replace(field=jax.tree.map(mark, state.field))


def rollout(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    *,
    step: ArrayLike,
    steps: SupportsIndex,
    every: SupportsIndex = 1,
    checkpoint: str = "sqrt",
) -> tuple[Array, Fields]:
    """A trajectory as arrays: the fields at the points at the start and after every so many equal steps.

    A pure function, as `integrate` is: for `jit`, `grad`, `jvp` and `vmap`, compiled once for equal shapes. The
    result is as large as steps/every + 1 states at the points, whatever `checkpoint` is.

    Args:
        equation, stepper, state, step: as in `integrate`.
        steps: total number of steps, a multiple of `every`.
        every: number of steps from one time to the next.
        checkpoint: choice of what a gradient keeps: `none` and `steps` as in `integrate`; `sqrt` keeps a state at each
            returned time and at each step between two of them, and takes each step twice more (once, if `every` is 1).

    Returns:
        Times `(time,)`, and by field name the values `(time, component, x, y, z)`, split over the devices as fields at
        the points are.

    Raises:
        ValueError, TypeError: as `integrate`; also a number of steps that is no multiple of `every`.
    """
    check_kinds(equation, stepper, state)
    count, apart = _checked(step, steps, checkpoint), _whole(every)
    step = nothing_unless(step, above=0)
    stepper.check_step(equation, step)
    if not apart or count % apart:
        raise ValueError(f"every = {every} of {count} steps: a whole number that divides them is needed")
    check_state(equation, state)
    check_once(equation, state)
    warn_of_rounded_time(rounded_time(equation, state.t, state.t + count * step, step))
    values = _rolled(equation, stepper, _for_equal_steps(state), step, count, apart, checkpoint)
    return jnp.asarray(state.t + apart * np.arange(count // apart + 1) * step), values


def _for_equal_steps(state: State) -> State:
    """The entries of a state that equal steps need."""
    return State(
        field=state.field, history=state.history, forcing=state.forcing, key=state.key, t=state.t, step=state.step
    )


def _integrate(equation: Any, stepper: Any, state: State, step: Any, steps: int, checkpoint: str) -> Carry:
    equation = equation.prepared()
    fields, history, forcing = _with_rates(state), state.history, state.forcing
    one_step = _one_step(equation, stepper, state, step)
    fields, history, forcing = repeat(one_step, (fields, history, forcing), 0, steps, checkpoint)
    return without_budget(fields), history, forcing


def _with_rates(state: State) -> Fields:
    """The fields, with a place for the rates of a budget if the stepper's history has rates of earlier steps."""
    fields, rates = without_budget(state.field), rates_in(state.history)
    return fields if rates is None else {**fields, BUDGET: jnp.zeros_like(rates)}


def _integrate_controlled(
    equation: Any, stepper: Any, control: Any, state: State, end: Pair, attempts: int, checkpoint: str
) -> tuple[State, Array]:
    """The state after so many attempts at a step or at the end, and whether they led there from an earlier time."""
    end, equation = jax.tree.map(jnp.asarray, end), equation.prepared()
    begun = jax.tree.map(jnp.asarray, state.t)
    is_later = apart(end, begun) >= -TOLERANCE * jnp.abs(begun[0])

    def attempt(state: State, _: Any) -> State:
        take = lambda state: controlled_step(equation, stepper, control, state, end, ())[0]  # noqa: E731
        return jax.lax.cond(apart(end, state.t) > 0, take, lambda state: state, state)

    state = repeat(attempt, jax.tree.map(jnp.asarray, state.replace(field=_with_rates(state))), 0, attempts, checkpoint)
    return state.replace(field=without_budget(state.field)), is_later & (apart(end, state.t) <= 0)


def _rollout(equation: Any, stepper: Any, state: State, step: Any, steps: int, every: int, checkpoint: str) -> Fields:
    equation = equation.prepared()
    start = (state.field, shorn(state.history), state.forcing)
    one_step = _one_step(equation, stepper, state.replace(history=start[1]), step)
    within = checkpoint if checkpoint != "sqrt" else "steps" if every > 1 else "none"
    to_next = lambda carry, begin: repeat(one_step, carry, begin, every, within)  # noqa: E731
    to_next = jax.checkpoint(to_next, prevent_cse=False) if checkpoint == "sqrt" else to_next

    def body(carry: Carry, i: Any) -> tuple[Carry, Fields]:
        carry = to_next(carry, i * every)
        return carry, equation.to_physical(carry[0])

    _, values = jax.lax.scan(body, start, jnp.arange(steps // every))
    at_start = equation.to_physical(start[0])
    return {name: jnp.concatenate([at_start[name][None], values[name]]) for name in values}


def _new_budget(equation: Any, fields: Fields, columns: tuple[str, ...]) -> dict[str, Any]:
    zeros = {name: jnp.asarray(np.float64(0)) for name in columns}
    return {"budget": zeros, "energies": kept_energies(equation, fields)}


_integrated = compiled(_integrate, static_argnums=(4, 5))
_controlled = compiled(_integrate_controlled, static_argnums=(5, 6))
_rolled = compiled(_rollout, static_argnums=(4, 5, 6))
_begin_budget = compiled(_new_budget, static_argnums=2)


def _one_step(equation: Any, stepper: Any, state: State, step: Any) -> OneStep:
    """A function that takes one step of this size; coefficients that depend on the size alone are computed once."""
    stepper.check(equation)
    check_history(equation, stepper, state.history)
    key, first = state.key, state.step
    dt, t0 = jnp.asarray(step, equation.grid.dtype), jnp.asarray(state.t, equation.grid.dtype)
    coefficients = stepper.coefficients(equation.at_step(state.forcing, key, first), dt)

    def advance(carry: Carry, i: Any) -> Carry:
        fields, history, forcing = carry
        forcing = advance_forcings(equation, forcing, key, first + i, dt)
        driven = equation.at_step(forcing, key, first + i)
        return *stepper.step(driven, fields, history, t0 + i * dt, dt, coefficients), forcing

    return advance


def _checked(step: Any, steps: Any, checkpoint: str) -> int:
    """The number of steps; raises ValueError where it, the size of a step or `checkpoint` is wrong."""
    count = _whole_steps(steps, checkpoint)
    need_positive("step", step)
    return count


def _whole_steps(steps: Any, checkpoint: str) -> int:
    count = _whole(steps)
    if count is None:
        raise ValueError(f"integrate over {steps} steps: zero or more are needed, a whole number")
    if checkpoint not in CHECKPOINTS:
        raise ValueError(f"checkpoint = {checkpoint!r}: {', '.join(CHECKPOINTS)} are there")
    return count


def _whole(number: Any) -> int | None:
    """A whole number ≥ 0; None if the number is negative or not whole, or a flag."""
    try:
        count = operator.index(number)
    except TypeError:
        return None
    return None if isinstance(number, bool) or count < 0 else count


def _number(value: Any) -> Any:
    """A Python number as a state has it; arrays as they are."""
    return np.float64(value) if isinstance(value, int | float) else value
