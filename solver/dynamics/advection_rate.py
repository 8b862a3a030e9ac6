"""CFL rate of a velocity on the cells of a grid, for equations whose class gives a rate."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.fft import max_over_points
from solver.grid import Grid


def advection_rate(velocity: Array, grid: Grid) -> Array:
    """max over points of Σ_i |u_i|/Δx_i [1/time]; dt times this is the CFL number. One all-reduce."""
    return max_over_points(crossings(velocity, np.asarray(grid.spacing, grid.dtype)))


def crossings(velocity: Array | Sequence[Array], spacing: Array | np.ndarray) -> Array:
    """Σ_i |u_i|/Δx_i at each point [1/time]: for `largest` of `Transform.pointwise`, with Δx as its parameters."""
    return sum(jnp.abs(u) / dx for u, dx in zip(velocity, spacing, strict=True))
