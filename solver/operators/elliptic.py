"""Solves of elliptic problems with constant coefficients, on coefficients. None of them communicates."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex

from solver.grid import Grid


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
