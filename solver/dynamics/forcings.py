"""The forcings of an equation during a run: their states and random keys, their kicks, and what kicks change.

A forcing that `kicks` changes the fields between steps: noise that is white in time has no acceleration that a stage
could add to N. `Driven` carries it out for every stepper and every loop.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import Budget
from solver.operators import Fields
from solver.spaces.manifold import constrained


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


def kicking(equation: Any) -> dict[str, Any]:
    """The forcings of an equation that kick, by field name."""
    return {name: forcing for name, forcing in equation.forcings().items() if forcing.kicks}


def prepared_kicks(equation: Any, dt: ArrayLike) -> dict[str, Any]:
    """Preparation of each forcing that kicks, from the size of a step alone, by field name."""
    return {name: forcing.prepare_kick(equation, name, dt) for name, forcing in kicking(equation).items()}


def kicks(equation: Any, fields: Fields, forcing: Any, prepared: Any, keys: dict[str, Any]) -> Fields:
    """Sum of the kicks of all forcings: coefficients by name, with the declared properties of the fields.

    Args:
        equation: equation with its forcings.
        fields: fields at the end of the step, without a budget.
        forcing: state of each forcing in this step.
        prepared: result of `prepared_kicks`, for the size of this step.
        keys: random key of each forcing in this step.
    """
    total: Fields = {}
    for name, own in kicking(equation).items():
        added = own.kick(equation, name, fields, forcing.get(name, ()), prepared[name], keys[name])
        for other, kick in constrained(added, equation.spaces).items():
            kick = jnp.where(equation.space(other).modes.is_kept(), kick, 0).astype(fields[other].dtype)
            total[other] = total[other] + kick if other in total else kick
    return total


def with_work_of_kicks(equation: Any, budget: Budget) -> Budget:
    """A budget in which each energy that a kick may change has an entry `forcing`.

    Kicks change energies of their own field, which has that entry, unless a linear part carries them into others.
    """
    elsewhere = any(set(own.kicked_fields(equation, name)) - {name} for name, own in kicking(equation).items())
    if not elsewhere:
        return budget
    nothing = jnp.zeros((), equation.grid.dtype)
    return {energy: {**rates, "forcing": rates.get("forcing", nothing)} for energy, rates in budget.items()}


def work_of_kicks(equation: Any, fields: Fields, added: Fields, columns: Iterable[str]) -> Array:
    """Change of each energy by kicks δ, E(u + δ) − E(u), in the order of the budget's columns. All-reduces only.

    An energy is quadratic, so that the difference is its derivative at u + δ/2 along δ: nothing cancels.
    """
    middle = {name: u + 0.5 * added[name] if name in added else u for name, u in fields.items()}
    along = {name: added.get(name, jnp.zeros_like(u)) for name, u in fields.items()}
    _, change = jax.jvp(lambda fields: dict(equation.report.energies(fields)), (middle,), (along,))
    work = {f"{energy}_from_forcing": value for energy, value in change.items()}
    nothing = jnp.zeros((), equation.grid.dtype)
    return jnp.stack([work.get(column, nothing) for column in columns])
