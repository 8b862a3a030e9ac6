"""The constant magnetic field of an equation: its check, its Alfvén waves; and the helicity of a field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_product, weighted_mean_square
from solver.dynamics.checks import require
from solver.grid import Grid
from solver.operators import curl

Vector: TypeAlias = Sequence[float] | Array


def require_mean_field(mean_field: Any, grid: Grid) -> None:
    """Refuse a mean field that is not one finite number for each direction.

    Raises:
        ValueError: the message names the mean field and how many numbers are needed.
    """
    require("mean_field", mean_field, "finite numbers")
    if mean_field is not None and np.shape(mean_field) != (grid.dimensions,):
        raise ValueError(f"mean_field {mean_field}: {grid.dimensions} numbers are needed")


def alfven_rate(mean_field: Any, grid: Grid) -> ArrayLike:
    """Σ_i |B₀_i|/Δx_i of Alfvén waves along a mean field [1/time]; 0 without one."""
    if mean_field is None:
        return 0.0
    return sum(jnp.abs(jnp.asarray(b, grid.dtype)) / dx for b, dx in zip(mean_field, grid.spacing, strict=True))


def magnetic_helicity(b_hat: Array, grid: Grid) -> Array:
    """⟨a·b⟩ in 3-D, with b = ∇×a and ∇·a = 0; ⟨a²⟩ of b = ∇×(a ẑ) in 2-D. One all-reduce."""
    if grid.dimensions == 2:
        return weighted_mean_square(b_hat, grid.inverse_k_squared(), grid)
    a_hat = curl(b_hat, grid) * grid.inverse_k_squared()
    return mean_product(a_hat, b_hat, grid)
