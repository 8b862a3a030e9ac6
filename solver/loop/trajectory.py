"""`rollout`: a trajectory as arrays, a pure function; and the rows behind it."""

from __future__ import annotations

from typing import Any, SupportsIndex

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import shorn, without_budget
from solver.dynamics.checks import nothing_unless
from solver.dynamics.compiled import compiled
from solver.loop.checkpointing import Carry, chosen_checkpoint, repeat
from solver.loop.controls import StepControl, check_step_control, is_known, step_control
from solver.loop.first_change import check_once
from solver.loop.pure_steps import (
    NewBudget,
    checked_count,
    checked_every,
    checked_steps,
    for_equal_steps,
    is_later,
    new_budget,
    nothing_unless_there,
    one_attempt,
    one_step,
    whole,
    with_rates,
)
from solver.loop.saving import Save, SaveFunction, row_of, save_module, with_start
from solver.loop.step_warnings import rounded_time, rounded_time_at_start, warn_of_rounded_time
from solver.loop.steps import begin_control
from solver.loop.sums import Pair, apart, as_pair, device_state, traced
from solver.steppers.checks import check_history, check_kinds, check_state
from solver.steppers.state import State
from solver.steppers.stepper import Stepper


def rollout(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    *,
    step: ArrayLike | None = None,
    steps: SupportsIndex | None = None,
    every: SupportsIndex = 1,
    control: StepControl | None = None,
    cfl: ArrayLike | None = None,
    tolerance: ArrayLike | None = None,
    max_step: ArrayLike | None = None,
    end: ArrayLike | None = None,
    intervals: SupportsIndex | None = None,
    max_steps: SupportsIndex | None = None,
    save: SaveFunction | None = None,
    checkpoint: str = "auto",
) -> tuple[Array, Any]:
    """A trajectory as arrays: rows at the start and after every so many equal steps, or at equally spaced times.

    A row holds the fields at the points, or what `save` returns. A pure function, as `integrate` is: for `jit`, `grad`,
    `jvp` and `vmap`, compiled once for equal shapes. The result is as large as all its rows, whatever `checkpoint` is.

    Args:
        equation, stepper, state, step: as in `integrate`.
        steps: total number of steps, a multiple of `every`; with `step`.
        every: number of steps from one row to the next; with `steps`. Or
        control, cfl, tolerance, max_step: choice of the size of each step, as in `evolve`; `step` with `end` is
            `FixedStep(step)`.
        end: time of the last row; may be traced.
        intervals: number of equal intervals from the state's time to `end`; a row at each of their ends. The last step
            in each is shortened to meet the time.
        max_steps: the most attempts at a step in each interval, refused ones included; the program takes as long as if
            all were needed.
        save: function of a state (`field`, `forcing`, `key`, `t`, `dt`, `step`) that returns the row: an array, or a
            pytree of arrays. It is compiled with the steps, once for each code and values that the function closes
            over. A pytree that can be called (a network) has its arrays as leaves. By default the fields at the points.
        checkpoint: choice of what a gradient keeps: `auto`, `none`, `steps` as in `integrate`; `sqrt` keeps a state at
            each row and at each step between two of them, and takes each step twice more (once, if `every` is 1).

    Returns:
        Times `(time,)`, and the rows, each array of them with a leading axis of time. Without `save` these are the
        values by field name, `(time, component, x, y, z)`, split over the devices as fields at the points are. Under
        `jit` and other transformations, where nothing can be raised, the fields of a row whose time `max_steps`
        attempts did not reach, and of all after it, are not a number, and so are their derivatives.

    Raises:
        ValueError, TypeError: as `integrate`; also a number of steps that is no multiple of `every`, neither `steps`
            nor all of `end`, `intervals` and `max_steps`, or a `save` that returns something else than arrays.
        RuntimeError: `max_steps` attempts did not reach the time of a row.
    """
    check_kinds(equation, stepper, state)
    saved = save_module(save)
    to_end = {"end": end, "intervals": intervals, "max_steps": max_steps}
    given = [name for name, value in to_end.items() if value is not None]
    if (steps is None) is not (len(given) == len(to_end)) or (steps is not None and given):
        listed = ", ".join(f"{name}={value}" for name, value in {"steps": steps, **to_end}.items())
        raise ValueError(f"rollout with {listed}: steps, or end, intervals and max_steps, are needed")
    if steps is None:
        if every != 1:
            raise ValueError(f"every={every} with end={end}: intervals alone says how many rows there are")
        chosen = step_control(control, step=step, cfl=cfl, tolerance=tolerance, max_step=max_step)
        return _to_end(equation, stepper, state, chosen, saved, end, intervals, max_steps, checkpoint)
    need_step_alone(steps, step, {"control": control, "cfl": cfl, "tolerance": tolerance, "max_step": max_step})
    count, between, step = begin_equal_steps(equation, stepper, state, step, steps, every, checkpoint)
    start = for_equal_steps(state.replace(history=shorn(state.history)))
    checkpoint = chosen_checkpoint(checkpoint, count, start, equation.grid.mesh, are_equal=True)
    rows = equal_rows(equation, stepper, saved, start, step, count, between, checkpoint, ())[2]
    return jnp.asarray(state.t + between * np.arange(count // between + 1) * step), rows


def need_step_alone(steps: Any, step: Any, others: dict[str, Any]) -> None:
    """Refuse `steps` without `step`, or with another way to choose a step.

    Raises:
        ValueError: the message names the other way, or says that there is no step.
    """
    given = [name for name, value in others.items() if value is not None]
    if given or step is None:
        raise ValueError(f"steps={steps} with {given[0] if given else 'no'} step: step alone is needed beside steps")


def begin_equal_steps(
    equation: AnyEquation, stepper: Stepper, state: State, step: Any, steps: Any, every: Any, checkpoint: str
) -> tuple[int, int, Any]:
    """Check everything that equal steps need; the number of steps, the number from one row to the next, and the size.

    Raises:
        ValueError, TypeError: as `integrate`.
    """
    count = checked_count(step, steps, checkpoint)
    between = checked_every(every, count)
    step = nothing_unless(step, above=0)
    stepper.check_step(equation, step)
    check_state(equation, state)
    check_once(equation, state)
    warn_of_rounded_time(rounded_time(equation, state.t, state.t + count * step, step), stacklevel=4)
    return count, between, step


def begin_chosen_steps(equation: AnyEquation, stepper: Stepper, state: State, control: StepControl, end: Any) -> State:
    """Check everything that steps to a time need, whose sizes a control chooses; the state with the control's memory.

    Raises:
        ValueError, TypeError: as `integrate`.
    """
    check_step_control(equation, stepper, control, end, state.t)
    check_state(equation, state)
    check_once(equation, state)
    check_history(equation, stepper, state.history)
    state = begin_control(equation, control, state)
    if not traced((equation, state, control)):
        warn_of_rounded_time(rounded_time_at_start(equation, control, state, end), stacklevel=5)
    return state


def _to_end(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    control: StepControl,
    save: Save | None,
    end: Any,
    intervals: Any,
    max_steps: Any,
    checkpoint: str,
) -> tuple[Array, Any]:
    """`rollout` to a time, with steps that a control chooses."""
    attempts, count = checked_steps(max_steps, checkpoint), whole(intervals)
    if not count:
        raise ValueError(f"intervals={intervals}: one or more are needed, a whole number")
    state = begin_chosen_steps(equation, stepper, state, control, end)
    times = _spaced(state.t, end, count)
    start = device_state(state.replace(history=shorn(state.history), budget={}))
    checkpoint = chosen_checkpoint(checkpoint, attempts * count, start, equation.grid.mesh, are_equal=False)
    later = jax.tree.map(lambda t: t[1:], as_pair(times))
    rows, are_there = _controlled_rows(equation, stepper, control, save, start, later, attempts, checkpoint)
    if not traced((rows, are_there)) and not np.all(are_there):
        missed = 1 + int(np.argmin(are_there))
        raise RuntimeError(
            f"rollout under {control}: {attempts} attempts at a step (max_steps) do not reach t = "
            f"{float(times[missed]):.6g}, row {missed} of {count}, from the row before; more are needed"
        )
    return jnp.asarray(times), rows


def _spaced(begun: Any, end: Any, count: int) -> Any:
    """Equally spaced times from the first to the last, which are exact; NumPy's where both are known."""
    numbers = np if is_known(begun) and is_known(end) else jnp
    share = np.arange(count + 1) / count
    return numbers.asarray(begun * (1 - share) + end * share)


def _equal_rows(
    equation: Any,
    stepper: Any,
    save: Any,
    state: State,
    step: Any,
    steps: int,
    every: int,
    checkpoint: str,
    columns: tuple[str, ...],
) -> tuple[Carry, NewBudget, Any]:
    """Fields, history and forcing at the end of equal steps, the energy budget from there on, the rows on the way."""
    given, equation = equation, equation.prepared()
    start = (with_rates(state), state.history, state.forcing)
    advance = one_step(equation, stepper, state, step)
    within = checkpoint if checkpoint != "sqrt" else "steps" if every > 1 else "none"
    to_next = lambda carry, begin: repeat(advance, carry, begin, every, within)  # noqa: E731
    to_next = jax.checkpoint(to_next, prevent_cse=False) if checkpoint == "sqrt" else to_next

    def row(carry: Carry, i: Any, dt: Any) -> Any:
        moved = state.replace(field=carry[0], forcing=carry[2], t=state.t + i * step, dt=dt, step=state.step + i)
        return row_of(equation, save, moved)

    def body(carry: Carry, i: Any) -> tuple[Carry, Any]:
        carry = to_next(carry, i * every)
        return carry, row(carry, (i + 1) * every, step)

    carry, rows = jax.lax.scan(body, start, jnp.arange(steps // every))
    budget = new_budget(given, without_budget(carry[0]), state.t + steps * step, columns)
    return carry, budget, with_start(row(start, 0, state.dt), rows)


def _rows_under_control(
    equation: Any, stepper: Any, control: Any, save: Any, state: State, times: Pair, attempts: int, checkpoint: str
) -> tuple[Any, Array]:
    """The rows at the start and at these times, and by time whether attempts reached it and all before it."""
    equation = equation.prepared()
    within = checkpoint if checkpoint != "sqrt" else "steps"

    def to_next(state: State, end: Pair) -> State:
        return repeat(one_attempt(equation, stepper, control, end), state, 0, attempts, within)

    to_next = jax.checkpoint(to_next, prevent_cse=False) if checkpoint == "sqrt" else to_next
    row = lambda state: row_of(equation, save, state.replace(t=state.t[0]))  # noqa: E731

    def body(carry: tuple[State, Array], end: Pair) -> tuple[tuple[State, Array], Any]:
        state, are_there = carry
        state = to_next(state, end)
        are_there = are_there & (apart(end, state.t) <= 0)
        return (state, are_there), (row(nothing_unless_there(are_there, state)), are_there)

    times = jax.tree.map(jnp.asarray, times)
    state = jax.tree.map(jnp.asarray, state)
    last = jax.tree.map(lambda t: t[-1], times)
    _, (rows, are_there) = jax.lax.scan(body, (state, is_later(last, state.t)), times)
    return with_start(row(state), rows), are_there


equal_rows = compiled(_equal_rows, static_argnums=(5, 6, 7, 8))
_controlled_rows = compiled(_rows_under_control, static_argnums=(6, 7))
