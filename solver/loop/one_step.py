"""One step of any size: what every way of choosing the size has in common."""

from __future__ import annotations

from typing import Any

from jax.typing import ArrayLike

from solver.operators import Fields
from solver.steppers.base import Stepper


def take_step(
    stepper: Stepper, driven: Any, fields: Fields, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: Any
) -> tuple[Fields, Any]:
    """Fields and history one step later, the fields as the equation declares them: see `equations.manifold`."""
    fields, history = stepper.step(driven, fields, history, t, dt, coefficients)
    return driven.to_manifold(fields), history


def take_step_with_error(
    stepper: Stepper, driven: Any, fields: Fields, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: Any
) -> tuple[Fields, Any, Fields]:
    """As `take_step`, and the stepper's estimate of the error, field by field."""
    fields, history, error = stepper.step_with_error(driven, fields, history, t, dt, coefficients)
    return driven.to_manifold(fields), history, error
