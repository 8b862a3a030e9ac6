"""φ-functions of numbers and of small matrices: φ_0 = exp, φ_{k+1}(z) = (φ_k(z) − 1/k!)/z.

Source: Hochbruck & Ostermann, Acta Numerica 19 (2010) 209; scaling and modified squaring: Skaflestad & Wright,
Appl. Numer. Math. 59 (2009) 783.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

SERIES_TERMS = 16  # of φ_3: at |z| = 1 the first term left out is below 1/20!, a hundredth of the round-off of 1/3!
TAYLOR_TERMS = 20  # of matrices
MAX_DOUBLINGS = 64  # matrices of norm up to 2**63
SWEEPS = 16  # of balancing: a ratio of units of 2**100 becomes one
NOTHING = -4000.0  # log2 of a size that is 0


def phi_functions(z: Array, count: int = 3) -> tuple[Array, ...]:
    """φ_1 … φ_count of every number in `z`, to round-off for any real or complex z with Re z ≤ 0 or small.

    The recurrence is used for |z| ≥ 1. For |z| < 1, where it loses digits, the highest function is a Taylor series, and
    the others follow from it by φ_k = z φ_{k+1} + 1/k!. The derivative is φ_k' = φ_k − k φ_{k+1}, of any order.

    Args:
        z: any shape, real or complex.
        count: number of functions, at least 1.

    Returns:
        One array of the shape of `z` for each function. No communication.
    """
    return _phi_functions(jnp.asarray(z), max(count, 3))[:count]  # three, so that XLA finds equal series of all callers


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
@functools.partial(jax.jit, static_argnums=1)
def _phi_functions(z: Array, count: int) -> tuple[Array, ...]:
    small = jnp.abs(z) < 1
    safe, near = jnp.where(small, 1, z), jnp.where(small, z, 0)
    series = jnp.full_like(near, 1 / math.factorial(SERIES_TERMS + count))
    for n in range(SERIES_TERMS - 1, -1, -1):
        series = series * near + 1 / math.factorial(n + count)
    near_zero = [series]
    for k in range(count - 1, 0, -1):
        near_zero.insert(0, near_zero[0] * near + 1 / math.factorial(k))
    functions, phi = [], jnp.exp(safe)
    for k in range(count):
        phi = (phi - 1 / math.factorial(k)) / safe
        functions.append(jnp.where(small, near_zero[k], phi))
    return tuple(functions)


@_phi_functions.defjvp
def _derivatives(count: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Any, Any]:
    """Without this rule the backward pass of a gradient keeps every term of the series."""
    functions, change = _phi_functions(*primals, count + 1), tangents[0]
    slopes = [functions[k - 1] - k * functions[k] for k in range(1, count + 1)]
    return functions[:-1], tuple(slope * change for slope in slopes)


def phi_matrices(matrices: Array, count: int) -> list[Array]:
    """φ_0 … φ_count of one small matrix per mode.

    Each matrix is scaled by 2^−s to a norm below one half, its φ-functions are summed as Taylor series, and s
    doublings φ_k(2A) = 2^−k (φ_0 φ_k + Σ_j φ_j/(k − j)!) lead back; every mode has its own s. The error is a few
    eps·(1 + ‖A‖) times the conditioning, for normal, defective and zero matrices alike. ‖A‖ is the norm in
    units in which rows and columns are of one size (balancing: Osborne, J. ACM 7 (1960) 338), by powers of two.

    Args:
        matrices: `(n, n, *modes)`, real or complex, eigenvalues with real parts at most zero or of order one.
        count: the highest function needed, 0 for exp alone.

    Returns:
        `count + 1` arrays of the same shape. Two all-reduces, of sizes and of the number of doublings.
    """
    units = _balanced_units(matrices)
    return [_in_units(phi, -units) for phi in _balanced_phi_matrices(_in_units(matrices, units), count)]


def _in_units(matrices: Array, units: Array) -> Array:
    """2^−u_i A_ij 2^u_j, exactly."""
    powers = (units[None, :] - units[:, None]).reshape(*matrices.shape[:2], *[1] * (matrices.ndim - 2))
    scale = jnp.ldexp(jnp.ones((), matrices.real.dtype), powers)
    return matrices * scale


def _balanced_units(matrices: Array) -> Array:
    """Powers of two `(n,)`, the same for all modes, by which rows and columns are of one size.

    Sizes below the diagonal's or below 1 need not be equal; ratios below 2^8 are left as they are.
    """
    sizes = jnp.max(jnp.abs(jax.lax.stop_gradient(matrices)), axis=range(2, matrices.ndim))
    logs = jnp.where(sizes > 0, jnp.log2(jnp.where(sizes > 0, sizes, 1)), NOTHING)
    enough = jnp.maximum(jnp.max(jnp.diag(logs)), 0)

    def sweep(_: Any, units: Array) -> Array:
        own = logs + units[None, :] - units[:, None]
        rows, columns = (jnp.maximum(jnp.max(own, axis=axis), enough) for axis in (1, 0))
        return units + (rows - columns) / 4  # of both ends of each pair

    found = jax.lax.fori_loop(0, SWEEPS, sweep, jnp.zeros(len(logs), logs.dtype))
    is_large = jnp.max(found) - jnp.min(found) >= 4
    return jnp.where(is_large, jnp.rint(found), 0).astype(jnp.int32)


def _balanced_phi_matrices(matrices: Array, count: int) -> list[Array]:
    """`phi_matrices` of balanced matrices."""
    identity = _identity(matrices)
    norm = jnp.max(jnp.sum(jnp.abs(matrices), axis=1), axis=0)
    # frexp: norm = m · 2^e with m < 1, exactly and without a logarithm
    doublings = jax.lax.stop_gradient(jnp.clip(jnp.frexp(norm)[1] + 1, 0, MAX_DOUBLINGS))
    small = jnp.ldexp(jnp.ones_like(norm), -doublings) * matrices
    weights = [1 / math.factorial(n + count) for n in range(TAYLOR_TERMS, -1, -1)]
    start = jnp.broadcast_to(identity * weights[0], small.shape).astype(small.dtype)

    def add_term(highest: Array, weight: Array) -> tuple[Array, None]:
        return multiply(small, highest) + identity * weight, None

    highest, _ = jax.lax.scan(add_term, start, jnp.asarray(weights[1:], identity.dtype))  # a loop is quick to compile
    phi = [highest]
    for k in range(count, 0, -1):
        phi.insert(0, multiply(small, phi[0]) + identity * (1 / math.factorial(k - 1)))
    most = jnp.max(doublings)

    def turn(phi: list[Array], i: Array) -> tuple[list[Array], None]:
        def double(phi: list[Array]) -> list[Array]:
            return [jnp.where(i < doublings, new, old) for new, old in zip(_doubled(phi), phi, strict=True)]

        return jax.lax.cond(i < most, double, lambda phi: phi, phi), None

    return jax.lax.scan(turn, phi, jnp.arange(MAX_DOUBLINGS))[0]


def _doubled(phi: list[Array]) -> list[Array]:
    """φ_k(2A) from φ_k(A)."""
    lower = lambda k: sum(phi[j] / math.factorial(k - j) for j in range(1, k + 1))  # noqa: E731
    return [0.5**k * (multiply(phi[0], phi[k]) + lower(k)) for k in range(len(phi))]


@jax.jit  # traced once for all products of a shape
def multiply(a: Array, b: Array) -> Array:
    """Products of matrices `(n, n, *modes)`, mode by mode: sums that XLA fuses, where a batch of dots would be slow."""
    return jnp.stack([sum(a[:, k] * b[k, j] for k in range(a.shape[1])) for j in range(b.shape[1])], axis=1)


def _identity(matrices: Array) -> Array:
    """The unit matrix, with as many axes as `matrices`."""
    n = matrices.shape[0]
    return jnp.asarray(np.eye(n).reshape(n, n, *[1] * (matrices.ndim - 2)), matrices.real.dtype)
