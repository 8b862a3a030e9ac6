"""Velocity fields with closed forms."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array

from solver.grid import Grid, sample


def taylor_green(grid: Grid, amplitude: float = 1.0) -> Array:
    """Taylor–Green vortex, one period per box side.

    3-D: u = (sin x cos y cos z, −cos x sin y cos z, 0), the standard transition problem. 2-D: the same without z,
    an exact solution that decays as exp(−ν|k|²t). Coordinates in units of L/2π.

    Args:
        grid: two or three dimensions.
        amplitude: largest velocity [length/time].

    Returns:
        Velocity `(d, *grid.physical_shape)`, divergence-free on a cube; each device fills its own block.

    Raises:
        ValueError: one dimension, or sides so unequal that the field would not be solenoidal.

    Source: Taylor & Green, Proc. R. Soc. A 158 (1937) 499; Brachet et al., J. Fluid Mech. 130 (1983) 411.
    """
    _need_dimensions("taylor-green", grid, (2, 3))
    if grid.lengths[0] != grid.lengths[1]:  # type: ignore[index]
        raise ValueError(f"taylor-green in a box of {grid.lengths[:2]}: it needs equal lengths in x and y")  # type: ignore[index]

    def velocity(*points: Array) -> tuple[Array, ...]:
        x, y, *z = _angles(points, grid)
        along_z = amplitude * (jnp.cos(z[0]) if z else 1.0)
        u, v = jnp.sin(x) * jnp.cos(y) * along_z, -jnp.cos(x) * jnp.sin(y) * along_z
        return (u, v, jnp.zeros_like(u)) if z else (u, v)

    return sample(velocity, grid)


def beltrami(grid: Grid, coefficients: Sequence[float] = (1.0, 1.0, 1.0), wavenumber: int = 1) -> Array:
    """Arnold–Beltrami–Childress flow: ω = k u, an exact solution of Navier–Stokes that decays as exp(−ν k² t).

    u = (A sin kz + C cos ky, B sin kx + A cos kz, C sin ky + B cos kx), coordinates in units of L/2π.

    Args:
        grid: three dimensions, a cube.
        coefficients: A, B, C [length/time].
        wavenumber: periods per box side.

    Returns:
        Velocity `(3, *grid.physical_shape)`, divergence-free.

    Raises:
        ValueError: not a cube in three dimensions.

    Source: Dombre et al., J. Fluid Mech. 167 (1986) 353.
    """
    _need_dimensions("beltrami", grid, (3,))
    if len(set(grid.lengths)) > 1:  # type: ignore[arg-type]
        raise ValueError(f"beltrami in a box of {grid.lengths}: it needs three equal lengths")
    if len(coefficients) != 3:
        raise ValueError(f"beltrami with coefficients {list(coefficients)}: three numbers A, B, C are needed")
    a, b, c = coefficients
    need_resolved("beltrami", "wavenumber", wavenumber, grid, range(3))

    def velocity(*points: Array) -> tuple[Array, ...]:
        x, y, z = (wavenumber * angle for angle in _angles(points, grid))
        u = a * jnp.sin(z) + c * jnp.cos(y)
        v = b * jnp.sin(x) + a * jnp.cos(z)
        return u, v, c * jnp.sin(y) + b * jnp.cos(x)

    return sample(velocity, grid)


def orszag_tang(grid: Grid, amplitude: float = 1.0, magnetic: bool = False) -> Array:
    """Orszag–Tang vortex in two dimensions: u = A (−sin y, sin x), and b = A (−sin y, sin 2x) if `magnetic`.

    Coordinates in units of L/2π.

    Args:
        grid: two dimensions, equal lengths.
        amplitude: A [length/time].
        magnetic: the magnetic field of the pair, rather than its velocity.

    Returns:
        `(2, *grid.physical_shape)`, divergence-free.

    Raises:
        ValueError: another dimension.

    Source: Orszag & Tang, J. Fluid Mech. 90 (1979) 129.
    """
    _need_dimensions("orszag-tang", grid, (2,))

    def values(*points: Array) -> tuple[Array, ...]:
        x, y = _angles(points, grid)
        return -amplitude * jnp.sin(y), amplitude * jnp.sin((2 if magnetic else 1) * x)

    return sample(values, grid)


def _angles(points: Sequence[Array], grid: Grid) -> list[Array]:
    return [k * x for k, x in zip(grid.fundamental, points, strict=True)]


def need_resolved(name: str, what: str, periods: int, grid: Grid, axes: Sequence[int]) -> None:
    """Raises ValueError where the grid does not retain this many periods along all of these axes."""
    largest = min(grid.layout.highest_mode(axis) for axis in axes)
    if abs(periods) > largest:
        raise ValueError(f"{name} with {what} {periods}: this grid resolves at most {largest}")


def _need_dimensions(name: str, grid: Grid, known: tuple[int, ...]) -> None:
    if grid.dimensions not in known:
        wanted = " or ".join(map(str, known))
        raise ValueError(f"{name} on a grid of {grid.dimensions} dimensions; it is a field in {wanted}")
