"""Viscosity and hyperviscosity: how fast modes are damped, in any order that the precision can hold."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from solver.equations.system import require
from solver.grid import Grid

HOW = '; jax.config.update("jax_enable_x64", True), and a grid of precision float32 can'


def require_damping(grid: Grid, order: int, **coefficients: ArrayLike) -> None:
    """Refuse orders and coefficients ν_h whose damping the grid's precision cannot hold; traced values pass.

    Raises:
        ValueError: an order below one, a negative coefficient, or a number that overflows or vanishes; the message
            names the parameter, its value and what is possible.
    """
    require("hyper_order", order, "one or more", least=1)
    require_power(grid, "hyper_order", order, **coefficients)


def require_power(grid: Grid, name: str, order: ArrayLike, **coefficients: ArrayLike) -> None:
    """As `require_damping`, for a power p of k² that is called `name` and need not be whole; traced values pass.

    Raises:
        ValueError: a negative coefficient, or a number that overflows or vanishes.
    """
    for coefficient, value in coefficients.items():
        require(coefficient, value, "zero or more", least=0)
    if isinstance(order, jax.core.Tracer):
        return
    numbers = np.finfo(jnp.result_type(float))  # in which ν_h and K^(2p) are held
    power = 2 * float(np.max(order)) * math.log(grid.k_corner)
    if abs(power) > math.log(float(numbers.max)):
        raise ValueError(
            f"{name} {order}: {numbers.dtype} cannot hold |k|^{2 * order} of the largest |k| = {grid.k_corner:.4g}"
            + (HOW if numbers.dtype == np.float32 else "")
        )
    possible = float(np.finfo(grid.dtype).max) * math.exp(-power)
    for coefficient, value in coefficients.items():
        for entry in jax.tree.leaves(value):
            given = 0.0 if isinstance(entry, jax.core.Tracer) else np.asarray(entry, float)
            if np.any(given > possible):
                raise ValueError(
                    f"{coefficient} {value} with {name} {order}: at most {possible:.3g} is needed, or {grid.precision} "
                    f"cannot hold the damping of the largest |k| = {grid.k_corner:.4g}"
                )
            if np.any((given > 0) & (given < float(numbers.tiny))):
                raise ValueError(f"{coefficient} {value}: {numbers.dtype} cannot hold it" + HOW)
