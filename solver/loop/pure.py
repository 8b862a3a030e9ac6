"""A pure function of steps of one size, for gradients and ensembles."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from solver.equations.budget import split_budget, with_budget
from solver.equations.system import PeriodicSystem
from solver.steppers.base import State, Stepper


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
        taken=jnp.asarray(step), step=state.step + steps, t_reference=t, step_reference=state.step + steps,
    )  # fmt: skip
