"""Steps of one size, as one compiled call: their number is an argument of the program."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.equations.system import compiled
from solver.loop.sums import begin_step, end_step
from solver.operators import Fields


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
        field, sums = begin_step(field)
        field, history = stepper.step(at_step(forcing, i), field, history, t.astype(dt.dtype), dt, coefficients)
        return *end_step(stepper, field, history, sums), forcing

    field, history, forcing = jax.lax.fori_loop(0, steps, body, (field, history, forcing))
    return field, history, forcing, is_finite(field)


fixed_steps = compiled(_fixed_steps)
fixed_steps_donating = compiled(_fixed_steps, donate_argnums=(2, 3))


def is_finite(fields: Fields) -> Array:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(field)) for field in fields.values()]))
