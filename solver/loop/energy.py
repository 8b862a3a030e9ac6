"""Energy of a state's fields."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.equation import SplitEquation
from solver.operators import Fields


def energy_of_all(equation: AnyEquation, fields: Fields) -> Array:
    """Half the mean square of all fields together, Σ ½⟨|f|²⟩; whatever the equation means by energy. All-reduces."""
    if isinstance(equation, SplitEquation):  # which keeps values at the points
        points = math.prod(equation.grid.physical_shape)
        return sum((0.5 * jnp.sum(jnp.abs(f) ** 2) / points for f in fields.values()), jnp.zeros(()))
    counted = {name: equation.space(name).counted(f, 0.5) for name, f in equation.fields_alone(fields).items()}
    squares = (0.5 * equation.space(name).whole_square(f) for name, f in counted.items())
    return sum(squares, jnp.zeros(()))
