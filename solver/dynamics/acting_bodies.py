"""Bodies and sponges while an equation of a text is stepped: their places, their strength, their rate.

Bodies that the flow moves are companions of the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.bodies import Obstacles
from solver.bodies.body import known
from solver.dynamics.at_points import KEPT, AtPoints, of_scalar
from solver.dynamics.budget import Changes
from solver.dynamics.companion import MOTION, Companion
from solver.dynamics.on_bodies import motion_rates, places_and_speeds, units_of_motion, velocity_and_change
from solver.dynamics.symbol_value import multiplied_out
from solver.mesh import on_gpu, placed
from solver.operators import Fields


def fastest_decay(equation: Any) -> float:
    """The largest rate at which bodies make the fields decay [1/time], as far as it is known; 0 without bodies."""
    obstacles = getattr(equation, "obstacles", None)
    if obstacles is None:
        return 0.0
    return max(known(one.fastest(obstacles.scene), 0.0) for one in obstacles.named.values())


def at_motion(equation: Any, fields: Fields, t: ArrayLike | None = None) -> Any:
    """An equation with the bodies that the flow moves where `fields` says that they are, at time t."""
    obstacles = equation.obstacles
    if MOTION not in fields or obstacles is None or not obstacles.free:
        return equation
    return eqx.tree_at(lambda e: e.bodies, equation, obstacles.at_motion(fields[MOTION], t))


def with_bodies_at_rest(equation: Any) -> Any:
    """An equation with the action of bodies at rest at all points, as steps use it: made once for all of them.

    Every device makes its own part. No communication.
    """
    obstacles, grid = equation.obstacles, equation.grid
    made = {} if obstacles is None else _at_rest(obstacles, grid.coordinates())
    if not made:
        return equation
    sharding, shape = grid.physical_sharding(), grid.physical_shape
    everywhere = lambda values: placed(jnp.broadcast_to(jnp.asarray(values, grid.dtype), shape), sharding)  # noqa: E731
    kept = {name: everywhere(values) for name, values in made.items()}
    return eqx.tree_at(lambda e: e.kept_of_bodies, equation, kept, is_leaf=lambda leaf: leaf is None)


def _at_rest(obstacles: Obstacles, at: Any) -> dict[str, Any]:
    """The strength of bodies at rest, and their action on scalars if it does not depend on time, by function."""
    made = {KEPT: obstacles.at_rest(at)} if any(o.is_at_rest for o in obstacles.named.values()) else {}
    scalars = {name for name, _ in obstacles.conditions} if obstacles.scalars_are_at_rest else set()
    for scalar in sorted(scalars):
        made |= of_scalar(obstacles, scalar, at, 0.0)
    return made


def with_moving_bodies(
    equation: Any, function: AtPoints, numbers: Mapping[str, Any], places: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Places, with the action of moving bodies there as arrays: CPUs would compute it once for each product."""
    obstacles, grid = equation.obstacles if function.has_obstacles else None, equation.grid
    if obstacles is None or places is None or not obstacles.move or on_gpu(grid.mesh):
        return places
    arrays = function.obstacles_at_points(numbers, places, grid.physical_shape)
    sharding = grid.physical_sharding()
    others = {name: place for name, place in places.items() if name != KEPT}  # which is part of an array now
    return others | {name: placed(a.astype(grid.dtype), sharding) for name, a in arrays.items()}


def rate_of_bodies(equation: Any, on_grid: Any) -> ArrayLike:
    """The rate that bodies add [1/time]: 1/η, and κk²/4 of scalars that do not pass a surface, k the largest.

    With a CFL number of ½ every stepper is stable.

    Args:
        equation: equation of a text.
        on_grid: the equation's `Evaluation`.
    """
    obstacles = equation.obstacles
    if obstacles is None:
        return 0.0
    sealed = {name for name, kind in obstacles.conditions if kind == "sealed"}
    modes, diffusivities = on_grid.modes(0.0), equation.whole_text.scalars_at_bodies if sealed else {}
    values = [jnp.abs(multiplied_out(modes.value(diffusivities[name]))) for name in sorted(sealed)]
    return obstacles.fastest() + sum((value * equation.grid.k_corner**2 / 4 for value in values), start=0.0)


class FreeBodies(Companion):
    """Displacement, velocity and spin of each body, body after body by name: see `bodies.free`."""

    def initial(self, equation: Any, fields: Fields) -> Array:
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
