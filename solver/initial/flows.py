"""Velocity fields with closed forms: vortices, Beltrami flows, and two shear layers that roll up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.grid import Grid, sample
from solver.initial.initial import Initial, as_tuples, need_resolved
from solver.spaces.field import Field


class TaylorGreen(Initial):
    """Taylor–Green vortex, one period per box side.

    3-D: u = A (sin x cos y cos z, −cos x sin y cos z, 0), the standard transition problem. 2-D: the same without z,
    an exact solution that decays as exp(−ν|k|²t). Coordinates in units of L/2π.

    Args:
        amplitude: A, the largest velocity [length/time].

    Returns:
        When called: velocity `(d, *grid.physical_shape)`, divergence-free; each device fills its own block.

    Raises:
        ValueError: when called: one dimension, or unequal sides in x and y, where the field would not be solenoidal.

    Source: Taylor & Green, Proc. R. Soc. A 158 (1937) 499; Brachet et al., J. Fluid Mech. 130 (1983) 411.
    """

    amplitude: ArrayLike = 1.0

    name: ClassVar[str] = "taylor-green"
    ranks: ClassVar[tuple[str, ...]] = ("vector",)
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if grid.lengths[0] != grid.lengths[1]:  # type: ignore[index]
            raise ValueError(f"taylor-green in a box of {grid.lengths[:2]}: it needs equal lengths in x and y")  # type: ignore[index]

        def velocity(*points: Array) -> tuple[Array, ...]:
            x, y, *z = _angles(points, grid)
            along_z = self.amplitude * (jnp.cos(z[0]) if z else 1.0)
            u, v = jnp.sin(x) * jnp.cos(y) * along_z, -jnp.cos(x) * jnp.sin(y) * along_z
            return (u, v, jnp.zeros_like(u)) if z else (u, v)

        return sample(velocity, grid)


class Beltrami(Initial):
    """Arnold–Beltrami–Childress flow: ω = k u, an exact solution of Navier–Stokes that decays as exp(−ν k² t).

    u = (A sin kz + C cos ky, B sin kx + A cos kz, C sin ky + B cos kx), coordinates in units of L/2π.

    Args:
        coefficients: A, B, C [length/time].
        wavenumber: k, periods per box side, static.

    Returns:
        When called: velocity `(3, *grid.physical_shape)`, divergence-free; each device fills its own block.

    Raises:
        ValueError: other than three coefficients; when called: a grid that is not a cube in three dimensions, or does
            not resolve the wavenumber.

    Source: Dombre et al., J. Fluid Mech. 167 (1986) 353.
    """

    coefficients: tuple[ArrayLike, ...] = eqx.field(converter=as_tuples, default=(1.0, 1.0, 1.0))
    wavenumber: int = eqx.field(static=True, default=1)

    name: ClassVar[str] = "beltrami"
    ranks: ClassVar[tuple[str, ...]] = ("vector",)
    dimensions: ClassVar[tuple[int, ...]] = (3,)

    def __check_init__(self) -> None:
        if len(self.coefficients) != 3:
            raise ValueError(f"beltrami with coefficients {list(self.coefficients)}: three numbers A, B, C are needed")

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if len(set(grid.lengths)) > 1:  # type: ignore[arg-type]
            raise ValueError(f"beltrami in a box of {grid.lengths}: it needs three equal lengths")
        need_resolved("beltrami", "wavenumber", self.wavenumber, grid, range(3))
        a, b, c = self.coefficients

        def velocity(*points: Array) -> tuple[Array, ...]:
            x, y, z = (self.wavenumber * angle for angle in _angles(points, grid))
            u = a * jnp.sin(z) + c * jnp.cos(y)
            v = b * jnp.sin(x) + a * jnp.cos(z)
            return u, v, c * jnp.sin(y) + b * jnp.cos(x)

        return sample(velocity, grid)


class OrszagTang(Initial):
    """Orszag–Tang vortex: u = A (−sin y, sin x), or b = A (−sin y, sin 2x) if `magnetic`; alike in 3-D.

    In 3-D u = A (−2 sin y, 2 sin x, 0) and b = A (−2 sin 2y + sin z, 2 sin x + sin z, sin x + sin y).

    Coordinates in units of L/2π. With A = 1 for u and 0.8 for b the two fields of 3-D have about the same energy.

    Args:
        amplitude: A [length/time].
        magnetic: True for the magnetic field of the pair, False for its velocity; static.

    Returns:
        When called: `(d, *grid.physical_shape)`, divergence-free; each device fills its own block.

    Raises:
        ValueError: when called: a grid of one dimension.

    Source: Orszag & Tang, J. Fluid Mech. 90 (1979) 129; in 3-D Mininni, Pouquet & Montgomery, Phys. Rev. Lett. 97
    (2006) 244503.
    """

    amplitude: ArrayLike = 1.0
    magnetic: bool = eqx.field(static=True, default=False)

    name: ClassVar[str] = "orszag-tang"
    ranks: ClassVar[tuple[str, ...]] = ("vector",)
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        formula = self._in_the_plane if grid.dimensions == 2 else self._in_space
        return sample(lambda *points: tuple(self.amplitude * u for u in formula(*_angles(points, grid))), grid)

    def _in_the_plane(self, x: Array, y: Array) -> tuple[Array, ...]:
        return -jnp.sin(y), jnp.sin((2 if self.magnetic else 1) * x)

    def _in_space(self, x: Array, y: Array, z: Array) -> tuple[Array, ...]:
        if not self.magnetic:
            return -2 * jnp.sin(y), 2 * jnp.sin(x), jnp.zeros_like(z)
        return -2 * jnp.sin(2 * y) + jnp.sin(z), 2 * jnp.sin(x) + jnp.sin(z), jnp.sin(x) + jnp.sin(y)


def _angles(points: Sequence[Array], grid: Grid) -> list[Array]:
    return [k * x for k, x in zip(grid.fundamental, points, strict=True)]


class KelvinHelmholtz(Initial):
    """Double shear layer: u = A s along x, and A ε sin(2π n x/L) across the layers, which wakes their instability.

    s = −tanh((L/2πδ) cos(2π ζ/L)) along the last direction ζ (y in 2-D, z in 3-D): −1 and 1 on the two sides of layers
    of half-width δ at ζ = L/4 and 3L/4, where it is tanh(±(ζ − ζ₀)/δ), and exactly periodic. In 3-D the velocity across
    the layers is A ε (sin(2π n x/L) + σ sin(2π y/L)). A scalar gets A s alone: a dye that marks the two streams, or
    layers of buoyancy, of which one is stably stratified and one is not.

    A layer is unstable to waves with k δ < 1, and most to k δ = 0.44.

    Args:
        amplitude: A, half the difference between the streams [field's units].
        width: δ > 0 [length].
        perturbation: ε.
        waves: n, periods of the perturbation per box side, static.
        spanwise: σ, strength of the variation in the third direction; of no effect in 2-D.

    Returns:
        When called: `(component, *grid.physical_shape)`, a vector divergence-free; each device fills its own block.

    Raises:
        ValueError: a width that is not positive; when called: one dimension, more waves than the grid resolves.

    Source: Bell, Colella & Glaz, J. Comput. Phys. 85 (1989) 257; Michalke, J. Fluid Mech. 19 (1964) 543, for the
    instability.
    """

    amplitude: ArrayLike = 1.0
    width: ArrayLike = 0.2
    perturbation: ArrayLike = 0.05
    waves: int = eqx.field(static=True, default=2)
    spanwise: ArrayLike = 0.5

    name: ClassVar[str] = "kelvin-helmholtz"
    ranks: ClassVar[tuple[str, ...]] = ("vector", "scalar")
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)

    def __check_init__(self) -> None:
        need(self, "width", "kelvin-helmholtz with width", "a positive length", above=0)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        need_resolved("kelvin-helmholtz", "waves", self.waves, grid, [0])

        def fill(*points: Array) -> tuple[Array, ...]:
            x, *across, last = (f * p for f, p in zip(grid.fundamental, points, strict=True))
            streams = self.amplitude * jnp.tanh(-jnp.cos(last) / (self.width * grid.fundamental[-1]))
            if field.rank == "scalar":
                return (streams,)
            wave = jnp.sin(self.waves * x) + sum(self.spanwise * jnp.sin(y) for y in across)
            none = [jnp.zeros(())] * len(across)
            return (streams, *none, self.amplitude * self.perturbation * wave)

        return sample(fill, grid)
