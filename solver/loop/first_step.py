"""The size of the first step, where nothing but the first state says how fast it changes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import compiled
from solver.dynamics.kicks import kicking
from solver.operators import Fields
from solver.steppers.state import State

CORRECTIONS = 4


def first_step(equation: AnyEquation, state: State, cfl: Any) -> Array:
    """A hundredth of the time ‖u‖/‖u_t‖ in which the fields change; from rest, the time in which the acceleration
    alone would reach a tenth of the CFL number; infinite where nothing changes. Where forcings kick, at most the time
    in which the kicks alone would reach that.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I (1993), II.4, for the hundredth.
    """
    return _first_step(equation, state.field, state.forcing, state.key, state.step, state.t, cfl)


@compiled
def _first_step(equation: Any, fields: Fields, forcing: Any, key: Any, step: Any, t: Any, cfl: Any) -> Array:
    driven = equation.at_step(forcing, key, step)
    nonlinear = driven.nonlinear(fields, jnp.asarray(t, equation.grid.dtype))
    fields = equation.fields_alone(fields)
    moved = equation.linear().apply(fields)
    change = {name: moved[name] + nonlinear[name] for name in fields}
    size = sum(equation.space(name).whole_square(v) for name, v in fields.items())
    speed = sum(equation.space(name).mean_square(v) for name, v in change.items())
    moves = speed > 0
    # roots of what is positive: the derivative of a root at 0 is none
    usual = 0.01 * _root(size) / _root(jnp.where(moves, speed, 1))
    accelerated = equation.rate(change)
    from_rest = jnp.sqrt(0.1 * cfl / jnp.where(accelerated > 0, accelerated, 1))
    from_rest = jnp.where(accelerated > 0, from_rest, jnp.inf)
    first = jnp.where(size > 0, jnp.where(moves, usual, jnp.inf), from_rest)
    return jnp.minimum(first, _kicked_from_rest(equation, driven, fields, 0.1 * cfl)) if kicking(equation) else first


def _kicked_from_rest(equation: Any, driven: Any, fields: Fields, cfl: Any) -> Array:
    """The time in which the kicks alone reach a CFL number.

    They grow as the root of the time, and later more slowly, so that a few corrections of a guess find it.
    """
    rest = {name: jnp.zeros_like(field) for name, field in fields.items()}
    dt = jnp.asarray(1, equation.grid.dtype)
    for _ in range(CORRECTIONS):
        number = dt * equation.rate(driven.kicked(rest, driven.prepare_kicks(dt)))
        dt = dt * jnp.where(number > 0, (cfl / jnp.where(number > 0, number, 1)) ** (2 / 3), 1)
    return jnp.where(number > 0, dt, jnp.inf)


def _root(square: Array) -> Array:
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
