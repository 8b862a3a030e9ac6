"""Bodies that the flow moves, as companions of the fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.acting_bodies import at_motion
from solver.dynamics.changes import Changes
from solver.dynamics.companion import MOTION as MOTION, Companion
from solver.dynamics.on_bodies import motion_rates, places_and_speeds, units_of_motion, velocity_and_change
from solver.operators import Fields


class FreeBodies(Companion):
    """Displacement, velocity and spin of each body, body after body by name: see `bodies.free`."""

    def start(self, equation: Any, fields: Fields) -> Array:
        motion: Array = equation.obstacles.motion_at_start()
        return motion

    def rates(self, equation: Any, y: Array, fields: Fields, changes: Changes, t: ArrayLike) -> Array:
        placed = at_motion(equation, fields, t)
        u, change = velocity_and_change(placed, fields, changes.linear, changes.nonlinear)
        return motion_rates(placed.obstacles, equation.grid, u, change, t)

    def series(self, equation: Any, y: Array, fields: Fields, t: ArrayLike) -> Mapping[str, Array]:
        return places_and_speeds(at_motion(equation, fields, t).obstacles, equation.grid)

    def units(self, equation: Any) -> Mapping[str, str]:
        return units_of_motion(equation.obstacles, equation.grid.dimensions)
