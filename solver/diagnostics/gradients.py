"""The gradient tensor of a vector field at the points, and quantities computed from it."""

from __future__ import annotations

from itertools import combinations

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, Inexact

from solver.fft import Transform
from solver.operators import gradient


def gradient_tensor(u_hat: Complex[Array, "d ..."], transform: Transform) -> Float[Array, "d d ..."]:
    """A[j, i] = ∂u_i/∂x_j at the points [u/length]. One inverse transform of d² components."""
    return transform.inverse(gradient(u_hat, transform.grid))


def longitudinal(tensor: Inexact[Array, "d d ..."]) -> Inexact[Array, "d ..."]:
    """∂u_i/∂x_i of each i, not summed; values at the points or coefficients."""
    return jnp.stack([tensor[i, i] for i in range(len(tensor))])


def transverse(tensor: Float[Array, "d d ..."]) -> Float[Array, "n ..."]:
    """∂u_i/∂x_j of all pairs i ≠ j; two or three dimensions."""
    d = len(tensor)
    return jnp.stack([tensor[j, i] for j in range(d) for i in range(d) if i != j])


def vorticity(tensor: Inexact[Array, "d d ..."]) -> Inexact[Array, "c ..."]:
    """∇×u from the tensor: three components in 3-D, the one out of the plane in 2-D.

    The tensor is one of values at the points or of coefficients, and so is the result.
    """
    pairs = [(1, 2), (2, 0), (0, 1)] if len(tensor) == 3 else [(0, 1)]
    return jnp.stack([tensor[j, i] - tensor[i, j] for j, i in pairs])


def dissipation_rate(
    tensor: Float[Array, "d d ..."], viscosity: ArrayLike, *, solenoidal: bool = True
) -> Float[Array, ...]:
    """ε = 2ν s_ij s_ij at the points, s_ij = ½(∂u_i/∂x_j + ∂u_j/∂x_i) [u²/time]; ν |∇u|² if not `solenoidal`.

    For a solenoidal field both have the box average ν⟨|ω|²⟩. ⟨ν |∇u|²⟩ is the loss of ½⟨|u|²⟩ by ν∇²u for any field.

    Source: Pope, Turbulent Flows (2000), section 5.3.
    """
    d = len(tensor)
    if not solenoidal:
        return viscosity * sum(tensor[j, i] ** 2 for j in range(d) for i in range(d))
    shear = sum((tensor[j, i] + tensor[i, j]) ** 2 for j, i in combinations(range(d), 2))
    return viscosity * (2 * sum(tensor[i, i] ** 2 for i in range(d)) + shear)


def q_criterion(tensor: Float[Array, "3 3 ..."]) -> Float[Array, ...]:
    """Q = ½(|Ω|² − |s|²) = −½ ∂_i u_j ∂_j u_i of a solenoidal field [(u/length)²]: positive where rotation prevails.

    Source: Hunt, Wray & Moin, CTR Report S88 (1988) 193.
    """
    d = len(tensor)
    return -0.5 * sum(tensor[j, i] * tensor[i, j] for j in range(d) for i in range(d))
