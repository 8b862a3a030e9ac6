"""The integrals over time of the causes that change the energies, as a companion of the fields."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.budget import Changes, columns, stacked
from solver.dynamics.companion import Companion
from solver.dynamics.compiled import compiled
from solver.dynamics.forcings import with_work_of_kicks, work_of_kicks
from solver.operators import Fields


class EnergyBudget(Companion):
    """Integrals over time of each cause that changes an energy, in the order of the columns' names.

    Nothing reads them. So a state counts them apart from the fields, by column; within a step each device may have a
    part of them, `(column, device)`, and in 32 bits the rounded-off part is kept (`loop.sums`).
    """

    def initial(self, equation: Any, fields: Fields) -> Array:
        return jnp.zeros(len(budget_columns(equation)))

    def rates(self, equation: Any, y: Array, fields: Fields, changes: Changes, t: ArrayLike) -> Array:
        rates = columns(with_work_of_kicks(equation, equation.report.budget(fields, changes)))
        return stacked(rates, y.shape[1:])

    def after_kicks(self, equation: Any, y: Array, fields: Fields, kicks: Fields) -> Array:
        return y + work_of_kicks(equation, fields, kicks, sorted(budget_columns(equation))).astype(y.dtype)


def budget_columns(equation: Any) -> tuple[str, ...]:
    """Names of the integrals that a run keeps for the budget of energies; empty where it keeps no budget."""
    equation = equation.at_time(math.nan)  # of shapes alone
    if equation.report.budget is None or not equation.energy_budget:
        return ()
    shapes = equation.fields_alone(equation.field_shapes())
    causes = {"linear": shapes, "nonlinear": shapes, "forcing": {name: shapes[name] for name in equation.forcings()}}
    return tuple(_rates.shapes(equation, shapes, causes))


def kept_energies(equation: Any, fields: Fields) -> dict[str, Array]:
    """The energies whose budget a run keeps."""
    return equation.report.energies(fields) if budget_columns(equation) else {}


@compiled
def _rates(equation: Any, fields: Fields, causes: dict[str, Fields]) -> dict[str, Array]:
    """Rates of the integrals that a run keeps, by column."""
    changes = Changes(causes["linear"], causes["nonlinear"], causes["forcing"])
    return columns(with_work_of_kicks(equation, equation.report.budget(fields, changes)))
