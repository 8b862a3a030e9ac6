"""Wavefunctions with closed forms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array

from solver.grid import Grid, sample
from solver.initial.flows import need_resolved

# Core radius (where the density is half its central value) of the ground state of i ψ_t = −½∇²ψ + Vψ,
# ∇²V = g|ψ|², times (g ρ_c)^¼: see docs/conventions.md for the integration that gives it.
CORE_RADIUS = 1.2992709


def plane_wave(grid: Grid, modes: Sequence[int] = (1,), amplitude: float = 1.0) -> Array:
    """ψ = A exp(i k·x) with k = 2π modes/L; free, it turns as exp(−i k² t/2).

    Args:
        grid: complex fields.
        modes: periods along each axis; axes not named have none.
        amplitude: A, so that the mass is A².

    Raises:
        ValueError: more modes than axes, or more periods than the grid resolves.
    """
    if len(modes) > grid.dimensions:
        raise ValueError(f"plane-wave with modes {list(modes)} on a grid of {grid.dimensions} dimensions")
    for axis, n in enumerate(modes):
        need_resolved("plane-wave", "a mode of", n, grid, [axis])
    k = [n * f for n, f in zip(modes, grid.fundamental, strict=False)]
    return sample(lambda *x: amplitude * jnp.exp(1j * sum(a * b for a, b in zip(k, x, strict=False))), grid)[None]


def gaussian(
    grid: Grid,
    width: float = 1.0,
    centre: Sequence[float] | None = None,
    velocity: Sequence[float] | None = None,
    amplitude: float = 1.0,
) -> Array:
    """Gaussian packet ψ = A exp(−r²/(2σ²) + i v·x), r measured to the nearest periodic image of the centre.

    Free, it moves with v and spreads to the width σ (1 + t²/σ⁴)^½.

    Args:
        grid: complex fields.
        width: σ [length]; the box should be many times as long.
        centre: [length], the middle of the box if None.
        velocity: v, rounded to the nearest that is periodic [length/time].
        amplitude: A.

    Raises:
        ValueError: a width that is not positive, or a centre or velocity without one entry per axis.
    """
    if not width > 0:
        raise ValueError(f"gaussian with width {width}: a positive length is needed")
    middle = vector("centre", centre, grid, [0.5 * length for length in grid.lengths])  # type: ignore[union-attr]
    speed = vector("velocity", velocity, grid, [0.0] * grid.dimensions)

    def psi(*points: Array) -> Array:
        r2 = distance_squared(points, middle, grid)
        return amplitude * jnp.exp(-0.5 * r2 / width**2 + 1j * _phase(points, speed, grid))

    return sample(psi, grid)[None]


def solitons(
    grid: Grid,
    core_radii: Sequence[float],
    centres: Sequence[Sequence[float]],
    coupling: float,
    velocities: Sequence[Sequence[float]] | None = None,
) -> Array:
    """Self-gravitating ground states, added up: ρ(r) = ρ_c (1 + 0.091 (r/r_c)²)^−8, with ρ_c from r_c and g.

    Each is stationary when alone in a large box; several fall towards each other and merge.

    Args:
        grid: three dimensions, complex fields.
        core_radii: r_c of each, where the density is half that of the centre [length].
        centres: of each [length].
        coupling: g of the equation.
        velocities: of each, rounded to the nearest that is periodic [length/time]; at rest if None.

    Raises:
        ValueError: another dimension, no coupling, or lists of different lengths.

    Source: Schive, Chiueh & Broadhurst, Nature Phys. 10 (2014) 496 (the fit; within 5 % of the
    ground state in density up to 2 r_c).
    """
    if grid.dimensions != 3 or not coupling > 0:
        raise ValueError(f"solitons in {grid.dimensions} dimensions with coupling {coupling}: 3, and g > 0, are needed")
    velocities = [[0.0] * 3] * len(core_radii) if velocities is None else velocities
    if not len(core_radii) == len(centres) == len(velocities) > 0 or min(core_radii) <= 0:
        raise ValueError(
            f"solitons with {len(core_radii)} core_radii, {len(centres)} centres and {len(velocities)} velocities: "
            "as many of each are needed, at least one, and positive radii"
        )
    places = [vector("centres", c, grid, []) for c in centres]
    speeds = [vector("velocities", v, grid, []) for v in velocities]

    def psi(*points: Array) -> Array:
        total: Array | float = 0.0
        for radius, middle, speed in zip(core_radii, places, speeds, strict=True):
            central_density = CORE_RADIUS**4 / (coupling * radius**4)
            profile = (1 + 0.091 * distance_squared(points, middle, grid) / radius**2) ** -4
            total = total + math.sqrt(central_density) * profile * jnp.exp(1j * _phase(points, speed, grid))
        return total

    return sample(psi, grid)[None]


def vector(name: str, given: Sequence[float] | None, grid: Grid, default: Sequence[float]) -> list[float]:
    values = list(default if given is None else given)
    if len(values) != grid.dimensions:
        raise ValueError(f"{name} {values}: {grid.dimensions} numbers are needed, one per axis")
    return values


def distance_squared(points: Sequence[Array], middle: Sequence[float], grid: Grid) -> Array:
    """To the nearest periodic image."""
    apart = [x - c for x, c in zip(points, middle, strict=True)]
    nearest = [d - length * jnp.round(d / length) for d, length in zip(apart, grid.lengths, strict=True)]  # type: ignore[arg-type]
    return sum(d * d for d in nearest)  # type: ignore[return-value]


def _phase(points: Sequence[Array], velocity: Sequence[float], grid: Grid) -> Array:
    periodic = [f * round(v / f) for v, f in zip(velocity, grid.fundamental, strict=True)]
    return sum(k * x for k, x in zip(periodic, points, strict=True))  # type: ignore[return-value]
