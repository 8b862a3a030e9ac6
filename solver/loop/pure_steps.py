"""The steps behind `integrate`, `rollout` and `step_function`, and checks of their numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.dynamics.budget import BUDGET, rates_in, without_budget
from solver.dynamics.energy_budget import kept_energies
from solver.dynamics.forcings import advance_forcings
from solver.loop.checkpointing import CHECKPOINTS, Carry, OneStep
from solver.loop.controls import need_positive
from solver.loop.schedule import TOLERANCE
from solver.loop.steps import controlled_step
from solver.loop.sums import Pair, apart
from solver.operators import Fields
from solver.steppers.checks import check_history
from solver.steppers.state import State

NewBudget: TypeAlias = dict[str, dict[str, Any]]  # entries of a state: `budget` and `energies`


def for_equal_steps(state: State) -> State:
    """The entries of a state that equal steps need."""
    return State(
        field=state.field, history=state.history, forcing=state.forcing, key=state.key, t=state.t, dt=state.dt,
        step=state.step,
    )  # fmt: skip


def with_rates(state: State) -> Fields:
    """The fields, with a place for the rates of a budget if the stepper's history has rates of earlier steps."""
    fields, rates = without_budget(state.field), rates_in(state.history)
    return fields if rates is None else {**fields, BUDGET: jnp.zeros_like(rates)}


def one_step(equation: Any, stepper: Any, state: State, step: Any) -> OneStep:
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


def one_attempt(equation: Any, stepper: Any, control: Any, end: Pair) -> Callable[[State, Any], State]:
    """A function that attempts a step of the size that the control chooses; at the end it does nothing."""

    def attempt(state: State, _: Any) -> State:
        take = lambda state: controlled_step(equation, stepper, control, state, end, ())[0]  # noqa: E731
        return jax.lax.cond(apart(end, state.t) > 0, take, lambda state: state, state)

    return attempt


def is_later(end: Pair, begun: Pair) -> Array:
    """True if the end is not before the time at which steps begin."""
    return apart(end, begun) >= -TOLERANCE * jnp.abs(begun[0])


def nothing_unless_there(is_there: Array, state: State) -> State:
    """A state whose fields are not a number unless the flag is set."""
    factor = jnp.where(is_there, 1.0, jnp.nan)  # so that derivatives are not a number either
    mark = lambda u: u * factor.astype(jnp.finfo(u.dtype).dtype)  # noqa: E731
    return state.replace(field=jax.tree.map(mark, state.field))


def new_budget(equation: Any, fields: Fields, t: Any, columns: tuple[str, ...]) -> NewBudget:
    """Entries of a state whose energy budget begins anew at these fields; nothing is differentiated through them.

    Args:
        equation, fields, t: equation, fields and their time.
        columns: names of the integrals of the state before; without any, no entry is returned.
    """
    if not columns:
        return {}
    constant = lambda leaf: jax.lax.stop_gradient(leaf) if isinstance(leaf, jax.Array) else leaf  # noqa: E731
    equation, fields = jax.tree.map(constant, (equation.at_time(t), fields))
    zeros = {name: jnp.asarray(np.float64(0)) for name in columns}
    return {"budget": zeros, "energies": kept_energies(equation, fields)}


def checked_count(step: Any, steps: Any, checkpoint: str) -> int:
    """The number of steps; raises ValueError where it, the size of a step or `checkpoint` is wrong."""
    count = checked_steps(steps, checkpoint)
    need_positive("step", step)
    return count


def checked_steps(steps: Any, checkpoint: str) -> int:
    """The number of steps; raises ValueError where it or `checkpoint` is wrong."""
    count = whole(steps)
    if count is None:
        raise ValueError(f"integrate over {steps} steps: zero or more are needed, a whole number")
    if checkpoint not in CHECKPOINTS:
        raise ValueError(f"checkpoint = {checkpoint!r}: {', '.join(CHECKPOINTS)} are there")
    return count


def checked_every(every: Any, count: int) -> int:
    """The number of steps from one row to the next; raises ValueError where it does not divide the number of steps."""
    apart = whole(every)
    if not apart or count % apart:
        raise ValueError(f"every = {every} of {count} steps: a whole number that divides them is needed")
    return apart


def whole(number: Any) -> int | None:
    """A whole number ≥ 0; None if the number is negative or not whole, or a flag."""
    try:
        count = operator.index(number)
    except TypeError:
        return None
    return None if isinstance(number, bool) or count < 0 else count


def number_of_state(value: Any) -> Any:
    """A Python number as a state has it; arrays as they are."""
    return np.float64(value) if isinstance(value, int | float) else value
