"""The integrals over time of what changes the energies, as a companion of the fields."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.equations.budget import columns, stacked
from solver.equations.changes import Changes
from solver.equations.companion import Companion
from solver.equations.kicks import with_work_of_kicks, work_of_kicks
from solver.operators import Fields


class EnergyBudget(Companion):
    """Integrals over time of each cause that changes an energy, in the order of the columns' names.

    Nothing reads them. So a state counts them apart from the fields, by column; within a step each device may have a
    part of them, `(column, device)`, and in 32 bits what is rounded off is kept (`loop.sums`).
    """

    def start(self, equation: Any, fields: Fields) -> Array:
        return jnp.zeros(len(equation.budget_columns()))

    def rates(self, equation: Any, y: Array, fields: Fields, changes: Changes, t: ArrayLike) -> Array:
        rates = columns(with_work_of_kicks(equation, equation.budget(fields, changes)))
        return stacked(rates, y.shape[1:])

    def after_kicks(self, equation: Any, y: Array, fields: Fields, kicks: Fields) -> Array:
        return y + work_of_kicks(equation, fields, kicks).astype(y.dtype)
