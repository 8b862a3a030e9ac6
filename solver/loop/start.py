"""The size of the first step, where nothing but the first state says how fast it changes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics import mean_square
from solver.equations.system import compiled
from solver.steppers.base import State


@compiled
def first_step(equation: Any, state: State, t: Any, cfl: Any) -> Array:
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
