"""Steps that keep a CFL number, as one compiled call."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.equations.budget import without_budget
from solver.equations.driven import Driven
from solver.equations.system import compiled
from solver.loop.control import towards
from solver.loop.fixed import is_finite as all_finite
from solver.loop.kept import coefficients_for, nothing_kept
from solver.loop.sums import apart, begin_step, end_step
from solver.operators import Fields

GROWTH = 1.5  # the most by which CFL control lengthens a step against the one before


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
        _, _, _, t, _, _, done, is_finite, _ = carry
        return (done < steps) & (apart(target, t) > 0) & is_finite

    def body(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        field, history, forcing, t, before, _, done, _, kept = carry
        driven, now = equation.at_step(forcing, key, step + done), t[0].astype(equation.grid.dtype)
        field, sums = begin_step(field)
        known = isinstance(driven, Driven)
        begun, rate = driven.begin(field, now) if known else ((), equation.rate(without_budget(field)))
        chosen = jnp.minimum(cfl / rate.astype(before.dtype), longest)
        chosen = jnp.minimum(chosen, jnp.where(before > 0, GROWTH * before, first))
        dt, later, _, is_finite = towards(target, t, chosen)
        short = dt.astype(equation.grid.dtype)
        forcing = equation.advance_forcing(forcing, key, step + done, short)
        driven = equation.at_step(forcing, key, step + done)
        driven = driven.knowing(begun) if known else driven
        coefficients, kept = coefficients_for(stepper, driven, short, kept)
        field, history = stepper.step(driven, field, history, now, short, coefficients)
        field, history = end_step(stepper, field, history, sums)
        usual = jnp.where(jnp.isfinite(chosen), chosen, dt)  # a field at rest allows any step
        return field, history, forcing, later, usual, dt, done + 1, is_finite, kept

    t, target = jax.tree.map(jnp.asarray, (t, target))
    kept = nothing_kept(stepper, equation.at_step(forcing, key, step), jnp.asarray(0, equation.grid.dtype))
    counts = (jnp.zeros_like(steps), jnp.asarray(True), kept)
    start = (field, history, forcing, t, jnp.asarray(dt), jnp.asarray(dt), *counts)
    field, history, forcing, t, dt, taken, done, is_finite, _ = jax.lax.while_loop(go_on, body, start)
    return field, history, forcing, t, dt, taken, done, is_finite & all_finite(field)


cfl_steps = compiled(_cfl_steps)
cfl_steps_donating = compiled(_cfl_steps, donate_argnums=(2, 3))
