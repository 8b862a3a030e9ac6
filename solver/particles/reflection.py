"""Particles that a step has carried beyond a wall or into a body: where they are after an elastic reflection."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.grid import Grid

ROUNDING = 16  # units of rounding beyond a wall at rest, where a particle may be that started there


class Reflection(NamedTuple):
    """Positions after reflections by one surface, and what turns velocities back.

    Args:
        position: `(direction, particle)`, as it was where nothing is reflected.
        normal: unit vector at the surface, into the fluid `(direction, particle)`.
        surface: velocity of the surface there `(direction, particle)`.
        count: number of reflections `(particle,)`.
    """

    position: Array
    normal: Array
    surface: Array
    count: Array


def reflects(equation: Any) -> bool:
    """True if the equation has walls or bodies. Touches no device."""
    return bool(equation.grid.walls) or bool(bodies_of(equation))


def by_walls(x: Array, grid: Grid) -> Reflection:
    """The path beyond a wall is mirrored at it, and at the other one, as often as it takes. Rounding is not counted."""
    across, height = grid.dimensions - 1, grid.box.lengths[-1]
    slack = ROUNDING * float(jnp.finfo(x.dtype).eps) * height
    z = x[across]
    z = jnp.where((z < 0) & (z > -slack), 0, jnp.where((z > height) & (z < height + slack), height, z))
    count = jnp.maximum(jnp.where(z < 0, -jnp.floor(z / height), jnp.ceil(z / height) - 1), 0)
    mirrored = jnp.clip(height - jnp.abs(jnp.mod(z, 2 * height) - height), 0, height)
    position = x.at[across].set(jnp.where(count > 0, mirrored, z))
    # the last wall of an odd number of reflections is the first one, too
    normal = jnp.zeros_like(x).at[across].set(jnp.where(z < 0, 1, -1).astype(x.dtype))
    return Reflection(position, normal, jnp.zeros_like(x), count)


def by_body(x: Array, body: Any, scene: Any, t: ArrayLike) -> Reflection:
    """A position inside a body at time t is mirrored at the nearest place of its surface.

    Args:
        x: positions `(direction, particle)`.
        body: body, where it is at that time.
        scene: the box and the fluid around it.
        t: time.
    """
    sign = -1 if body.inverted else 1
    depth, slope = _with_slope(lambda *at: -sign * jnp.asarray(body.from_surface(at, t, scene), x.dtype), x)
    steepness = jnp.sqrt(jnp.sum(slope**2, axis=0))
    is_in, divisor = (depth > 0) & (steepness > 0), jnp.where(steepness > 0, steepness, 1)
    normal = -slope / divisor
    surface = [jnp.broadcast_to(jnp.asarray(u, x.dtype), x[0].shape) for u in body.towards(tuple(x), t, scene)]
    position = x + jnp.where(is_in, 2 * depth / divisor, 0) * normal
    return Reflection(position, normal, jnp.stack(surface), is_in.astype(x.dtype))


def in_bodies(x: Array, equation: Any, t: ArrayLike) -> Array:
    """True for positions `(direction, particle)` inside a body."""
    found = jnp.zeros(x.shape[1], bool)
    for body in bodies_of(equation).values():
        distance = body.from_surface(tuple(x), t, equation.obstacles.scene)
        found = found | ((distance > 0) if body.inverted else (distance < 0))
    return found


def bodies_of(equation: Any) -> dict[str, Any]:
    """The bodies of an equation by name, without sponges."""
    obstacles = getattr(equation, "obstacles", None)
    return {} if obstacles is None else obstacles.bodies


def _with_slope(function: Any, x: Array) -> tuple[Array, Array]:
    """A function of coordinates at each position, and its slopes `(direction, particle)`."""
    value, back = jax.vjp(lambda x: function(*x), x)
    return value, back(jnp.ones_like(value))[0]
