"""Forces and torques of a flow on the bodies in it.

F = ∫(χ/η)(u − u_s)dV + d/dt∫χu dV, for a fluid of density 1. The second term is the momentum of the fluid inside the
solid: it counts the terms of N and L there, not a forcing, which no solid would feel.

Source: Uhlmann, J. Comput. Phys. 209 (2005) 448 (the second term); Kolomenskiy & Schneider, J. Comput. Phys. 228 (2009)
5687.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.bodies import Body, Obstacles
from solver.bodies.body import AXES, Scene, cross, known
from solver.bodies.free import Round
from solver.grid import Grid
from solver.operators import Fields

SETTLING = 20.0  # times η, in which the flow inside has come to follow a body
LEAKS = 0.1  # of the flow's speed, inside a body: forces are wrong by some hundredths, which is worth a warning


def velocity_and_change(equation: Any, fields: Fields, linear: Fields, nonlinear: Fields) -> list[Array]:
    """u and its u_t without forcings, L u + N, at the points; in 3-D six transforms."""
    name = equation.whole_text.penalised
    change = linear[name] + nonlinear[name]
    return jnp.split(equation.space(name).inverse(jnp.concatenate([fields[name], change])), 2)


def forces(obstacles: Obstacles, grid: Grid, u: Array, change: Array, t: ArrayLike) -> dict[str, Array]:
    """Force and torque on each body by column of the series. All-reduces only.

    Args:
        obstacles: bodies and sponges of the equation.
        grid: grid of the velocity.
        u: velocity at the points (component, x, y[, z]) [length/time].
        change: u_t without forcings, at the points.
        t: time.
    """
    found: dict[str, Array] = {}
    for name, body in obstacles.bodies.items():
        force, torque, slip = _load(body, obstacles.scene, grid, u, change, t)
        found[f"{name}_slip"] = slip
        found |= dict(zip(_columns(name, body, grid.dimensions), [*force, *torque], strict=False))
        if body.stream_speed is not None:
            size = 0.5 * jnp.asarray(body.stream_speed) ** 2 * body.area(obstacles.scene.lengths)
            found |= {f"{name}_drag": force[0] / size, f"{name}_lift": force[1] / size}
    return {column: jnp.asarray(value, grid.dtype) for column, value in found.items()}


def places_and_speeds(obstacles: Obstacles, grid: Grid) -> dict[str, Array]:
    """Place, velocity and spin of the bodies that the flow moves, by column of the series."""
    found: dict[str, Array] = {}
    for name, body in obstacles.free.items():
        found |= dict(zip(_motion_columns(name, grid.dimensions), _place_and_speed(body, grid), strict=True))
    return {column: jnp.asarray(value, grid.dtype) for column, value in found.items()}


def motion_rates(obstacles: Obstacles, grid: Grid, u: Array, change: Array, t: ArrayLike) -> Array:
    """The time derivative of the motion of the bodies that the flow moves, where they are; see `forces`."""
    free, scene = obstacles.free, obstacles.scene
    rates = []
    for body in free.values():
        force, torque, _ = _load(body, scene, grid, u, change, t)
        rates.append(body.accelerations(force, torque, scene))
    return jnp.concatenate(rates)


def _load(
    body: Body, scene: Scene, grid: Grid, u: Array, change: Array, t: ArrayLike
) -> tuple[list[Array], list[Array], Array]:
    """Force and torque of the flow on a body, and its slip."""
    at, t = grid.coordinates(), jnp.asarray(t, grid.dtype)
    mask, growth = jax.jvp(lambda t: body.mask(at, t, scene), (t,), (jnp.ones_like(t),))
    relative = [v - s for v, s in zip(u, body.towards(at, t, scene), strict=True)]
    strength, inertia = mask / body.penalisation_time(scene), mask * change + growth * u
    density = [strength * v + i for v, i in zip(relative, inertia, strict=True)]
    force = [_integral(f, grid) for f in density]
    torque = [_integral(m, grid) for m in _moments(body.about_centre(at, t, scene), density)]
    return force, torque, _slip(mask, relative, grid)


def units(obstacles: Obstacles, dimensions: int) -> dict[str, str]:
    """Units of the columns of `forces`, for a fluid of density 1."""
    found = {}
    for name, body in obstacles.bodies.items():
        for i, column in enumerate(_columns(name, body, dimensions)):
            found[column] = f"length^{dimensions + 1 + (i >= dimensions)}/time^2"
        coefficients = ["slip"] if body.stream_speed is None else ["slip", "drag", "lift"]
        found |= {f"{name}_{coefficient}": "1" for coefficient in coefficients}
    return found


def units_of_motion(obstacles: Obstacles, dimensions: int) -> dict[str, str]:
    """Units of the columns of `places_and_speeds`."""
    found: dict[str, str] = {}
    for name in obstacles.free:
        columns = _motion_columns(name, dimensions)
        kinds = ["length"] * dimensions + ["length/time"] * dimensions
        found |= dict(zip(columns, [*kinds, *["1/time"] * (len(columns) - len(kinds))], strict=True))
    return found


def warnings(obstacles: Obstacles, row: Mapping[str, float], t: float) -> list[str]:
    """Warnings about bodies through which the flow goes, from a row of the series; no warning while it settles."""
    settled = {
        name: t > SETTLING * known(body.penalisation_time(obstacles.scene)) for name, body in obstacles.bodies.items()
    }
    slips = {name: row.get(f"{name}_slip", 0.0) for name in obstacles.bodies if settled[name]}
    return [
        f"{name}_slip = {slip:.2f}: so fast, relative to the flow, is the fluid in this body; take a smaller eta"
        for name, slip in slips.items()
        if slip > LEAKS
    ]


def _columns(name: str, body: Body, dimensions: int) -> list[str]:
    forces_along = [f"{name}_force_{axis}" for axis in AXES[:dimensions]]
    return forces_along + ([f"{name}_torque"] if dimensions == 2 else [f"{name}_torque_{axis}" for axis in AXES])


def _motion_columns(name: str, dimensions: int) -> list[str]:
    axes = AXES[:dimensions]
    spins = [f"{name}_spin"] if dimensions == 2 else [f"{name}_spin_{axis}" for axis in AXES]
    return [*(f"{name}_{axis}" for axis in axes), *(f"{name}_velocity_{axis}" for axis in axes), *spins]


def _place_and_speed(body: Round, grid: Grid) -> list[Array]:
    """Centre of a free body, not wrapped; its velocity; its spin."""
    d = grid.dimensions
    motion = body.motion_now(d)
    return [motion[i] + body.centre[i] for i in range(d)] + list(motion[d:])


def _slip(mask: Array, relative: Sequence[Array], grid: Grid) -> Array:
    """√⟨|u − u_s|²⟩ in the solid, relative to that in the whole box."""
    mask, squares = jnp.broadcast_to(mask, grid.physical_shape), sum(v**2 for v in relative)
    everywhere = jnp.mean(squares)
    inside = jnp.sum(mask * squares) / jnp.maximum(jnp.sum(mask), jnp.finfo(grid.dtype).tiny)
    return jnp.sqrt(inside / jnp.where(everywhere > 0, everywhere, 1))


def _moments(r: Sequence[Any], f: Sequence[Array]) -> list[Array]:
    """r × f, of which one component is left in two dimensions."""
    if len(f) == 2:
        return [r[0] * f[1] - r[1] * f[0]]
    return cross(r, f)


def _integral(density: Array, grid: Grid) -> Array:
    return jnp.sum(jnp.broadcast_to(density, grid.physical_shape)) * math.prod(grid.spacing)
