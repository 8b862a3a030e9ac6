"""Steps whose size an error estimate chooses, as one compiled call."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics import mean_square
from solver.equations.budget import without_budget
from solver.equations.system import compiled
from solver.loop.control import towards
from solver.loop.fixed import is_finite as all_finite
from solver.loop.one_step import take_step_with_error
from solver.operators import Fields

SAFETY = 0.9  # of the step that would just meet the tolerance
LEAST, MOST = 0.2, 2.0  # factors by which one step may differ from the one before


def _error_steps(
    equation: Any,
    stepper: Any,
    field: Fields,
    history: Any,
    steps: Any,
    tolerance: Any,
    t: Any,
    dt: Any,
    target: Any,
    longest: Any,
    proposed: Any,
    rejected: Any,
    forcing: Any,
    key: Any,
    step: Any,
) -> tuple[Any, ...]:
    """At most so many accepted steps towards a target.

    The error of a step is the largest over the fields of ‖e‖/‖u‖, with e the difference to the embedded method of
    order q and ‖·‖ the root mean square over the box, u before or after the step, whichever is larger. A step with a
    larger error than the tolerance is taken again, and the next is 0.9 (tolerance/error)^(1/(q+1)) times as long, at
    least 0.2 and at most 2.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I (1993), II.4.
    """

    def go_on(carry: tuple[Any, ...]) -> Array:
        _, _, _, t, _, _, done, _, is_finite = carry
        return (done < steps) & (t < target) & is_finite

    def body(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        field, history, forcing, t, before, proposed, done, rejected, _ = carry
        chosen = jnp.minimum(proposed, longest)
        dt, last, is_finite = towards(target, t, chosen)
        short = dt.astype(equation.grid.dtype)
        advanced = equation.advance_forcing(forcing, key, step + done, short)
        driven = equation.at_step(advanced, key, step + done)
        coefficients = stepper.coefficients(driven, short)
        after, carried, error = take_step_with_error(
            stepper, driven, field, history, t.astype(short.dtype), short, coefficients
        )
        ratio = _relative(error, field, after, equation).astype(t.dtype) / tolerance
        accepted = ratio <= 1  # not a number is not accepted
        power = -1 / (stepper.error_order + 1)
        factor = jnp.clip(SAFETY * jnp.where(ratio > 0, ratio, 1e-30) ** power, LEAST, MOST)
        wanted = dt * jnp.where(jnp.isfinite(ratio), factor, LEAST)
        # a step shortened to meet the target says nothing against the longer one
        proposed = jnp.where(accepted & last, jnp.maximum(wanted, jnp.minimum(chosen, MOST * dt)), wanted)
        taken = lambda new, old: jax.tree.map(lambda a, b: jnp.where(accepted, a, b), new, old)  # noqa: E731
        field, history, forcing = taken((after, carried, advanced), (field, history, forcing))
        t = taken(jnp.where(last, target, t + dt), t)
        before = taken(jnp.where(jnp.isfinite(chosen), chosen, dt), before)
        return field, history, forcing, t, before, proposed, done + accepted, rejected + ~accepted, is_finite

    counts = (jnp.zeros_like(steps), jnp.asarray(rejected), jnp.asarray(True))
    start = (field, history, forcing, jnp.asarray(t), jnp.asarray(dt), jnp.asarray(proposed), *counts)
    field, history, forcing, t, dt, proposed, done, rejected, is_finite = jax.lax.while_loop(go_on, body, start)
    return field, history, forcing, t, dt, proposed, done, rejected, is_finite & all_finite(field)


def _relative(error: Fields, before: Fields, after: Fields, equation: Any) -> Array:
    """Largest relative error of a field. All-reduces only."""
    found = []
    for name, e in without_budget(error).items():
        grid = equation.grid_of(name)
        size = jnp.maximum(mean_square(before[name], grid), mean_square(after[name], grid))
        found.append(jnp.sqrt(mean_square(e, grid) / jnp.where(size > 0, size, 1)))
    return jnp.max(jnp.stack(found))


error_steps = compiled(_error_steps)
error_steps_donating = compiled(_error_steps, donate_argnums=(2, 3))
