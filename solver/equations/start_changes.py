"""What the start of a run takes away from the values that are given: modes beyond k_max, means, divergent parts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square
from solver.equations.field import Field
from solver.equations.manifold import without_mean
from solver.grid import Grid
from solver.operators import Fields, project_solenoidal

SHARE = {np.dtype("float64"): 1e-6, np.dtype("float32"): 1e-5}  # of the mean square; less is not said

Shares = dict[str, dict[str, Array]]  # field → what is removed → its share of ⟨|u|²⟩


class ChangedStart(UserWarning):
    """An initial field holds what the equation or the grid cannot, and is changed.

    `warnings.simplefilter("ignore", sw.ChangedStart)` turns it off.
    """


def shares_removed(values: Fields, sampled: Fields, fields: Mapping[str, Field], grid: Grid) -> Shares:
    """Shares of the mean square of each field that the start of a run removes.

    Args:
        values: values at the points `(component, x, y, z)` by name, of any sharding.
        sampled: coefficients of their transform, before means and divergent parts are removed.
        fields: name → `Field`, as the equation declares it.
        grid: supplies the wavenumbers.

    Returns:
        By field: `beyond` k_max, and `mean` and `divergent` where the field is declared to have none; numbers from 0
        to 1. Communication: all-reduces.
    """
    return {name: _shares(u, sampled[name], fields[name], grid) for name, u in values.items()}


def _shares(u: ArrayLike, u_hat: Array, field: Field, grid: Grid) -> dict[str, Array]:
    grid = grid.as_real if field.real else grid.as_complex
    points = jnp.sum(jnp.abs(u) ** 2) / np.prod(u.shape[1:])
    whole = jnp.where(points > 0, points, 1)
    stored = mean_square(u_hat, grid)
    removed = {"beyond": points - stored}
    if field.solenoidal:
        solenoidal = mean_square(project_solenoidal(u_hat, grid), grid)
        removed["divergent"] = stored - solenoidal
    if field.zero_mean:
        removed["mean"] = stored - mean_square(without_mean(u_hat, grid), grid)
    return {what: jnp.clip(part / whole, 0, 1) for what, part in removed.items()}


def in_words(shares: Mapping[str, Mapping[str, Any]], grid: Grid) -> list[str]:
    """A line for each part that is removed from a field at the start; none for what is as small as round-off."""
    texts = {
        "beyond": f"lies beyond k_max = {grid.k_max:.4g} (dealias = {str(grid.dealias)!r}) and is dropped",
        "divergent": "is divergent and is projected away",
        "mean": "is its mean, which this field cannot have and which is removed",
    }
    return [
        f"initial field {name}: {100 * float(share):.3g} % of its mean square {texts[what]}"
        for name, parts in shares.items()
        for what, share in parts.items()
        if float(share) > SHARE[grid.dtype]
    ]


def warn_of_changes(shares: Shares, grid: Grid) -> None:
    """Warn, in the class `ChangedStart`, of what was removed from the initial fields; nothing while tracing."""
    if any(isinstance(share, jax.core.Tracer) for parts in shares.values() for share in parts.values()):
        return
    for line in in_words(shares, grid):
        warnings.warn(line, ChangedStart, stacklevel=3)
