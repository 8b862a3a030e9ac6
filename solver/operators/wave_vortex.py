"""The vortical and the wave part of a rotating, stratified flow, mode by mode. Nothing communicates."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex

from solver.grid import Grid


def split_waves(
    velocity: Complex[Array, "d ..."],
    buoyancy: Complex[Array, "1 ..."],
    grid: Grid,
    *,
    buoyancy_frequency: ArrayLike,
    rotation: ArrayLike = 0.0,
) -> dict[str, tuple[Array, Array]]:
    """Split a flow into its vortical part, its waves, and its horizontally uniform part.

    The linear, inviscid equations u_t = −∇p − f ẑ×u + b ẑ, b_t = −N² w, ∇·u = 0 have three modes for each k with
    k_h ≠ 0: two inertia–gravity waves, ω = ±((N² k_h² + f² k_z²)/k²)^½, and one of frequency 0, the vortical or
    geostrophic mode

        (u, v, w, b) ∝ (−N k_y, N k_x, 0, f N k_z),

    which alone has linear potential vorticity, q = ∂x v − ∂y u + f ∂z b/N². The modes are orthogonal in the energy
    ½|u|² + ½b²/N², so the vortical part is the projection to this mode and the waves are the rest. Without rotation it
    is the horizontal flow without horizontal divergence and b = 0.

    Modes with k_h = 0, the flow and the buoyancy that depend on z alone, are the part `shear`, with the mean. They have
    no vertical vorticity; the flow turns with the frequency f, or stands if f = 0.

    Args:
        velocity: coefficients `(3, *grid.spectral_shape)`, without divergence [length/time].
        buoyancy: coefficients `(1, *grid.spectral_shape)` [length/time²].
        grid: three dimensions, real fields; z is the last direction.
        buoyancy_frequency: N > 0 [1/time].
        rotation: f, of any sign [1/time].

    Returns:
        By the name of the part, `vortical`, `waves` and `shear`: velocity and buoyancy, of the shapes and shardings
        given. Their sum is what was given, and the sum of their energies is its energy. No communication.

    Raises:
        ValueError: another number of dimensions, or N that is not positive (where it is known).

    Source: Herbert, Marino, Rosenberg & Pouquet, arXiv:1509.02549 (2015), for modes and energies; Bartello, J. Atmos.
    Sci. 52 (1995) 4410, and Smith & Waleffe, J. Fluid Mech. 451 (2002) 145, from memory.
    """
    need_waves(grid, buoyancy_frequency, "split_waves")
    return _split(velocity, buoyancy, grid, buoyancy_frequency, rotation)


def need_waves(grid: Grid, buoyancy_frequency: ArrayLike, what: str) -> None:
    """Raises ValueError where a flow has no vortical modes and waves to tell apart; a value being traced passes."""
    if grid.dimensions != 3:
        raise ValueError(
            f"{what} in {grid.dimensions} dimensions: three are needed, since a vertical plane has no vortical modes"
        )
    if not isinstance(buoyancy_frequency, jax.core.Tracer | jax.ShapeDtypeStruct) and not np.all(
        np.asarray(buoyancy_frequency) > 0
    ):
        raise ValueError(f"{what} with buoyancy_frequency {buoyancy_frequency}: a positive number is needed")


@partial(jax.jit, static_argnames="grid")
def _split(
    velocity: Array, buoyancy: Array, grid: Grid, buoyancy_frequency: ArrayLike, rotation: ArrayLike
) -> dict[str, tuple[Array, Array]]:
    n, f = (jnp.asarray(number, grid.dtype) for number in (buoyancy_frequency, rotation))
    kx, ky, kz = map(jnp.asarray, grid.derivative_wavenumbers())
    is_shear = (kx == 0) & (ky == 0)
    norm = jnp.where(is_shear, 1, n**2 * (kx**2 + ky**2) + f**2 * kz**2)
    along = n * (kx * velocity[1] - ky * velocity[0]) + f / n * kz * buoyancy[0]
    amplitude = jnp.where(is_shear, 0, along / norm)
    vortical = (
        jnp.stack([-n * ky * amplitude, n * kx * amplitude, jnp.zeros_like(amplitude)]),
        (f * n * kz * amplitude)[None],
    )
    shear = tuple(jnp.where(is_shear, part, 0) for part in (velocity, buoyancy))
    wave = tuple(whole - v - s for whole, v, s in zip((velocity, buoyancy), vortical, shear, strict=True))
    return {"vortical": vortical, "waves": wave, "shear": shear}
