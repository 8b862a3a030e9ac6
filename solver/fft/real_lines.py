"""Real values on a line of N points, from half of its modes, by a complex FFT of N/2.

Neighbouring points make one complex number, z_j = u_2j + i u_2j+1. With M = N/2 and w = exp(2πi/N) the modes of z are

    Z_k = (U_k + conj U_M−k) + i wᵏ (U_k − conj U_M−k),    k = 0, …, M − 1

(Press et al., Numerical Recipes, section 12.3). On a GPU that is less work than an inverse real FFT: cuFFT's destroys
its operand, so that XLA copies it first, and XLA scales the result in a pass of its own. The sums above become part of
the kernel that writes the array to transform, and the two parts are taken where the values are read.

Both choose by products with tables of zeros and ones. XLA would join parts in a kernel of their own; and it works a
comparison of indices out once, and then merges the kernels that read the result, of one wave of planes and of the next,
so that none could overlap an exchange.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from solver.fft.tables import table


def modes_of_pairs(modes: Array) -> Array:
    """Conjugates of Z_0, …, Z_M−1 along the axis before the last, from the conjugates of U_0, …, U_M.

    As in every transform to real values, the imaginary parts of U_0 and U_M count as zero.
    """
    m = modes.shape[-2] - 1
    k = np.arange(m)[:, None]
    low, high = modes[..., :m, :], jnp.conj(jnp.flip(modes[..., 1:, :], -2))
    counts = table((k > 0).astype(modes.real.dtype))
    low, high = (lax.complex(part.real, part.imag * counts) for part in (low, high))
    turn = table((-1j * np.exp(-1j * np.pi * k / m)).astype(modes.dtype))
    return low + high + turn * (low - high)


def points_of_pairs(pairs: Array) -> Array:
    """u along the last axis, from the conjugates of z."""
    turned = pairs[..., None] * table(np.asarray([1, 1j], pairs.dtype))  # whose real parts are u_2j and u_2j+1
    return turned.real.reshape(*pairs.shape[:-1], -1)
