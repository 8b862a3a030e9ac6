"""Derivatives, curl, Leray projection and elliptic solves, on coefficients. None of them communicates.

Each function is compiled: outside of `jit`, JAX would separate the components of a split array on the host.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Inexact

from solver.grid import Grid
from solver.mesh import on_gpu


@partial(jax.jit, static_argnames="grid")
def gradient(f_hat: Complex[Array, ...], grid: Grid) -> Complex[Array, "d ..."]:
    """∇f: i k f̂ for each direction, stacked in front. Nyquist modes give zero.

    Args:
        f_hat: coefficients `(…, *grid.spectral_shape)` [f], any sharding.
        grid: supplies the wavenumbers k [1/length].

    Returns:
        `(d, *f_hat.shape)` [f/length], split as `f_hat` is. No communication.
    """
    return jnp.stack([1j * k * f_hat for k in grid.derivative_wavenumbers()])


@partial(jax.jit, static_argnames="grid")
def divergence(u_hat: Complex[Array, "d ..."], grid: Grid) -> Complex[Array, ...]:
    """∇·u: Σ_j i k_j û_j of a vector field with as many components as dimensions.

    Args:
        u_hat: coefficients `(d, *grid.spectral_shape)` [u], any sharding.
        grid: supplies the wavenumbers k [1/length].

    Returns:
        Coefficients `grid.spectral_shape` [u/length], split as `u_hat` is. No communication.

    Raises:
        ValueError: the number of components is not the number of dimensions.
    """
    _check_vector(u_hat, grid)
    return 1j * sum(k * u for k, u in zip(grid.derivative_wavenumbers(), u_hat, strict=True))


@partial(jax.jit, static_argnames="grid")
def curl(u_hat: Complex[Array, "d ..."], grid: Grid) -> Complex[Array, "c ..."]:
    """∇×u: three components in 3-D, the one out of the plane (∂x v − ∂y u) in 2-D.

    Args:
        u_hat: coefficients `(d, *grid.spectral_shape)` [u], any sharding.
        grid: two or three dimensions; supplies the wavenumbers k [1/length].

    Returns:
        Coefficients `(3, …)` or `(1, …)` [u/length], split as `u_hat` is. No communication.

    Raises:
        ValueError: the field is not a vector field in two or three dimensions.
    """
    _check_vector(u_hat, grid)
    if grid.dimensions == 2:
        kx, ky = grid.derivative_wavenumbers()
        return 1j * (kx * u_hat[1] - ky * u_hat[0])[None]
    if grid.dimensions == 3:
        kx, ky, kz = grid.derivative_wavenumbers()
        u, v, w = u_hat
        return 1j * jnp.stack([ky * w - kz * v, kz * u - kx * w, kx * v - ky * u])
    raise ValueError("curl of a one-dimensional field: two or three dimensions are needed")


@partial(jax.jit, static_argnames="grid")
def project_solenoidal(u_hat: Inexact[Array, "d ..."], grid: Grid) -> Inexact[Array, "d ..."]:
    """Remove the compressible part of a vector field (Leray projection).

    Computes û − k (k·û)/|k|² for every retained mode; the mean flow, k = 0, is kept.

    Args:
        u_hat: coefficients, one component per dimension, any sharding.
        grid: supplies the wavenumbers k [1/length].

    Returns:
        Same shape, dtype and sharding, divergence-free to round-off. No communication.

    Raises:
        ValueError: the number of components is not the number of dimensions.

    Source: Canuto, Hussaini, Quarteroni & Zang, Spectral Methods (2007).
    """
    _check_vector(u_hat, grid)
    wavenumbers = grid.derivative_wavenumbers()
    k2 = sum(k * k for k in map(jnp.asarray, wavenumbers))
    parts = components(u_hat)
    k_dot_u = sum(k * u for k, u in zip(wavenumbers, parts, strict=True))
    pressure = _over(jnp.where(k2 == 0, 1, k2), k_dot_u, grid)
    return jnp.stack([u - k * pressure for k, u in zip(wavenumbers, parts, strict=True)])


def components(u: Array) -> list[Array]:
    """The components `(x, y, z)` of fields `(component, x, y, z)`.

    The split is one operation, whose transpose is one concatenation. The transpose of `u[0]`, `u[1]`, … would be a sum
    of arrays padded with zeros, with which a gradient takes a fifth more time.
    """
    return [part[0] for part in jnp.split(u, len(u))]


def _check_vector(u_hat: Array, grid: Grid) -> None:
    needed = (grid.dimensions, *grid.spectral_shape)
    if u_hat.shape != needed:
        raise ValueError(f"vector field of shape {list(u_hat.shape)}; this grid needs {list(needed)}")


def _over(real: Array, f_hat: Array, grid: Grid) -> Array:
    """Divide f̂ by real numbers.

    On CPUs a complex division is slow, so f̂ is multiplied by the reciprocal. On GPUs XLA would store the reciprocal as
    an array (Navier–Stokes, 256³: 11 to 12 words per point held instead of 9.8 to 9.9).
    """
    return f_hat / real if on_gpu(grid.mesh) else f_hat * (1 / real)


@partial(jax.jit, static_argnames="grid")
def solve_poisson(f_hat: Complex[Array, ...], grid: Grid) -> Complex[Array, ...]:
    """φ with ∇²φ = f − ⟨f⟩ and ⟨φ⟩ = 0: φ̂ = −f̂/|k|², all modes kept.

    Args:
        f_hat: coefficients `(…, *grid.spectral_shape)` [f], any sharding.
        grid: supplies the wavenumbers k [1/length].

    Returns:
        Coefficients of φ [f·length²], of the shape and sharding of `f_hat`. No communication.
    """
    return -f_hat * grid.inverse_k_squared()


def solve_helmholtz(f_hat: Complex[Array, ...], grid: Grid, alpha: ArrayLike) -> Complex[Array, ...]:
    """u with (α − ∇²)u = f, α > 0: û = f̂/(α + |k|²), all modes kept.

    Args:
        f_hat: coefficients `(…, *grid.spectral_shape)` [f], any sharding.
        grid: supplies the wavenumbers k [1/length].
        alpha: α, one number [1/length²]; it may be differentiated.

    Returns:
        Coefficients of u [f·length²], of the shape and sharding of `f_hat`. No communication.

    Raises:
        ValueError: α that is not one positive, finite number; one that is being traced passes.
    """
    if not isinstance(alpha, jax.core.Tracer):
        value = np.asarray(alpha)
        if value.shape != () or not (np.isfinite(value) and value > 0):
            raise ValueError(f"alpha {alpha}: one positive, finite number is needed; solve_poisson is for 0")
    return _solve_helmholtz(f_hat, grid, alpha)


@partial(jax.jit, static_argnames="grid")
def _solve_helmholtz(f_hat: Array, grid: Grid, alpha: ArrayLike) -> Array:
    return f_hat / (jnp.asarray(alpha, grid.dtype) + grid.k_squared())


@partial(jax.jit, static_argnames="grid")
def solve_biharmonic(f_hat: Complex[Array, ...], grid: Grid) -> Complex[Array, ...]:
    """u with ∇⁴u = f − ⟨f⟩ and ⟨u⟩ = 0: û = f̂/|k|⁴, all modes kept.

    Args:
        f_hat: coefficients `(…, *grid.spectral_shape)` [f], any sharding.
        grid: supplies the wavenumbers k [1/length].

    Returns:
        Coefficients of u [f·length⁴], of the shape and sharding of `f_hat`. No communication.
    """
    return f_hat * grid.inverse_k_squared() ** 2
