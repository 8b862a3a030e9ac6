"""`integrate`: the state some steps later, a pure function for gradients and ensembles.

The caller chooses by `checkpoint` what the backward pass of a gradient keeps of the forward pass: see
`loop.checkpointing`.
"""

from __future__ import annotations

from typing import Any, SupportsIndex, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import without_budget
from solver.dynamics.compiled import compiled
from solver.loop.checkpointing import Carry, chosen_checkpoint, repeat
from solver.loop.controls import StepControl, step_control
from solver.loop.pure_steps import (
    NewBudget,
    checked_steps,
    for_equal_steps,
    is_later,
    new_budget,
    nothing_unless_there,
    number_of_state,
    one_attempt,
    one_step,
    with_rates,
)
from solver.loop.saving import SaveFunction, save_module
from solver.loop.sums import Pair, apart, as_number, as_pair, device_state, on_host, traced
from solver.loop.trajectory import begin_chosen_steps, begin_equal_steps, equal_rows, need_step_alone
from solver.steppers.checks import check_kinds
from solver.steppers.state import State
from solver.steppers.stepper import Stepper


@overload
def integrate(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    *,
    step: ArrayLike | None = ...,
    steps: SupportsIndex | None = ...,
    control: StepControl | None = ...,
    cfl: ArrayLike | None = ...,
    tolerance: ArrayLike | None = ...,
    max_step: ArrayLike | None = ...,
    end: ArrayLike | None = ...,
    max_steps: SupportsIndex | None = ...,
    save: None = ...,
    checkpoint: str = ...,
) -> State: ...
@overload
def integrate(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    *,
    step: ArrayLike,
    steps: SupportsIndex,
    save: SaveFunction,
    every: SupportsIndex = ...,
    checkpoint: str = ...,
) -> tuple[State, Any]: ...
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
    save: SaveFunction | None = None,
    every: SupportsIndex = 1,
    checkpoint: str = "auto",
) -> State | tuple[State, Any]:
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
        save: function of a state on the way; with `steps`. What it returns is stacked as in `rollout`, which takes
            `save` with `end`, too. The rows are returned with the state.
        every: number of steps from one row to the next; with `save`.
        checkpoint: choice of what a gradient keeps. `none` keeps what the derivative of each step needs, the most
            memory; `steps` keeps the state at each step, and takes each step once more; `sqrt` keeps 2 √steps states,
            and takes each step twice more. `auto` is `none` for equal steps that need little memory (about 16 states
            for each of them, in all 1/64 of a device's memory), which takes the least time; else `steps` where those
            states fit into a quarter of it (of one member, under `vmap`), else `sqrt`. Makes no difference without a
            gradient.

    Returns:
        The state at t + steps · step, or at `end`; with `save`, the pair of this state and the rows, the first of which
        is the row of the start. The energy budget begins anew in the returned state, since nothing reads it on the
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
        if save is not None:
            raise ValueError(f"integrate with save and end={end}: rollout has rows at given times; or steps are needed")
        chosen = step_control(control, step=step, cfl=cfl, tolerance=tolerance, max_step=max_step)
        return _to_end(equation, stepper, state, chosen, end, max_steps, checkpoint)
    need_step_alone(steps, step, {"control": control, "cfl": cfl, "tolerance": tolerance, "max_step": max_step})
    if save is None and every != 1:
        raise ValueError(f"every={every} without save: it is the number of steps from one saved row to the next")
    saved = save_module(save)
    count, between, step = begin_equal_steps(equation, stepper, state, step, steps, every, checkpoint)
    start, rows = for_equal_steps(state), None
    checkpoint = chosen_checkpoint(checkpoint, count, start, equation.grid.mesh, are_equal=True)
    columns = tuple(state.budget)
    if saved is None:
        moved, begun = _integrated(equation, stepper, start, step, count, checkpoint, columns)
    else:
        moved, begun, rows = equal_rows(equation, stepper, saved, start, step, count, between, checkpoint, columns)
    size = number_of_state(step)
    after = state.replace(
        field=without_budget(moved[0]), history=moved[1], forcing=moved[2], t=state.t + count * step, dt=size,
        taken=size, step=state.step + count, **begun,
    )  # fmt: skip
    after = _counted_from_here(after)
    return after if saved is None else (after, rows)


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
    count = checked_steps(max_steps, checkpoint)
    checkpoint = chosen_checkpoint(checkpoint, count, state, equation.grid.mesh, are_equal=False)
    state = begin_chosen_steps(equation, stepper, state, control, end)
    given = (device_state(state), as_pair(end), count, checkpoint, tuple(state.budget))
    moved, begun, is_there = _controlled(equation, stepper, control, *given)
    if traced((moved, is_there)):
        moved, known = nothing_unless_there(is_there, moved), lambda value: value
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
        control=jax.tree.map(known, moved.control), **begun,
    )  # fmt: skip
    return _counted_from_here(after)


def _counted_from_here(state: State) -> State:
    """A state from which times are counted anew."""
    return state.replace(t_reference=state.t, step_reference=state.step)


def _integrate(
    equation: Any, stepper: Any, state: State, step: Any, steps: int, checkpoint: str, columns: tuple[str, ...]
) -> tuple[Carry, NewBudget]:
    given, equation = equation, equation.prepared()
    fields, history, forcing = with_rates(state), state.history, state.forcing
    advance = one_step(equation, stepper, state, step)
    fields, history, forcing = repeat(advance, (fields, history, forcing), 0, steps, checkpoint)
    fields = without_budget(fields)
    return (fields, history, forcing), new_budget(given, fields, state.t + steps * step, columns)


def _integrate_controlled(
    equation: Any,
    stepper: Any,
    control: Any,
    state: State,
    end: Pair,
    attempts: int,
    checkpoint: str,
    columns: tuple[str, ...],
) -> tuple[State, NewBudget, Array]:
    """The state after so many attempts at a step or at the end, its energy budget, and True if they led there from an
    earlier time."""
    given, end, equation = equation, jax.tree.map(jnp.asarray, end), equation.prepared()
    start = jax.tree.map(jnp.asarray, state.replace(field=with_rates(state)))
    state = repeat(one_attempt(equation, stepper, control, end), start, 0, attempts, checkpoint)
    fields = without_budget(state.field)
    is_there = is_later(end, start.t) & (apart(end, state.t) <= 0)
    return state.replace(field=fields), new_budget(given, fields, state.t[0], columns), is_there


_integrated = compiled(_integrate, static_argnums=(4, 5, 6))
_controlled = compiled(_integrate_controlled, static_argnums=(5, 6, 7))
