"""Fields put back onto their manifold: real, free of divergence, without a mean, as each field declares.

Products at the points never see the part of the stored modes that no real field has, and no equation damps the
compressible part of a velocity that is only projected in N. So a forcing or a linear part that amplifies such a part
would let round-off grow without bound. Whatever is stepped is therefore put back after every step, from what the
fields declare, whichever equation, stepper and forcing moved it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics import mean_square
from solver.equations.field import Field
from solver.grid import Grid
from solver.operators import Fields, hermitian, project_solenoidal


def on_manifold(fields: Fields, declared: Mapping[str, Field], grid: Grid) -> Fields:
    """The nearest fields that are what they are declared to be.

    Args:
        fields: coefficients by name, of some or all of the declared fields.
        declared: name → `Field`.
        grid: where the real fields live; a wavefunction is left as it is.

    Returns:
        The same names, shapes and shardings. Communication: see `operators.hermitian`, once for all fields.
    """
    kept = constrained(fields, declared, grid)
    real = {name: u_hat for name, u_hat in kept.items() if declared[name].real}
    return {**kept, **hermitian(real, grid.as_real)} if real else kept


def constrained(fields: Fields, declared: Mapping[str, Field], grid: Grid) -> Fields:
    """Fields, or what is added to them, free of divergence and of zero mean where it is declared. No communication."""
    return {name: _as_declared(u_hat, declared[name], grid) for name, u_hat in fields.items()}


def distances(fields: Fields, declared: Mapping[str, Field], grid: Grid) -> dict[str, dict[str, Array]]:
    """How far each field is from what it is declared to be: field → what is wrong → ‖that part‖/‖field‖.

    ‖·‖ is the root of the sum over modes. The square of the number for `not real` is the share by which a sum over
    modes exceeds the mean over the points (Parseval's theorem). All-reduces, and the exchange of `operators.hermitian`.
    """
    return {
        name: {
            what: _ratio(u_hat - nearest, u_hat, grid.as_real)
            for what, nearest in _nearest(u_hat, declared[name], grid).items()
        }
        for name, u_hat in fields.items()
        if declared[name].real
    }


def _as_declared(u_hat: Array, field: Field, grid: Grid) -> Array:
    if field.solenoidal:
        u_hat = project_solenoidal(u_hat, grid.as_real)
    return without_mean(u_hat, grid.as_real) if field.zero_mean else u_hat


def _nearest(u_hat: Array, field: Field, grid: Grid) -> dict[str, Array]:
    grid = grid.as_real
    nearest = {"not real": hermitian(u_hat, grid)}
    if field.solenoidal:
        nearest["not free of divergence"] = project_solenoidal(u_hat, grid)
    if field.zero_mean:
        nearest["not of zero mean"] = without_mean(u_hat, grid)
    return nearest


def without_mean(u_hat: Array, grid: Grid) -> Array:
    """Coefficients with 0 for the mode k = 0. No communication."""
    return jnp.where(grid.k_squared() == 0, 0, u_hat)


def _ratio(part: Any, whole: Any, grid: Grid) -> Array:
    square = mean_square(whole, grid)
    return jnp.sqrt(mean_square(part, grid) / jnp.where(square > 0, square, 1))
