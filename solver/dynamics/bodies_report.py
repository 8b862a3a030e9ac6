"""Report of the bodies in the flow of an equation of a text."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.acting_bodies import at_motion
from solver.dynamics.budget import Budget
from solver.dynamics.evaluation import Evaluation
from solver.dynamics.on_bodies import forces, units, velocity_and_change, warnings
from solver.dynamics.report import BodiesReport, Mask
from solver.operators import Fields
from solver.written.derivation import in_dimensions
from solver.written.energies import vector_of


def report_of_bodies(equation: Any) -> BodiesReport | None:
    """Report of the bodies and sponges of an equation; None if it has neither."""
    obstacles = equation.obstacles
    if obstacles is None:
        return None
    return BodiesReport(
        forces=lambda fields, t: _forces(equation, fields, t),
        units=lambda: units(obstacles, equation.grid.dimensions) if equation.text.penalised else {},
        warnings=lambda row, t: warnings(obstacles, row, t),
        mask=lambda fields: _mask(equation, fields),
    )


def _forces(equation: Any, fields: Fields, t: ArrayLike) -> dict[str, Array]:
    """Forces and torques on the bodies by column of the series; costs an evaluation of N."""
    placed, name = at_motion(equation, fields, t), equation.text.penalised
    obstacles = placed.obstacles
    if not obstacles.bodies or not name:
        return {}
    if name in equation.fields:
        linear = equation.linear().apply(equation.fields_alone(fields))
        u, change = velocity_and_change(placed, fields, linear, equation.nonlinear(fields, t))
    else:
        on_grid = Evaluation(equation)
        hats = jnp.stack([on_grid.rows(fields).whole(part) for part in vector_of(name, on_grid.derived.reduced)])
        u = equation.transform.inverse(hats)
        change = jnp.zeros_like(u)
    return forces(obstacles, equation.grid, u, change, t)


def _mask(equation: Any, fields: Fields) -> Mask | None:
    obstacles = at_motion(equation, fields).obstacles
    return obstacles.mask if obstacles.bodies else None


def with_cause_of_bodies(equation: Any, budget: Budget) -> Budget:
    """A budget in which `body` holds the work of bodies, where nothing else in N changes an energy."""
    if equation.obstacles is None:
        return budget
    bare = in_dimensions(equation.text, equation.grid.dimensions).energies
    of_bodies = lambda name: name in bare and not bare[name].nonlinear  # noqa: E731
    word = lambda name, cause: "body" if cause == "nonlinear" and of_bodies(name) else cause  # noqa: E731
    return {name: {word(name, cause): rate for cause, rate in rates.items()} for name, rates in budget.items()}
