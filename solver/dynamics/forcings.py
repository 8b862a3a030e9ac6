"""The forcings of an equation during a run: their states at its start and in each step, and their random keys."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from solver.dynamics.any_equation import AnyEquation
from solver.operators import Fields


def start_forcings(equation: AnyEquation, key: Any, fields: Fields) -> dict[str, Any]:
    """State of each forcing at the start of a run from these fields, by field name.

    Raises:
        ValueError: a random forcing without a key.
    """
    return {
        name: forcing.start_from(fields[name], equation.space(name), forcing_key(forcing, key, i, 0))
        for i, (name, forcing) in enumerate(equation.forcings().items())
    }


def advance_forcings(
    equation: AnyEquation, states: dict[str, Any], key: Any, step: ArrayLike, dt: ArrayLike
) -> dict[str, Any]:
    """State of each forcing for step number `step`, which begins now."""
    return {
        name: forcing.advance(states[name], forcing_key(forcing, key, i, step + 1), dt, equation.space(name))
        for i, (name, forcing) in enumerate(equation.forcings().items())
    }


def longest_step(equation: AnyEquation) -> Any:
    """The longest step with which an equation's forcings act as they say [time]; infinite where any will do."""
    limits = [forcing.longest_step() for forcing in equation.forcings().values()]
    finite = [limit for limit in limits if limit is not math.inf]
    return functools.reduce(jnp.minimum, finite) if finite else math.inf


def forcing_key(forcing: Any, key: Any, position: int, count: ArrayLike) -> Any:
    """A key for each forcing and step, from the run's; 0 counts the start, so that no step shares its numbers."""
    if not forcing.random:
        return ()
    if isinstance(key, tuple):
        raise ValueError(f"forcing {forcing.name} is random: initial_state needs a seed")
    return jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, 2**31 - 1), position), count)
