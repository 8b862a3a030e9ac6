"""Wavefunctions with closed forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.grid import Grid, distance_squared, sample
from solver.initial.initial import Initial, as_tuples, need_resolved, per_axis
from solver.spaces.field import Field

# Core radius (where the density is half its central value) of the ground state of i ψ_t = −½∇²ψ + Vψ,
# ∇²V = g|ψ|², times (g ρ_c)^¼: see docs/conventions.md for the integration that gives it.
CORE_RADIUS = 1.2992709


class PlaneWave(Initial):
    """ψ = A exp(i k·x) with k = 2π modes/L; free, it turns as exp(−½i (ħ/m)k² t).

    Args:
        modes: periods along each axis, static; 0 along axes not named.
        amplitude: A, so that the mass is A² [density^(1/2)].

    Returns:
        When called on a grid of complex fields: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: when called: more modes than axes, or more periods than the grid resolves.
    """

    modes: tuple[int, ...] = eqx.field(converter=as_tuples, static=True, default=(1,))
    amplitude: ArrayLike = 1.0

    name: ClassVar[str] = "plane-wave"
    ranks: ClassVar[tuple[str, ...]] = ("wavefunction",)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if len(self.modes) > grid.dimensions:
            raise ValueError(f"plane-wave with modes {list(self.modes)} on a grid of {grid.dimensions} dimensions")
        for axis, n in enumerate(self.modes):
            need_resolved("plane-wave", "a mode of", n, grid, [axis])
        k = [n * f for n, f in zip(self.modes, grid.fundamental, strict=False)]

        def psi(*points: Array) -> Array:
            return self.amplitude * jnp.exp(1j * sum(a * b for a, b in zip(k, points, strict=False)))

        return sample(psi, grid)[None]


class Gaussian(Initial):
    """Gaussian packet ψ = A exp(−r²/(2σ²) + i (m/ħ)v·x), r measured to the nearest periodic image of the centre.

    Free, it moves with v and spreads to the width σ (1 + (ħ/m)²t²/σ⁴)^½.

    Args:
        width: σ [length]; the box should be many times as long.
        centre: [length], the middle of the box if None.
        velocity: v, rounded to the nearest that is periodic [length/time]; at rest if None.
        amplitude: A [density^(1/2)].
        hbar_over_mass: ħ/m [length²/time]; `for_equation` takes the equation's if None; else 1.

    Returns:
        When called on a grid of complex fields: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: a width that is not positive; when called: a centre or velocity without one entry per axis.
    """

    width: ArrayLike = 1.0
    centre: tuple[ArrayLike, ...] | None = eqx.field(converter=as_tuples, default=None)
    velocity: tuple[ArrayLike, ...] | None = eqx.field(converter=as_tuples, default=None)
    amplitude: ArrayLike = 1.0
    hbar_over_mass: ArrayLike | None = None

    name: ClassVar[str] = "gaussian"
    ranks: ClassVar[tuple[str, ...]] = ("wavefunction",)

    def __check_init__(self) -> None:
        need(self, "width", "gaussian with width", "a positive length", above=0)
        need(self, "hbar_over_mass", "gaussian with hbar_over_mass", "a positive number", above=0)

    def notes(self, grid: Grid) -> list[str]:
        return rounding_note("gaussian: velocity", self.velocity, grid, self.hbar_over_mass)

    def for_equation(self, equation: Any, field: str) -> Gaussian:
        """This packet with ħ/m of the equation where it lacks its own."""
        return with_hbar_over_mass(self, equation)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        middle = per_axis("centre", self.centre, grid, [0.5 * length for length in grid.lengths])  # type: ignore[union-attr]
        speed = per_axis("velocity", self.velocity, grid, [0.0] * grid.dimensions)

        def psi(*points: Array) -> Array:
            phase = galilean_phase(points, speed, grid, self.hbar_over_mass)
            r2 = distance_squared(points, middle, grid)
            return self.amplitude * jnp.exp(-0.5 * r2 / self.width**2 + 1j * phase)

        return sample(psi, grid)[None]


class Solitons(Initial):
    """Self-gravitating ground states, added up: ρ(r) = ρ_c (1 + 0.091 (r/r_c)²)^−8, with ρ_c from r_c, g and ħ/m.

    Each is stationary when alone in a large box; several fall towards each other and merge.

    Args:
        core_radii: r_c of each, where the density is half the density at the centre [length].
        centres: centre of each packet [length].
        coupling: g of the equation [length²·time⁻²/density]; `for_equation` takes the equation's if None.
        velocities: velocity of each packet, rounded to the nearest that is periodic [length/time]; at rest if None.
        hbar_over_mass: ħ/m [length²/time]; `for_equation` takes the equation's if None; else 1.

    Returns:
        When called on a grid of complex fields: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: lists of different lengths, or radii or a coupling that are not positive; when called: no coupling,
            a grid that is not three-dimensional, or a centre or velocity without one entry per axis.

    Source: Schive, Chiueh & Broadhurst, Nature Phys. 10 (2014) 496 (the fit; within 5 % of the
    ground state in density up to 2 r_c).
    """

    core_radii: tuple[ArrayLike, ...] = eqx.field(converter=as_tuples)
    centres: tuple[tuple[ArrayLike, ...], ...] = eqx.field(converter=as_tuples)
    coupling: ArrayLike | None = None
    velocities: tuple[tuple[ArrayLike, ...], ...] | None = eqx.field(converter=as_tuples, default=None)
    hbar_over_mass: ArrayLike | None = None

    name: ClassVar[str] = "solitons"
    ranks: ClassVar[tuple[str, ...]] = ("wavefunction",)
    dimensions: ClassVar[tuple[int, ...]] = (3,)

    def __check_init__(self) -> None:
        radii, speeds = len(self.core_radii), len(self.core_radii if self.velocities is None else self.velocities)
        if not radii == len(self.centres) == speeds > 0:
            raise ValueError(
                f"solitons with {radii} core_radii, {len(self.centres)} centres and {speeds} velocities: "
                "as many of each are needed, and at least one"
            )
        need(self, "core_radii", "solitons with core_radii", "a positive length for each", above=0)
        need(self, "coupling", "solitons with coupling", "a positive number, such as the equation's,", above=0)
        need(self, "hbar_over_mass", "solitons with hbar_over_mass", "a positive number", above=0)

    def notes(self, grid: Grid) -> list[str]:
        given = () if self.velocities is None else self.velocities
        scale = self.hbar_over_mass
        return [line for v in given for line in rounding_note("solitons: velocity", v, grid, scale)]

    def for_equation(self, equation: Any, field: str) -> Solitons:
        """These solitons with the coupling and ħ/m of the equation where they lack their own.

        Raises:
            ValueError: the equation has no gravity of its own.
        """
        filled = with_hbar_over_mass(self, equation)
        if self.coupling is not None:
            return filled
        if equation.report.self_gravity is None:
            raise ValueError(f"solitons in {equation.name}: schroedinger-poisson is needed, or coupling of their own")
        return replace(filled, coupling=equation.report.self_gravity)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if self.coupling is None:
            raise ValueError("solitons without coupling: the equation's is needed, by argument or for_equation")
        scale = or_one(self.hbar_over_mass)
        velocities = [[0.0] * 3] * len(self.core_radii) if self.velocities is None else self.velocities
        places = [per_axis("centres", c, grid, []) for c in self.centres]
        speeds = [per_axis("velocities", v, grid, []) for v in velocities]

        def psi(*points: Array) -> Array:
            total: Array | float = 0.0
            for radius, middle, speed in zip(self.core_radii, places, speeds, strict=True):
                central_density = CORE_RADIUS**4 * scale**2 / (self.coupling * radius**4)
                profile = (1 + 0.091 * distance_squared(points, middle, grid) / radius**2) ** -4
                phase = galilean_phase(points, speed, grid, scale)
                total = total + _sqrt(central_density) * profile * jnp.exp(1j * phase)
            return total

        return sample(psi, grid)[None]


def _sqrt(x: Any) -> Any:
    """Square root, in double precision where x is a number; an array, which may be traced, keeps its own precision."""
    return math.sqrt(x) if isinstance(x, float) else jnp.sqrt(x)


def or_one(hbar_over_mass: Any) -> Any:
    """ħ/m, or 1 for None."""
    return 1.0 if hbar_over_mass is None else hbar_over_mass


def with_hbar_over_mass(start: Any, equation: Any) -> Any:
    """An initial field with ħ/m of the equation where it lacks its own; unchanged for an equation without ħ/m."""
    found = equation.report.hbar_over_mass
    return start if start.hbar_over_mass is not None or found is None else replace(start, hbar_over_mass=found)


def _periodic_wavenumbers(velocity: Sequence[Any], grid: Grid, hbar_over_mass: Any) -> list[Any]:
    """The wavenumbers that are periodic, multiples of 2π/L along each axis, nearest to (m/ħ)v."""
    whole = lambda x: round(x) if isinstance(x, int | float) else jnp.round(x)  # noqa: E731
    return [f * whole(v / or_one(hbar_over_mass) / f) for v, f in zip(velocity, grid.fundamental, strict=True)]


def rounding_note(name: str, velocity: Sequence[Any] | None, grid: Grid, hbar_over_mass: Any = None) -> list[str]:
    """A line for the log where a velocity was rounded to a periodic one; none where it is used as it was given."""
    scale = or_one(hbar_over_mass)
    if velocity is None or not all(isinstance(v, int | float) for v in [*velocity, scale]):
        return []
    used = [scale * k for k in _periodic_wavenumbers(velocity, grid, scale)]
    if all(math.isclose(v, u, rel_tol=1e-12, abs_tol=1e-300) for v, u in zip(velocity, used, strict=True)):
        return []
    return [f"{name} {list(velocity)} is not periodic in this box: {[float(f'{u:.6g}') for u in used]} is used"]


def galilean_phase(points: Sequence[Array], velocity: Sequence[Any], grid: Grid, hbar_over_mass: Any = None) -> Array:
    """(m/ħ)v·x, with v rounded to the nearest velocity of which this is periodic; ħ/m is 1 if None."""
    wavenumbers = _periodic_wavenumbers(velocity, grid, hbar_over_mass)
    return sum(k * x for k, x in zip(wavenumbers, points, strict=True))  # type: ignore[return-value]
