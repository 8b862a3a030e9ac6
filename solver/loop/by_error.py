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
from solver.loop.kept import coefficients_for, nothing_kept
from solver.loop.sums import apart, begin_step, end_step
from solver.operators import Fields

SAFETY = 0.9  # of the step that would just meet the tolerance
LEAST, MOST = 0.2, 2.0  # factors by which one step may differ from the one before
FLOOR = 1e-6  # of the largest field, in numbers: a field counts as at least as large


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

    The error of a step is the largest over the fields of ‖e‖/S, with e the difference to the embedded method of order q
    and ‖·‖ the root mean square over the box. S is ‖u‖ before or after the step, whichever is larger, or what the
    equation's `error_scales` make of it, and at least a millionth of the largest S: without such a floor a field that
    starts at zero and grows as t² has an error as large as itself after any step, however short. A step with a larger
    error than the tolerance is taken again, and the next is 0.9 (tolerance/error)^(1/(q+1)) times as long, at least 0.2
    and at most 2.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I (1993), II.4; the floor is the Atol of
    their equation 4.10, sc = Atol + max(|y₀|, |y₁|) Rtol.
    """

    def go_on(carry: tuple[Any, ...]) -> Array:
        _, _, _, t, _, _, _, done, _, is_finite, _ = carry
        return (done < steps) & (apart(target, t) > 0) & is_finite

    def body(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        field, history, forcing, t, before, last_taken, proposed, done, rejected, _, kept = carry
        chosen = jnp.minimum(proposed, longest)
        dt, later, last, is_finite = towards(target, t, chosen)
        short = dt.astype(equation.grid.dtype)
        advanced = equation.advance_forcing(forcing, key, step + done, short)
        driven = equation.at_step(advanced, key, step + done)
        coefficients, kept = coefficients_for(stepper, driven, short, kept)
        begun, sums = begin_step(field)
        after, carried, error = stepper.step_with_error(
            driven, begun, history, t[0].astype(short.dtype), short, coefficients
        )
        ratio = _relative(error, field, after, equation).astype(dt.dtype) / tolerance
        after, carried = end_step(stepper, after, carried, sums)
        accepted = ratio <= 1  # not a number is not accepted
        power = -1 / (stepper.error_order + 1)
        factor = jnp.clip(SAFETY * jnp.where(ratio > 0, ratio, 1e-30) ** power, LEAST, MOST)
        wanted = dt * jnp.where(jnp.isfinite(ratio), factor, LEAST)
        # a step shortened to meet the target says nothing against the longer one
        proposed = jnp.where(accepted & last, jnp.maximum(wanted, jnp.minimum(chosen, MOST * dt)), wanted)
        taken = lambda new, old: jax.tree.map(lambda a, b: jnp.where(accepted, a, b), new, old)  # noqa: E731
        field, history, forcing = taken((after, carried, advanced), (field, history, forcing))
        t = taken(later, t)
        last_taken = taken(dt, last_taken)
        before = taken(jnp.where(jnp.isfinite(chosen), chosen, dt), before)
        counts = (done + accepted, rejected + ~accepted, is_finite, kept)
        return field, history, forcing, t, before, last_taken, proposed, *counts

    kept = nothing_kept(stepper, equation.at_step(forcing, key, step), jnp.asarray(0, equation.grid.dtype))
    counts = (jnp.zeros_like(steps), jnp.asarray(rejected), jnp.asarray(True), kept)
    t, target = jax.tree.map(jnp.asarray, (t, target))
    start = (field, history, forcing, t, jnp.asarray(dt), jnp.asarray(dt), jnp.asarray(proposed), *counts)
    carry = jax.lax.while_loop(go_on, body, start)
    field, history, forcing, t, dt, last_taken, proposed, done, rejected, is_finite, _ = carry
    return field, history, forcing, t, dt, last_taken, proposed, done, rejected, is_finite & all_finite(field)


def _relative(error: Fields, before: Fields, after: Fields, equation: Any) -> Array:
    """Largest relative error of a field. All-reduces only."""
    norm = lambda fields, name: jnp.sqrt(mean_square(fields[name], equation.grid_of(name)))  # noqa: E731
    names = list(without_budget(error))
    own = {name: jnp.maximum(norm(before, name), norm(after, name)) for name in names}
    scales = equation.error_scales(own)
    least = FLOOR * jnp.max(jnp.stack([scales[name] for name in names]))
    sizes = {name: jnp.maximum(scales[name], least) for name in names}
    return jnp.max(jnp.stack([norm(error, name) / jnp.where(sizes[name] > 0, sizes[name], 1) for name in names]))


error_steps = compiled(_error_steps)
error_steps_donating = compiled(_error_steps, donate_argnums=(2, 3))
