"""Whether a grid resolves a field, by the size of its spectrum at the largest wavenumbers."""

from __future__ import annotations

from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.diagnostics import shell_spectrum, shell_wavenumbers
from solver.equations.reporting import Reporting
from solver.grid import Grid
from solver.operators import Fields

TAIL = 0.1  # fraction of the shells up to k_max that form the tail
MIN_SHELLS = 6  # including that of the mean; with fewer there is no tail
LEVEL = 0.03  # of the largest shell; the tail of a resolved field is far smaller


def tails(equation: Reporting, fields: Fields) -> dict[str, Array]:
    """Mean energy of the last tenth of the shells up to k_max over that of the largest shell, by field.

    It uses the spectra ½|û|² without the mean, and is 0 for a uniform field, or if the grid has too few shells. Costs
    all-reduces, and a transform of fields that a state holds at the points.
    """
    hats = equation.coefficients(fields)
    return {name: _tail(hats[name], equation.grid_of(name)) for name in equation.fields}


def unresolved(now: Mapping[str, float], before: Mapping[str, float], grid: Grid) -> list[str]:
    """A warning for each field whose tail is too high in two rows, and does not decay as that of noise does."""
    return [
        f"spectrum of {name}: the shells next to k_max = {grid.k_max:.4g} hold {tail:.2g} of what the largest "
        "holds: more points are needed"
        for name, tail in now.items()
        if tail > LEVEL and before.get(name, 0.0) > LEVEL and tail > before[name] / 2
    ]


def _tail(u_hat: Array, grid: Grid) -> Array:
    shells = int(np.sum(shell_wavenumbers(grid) <= grid.k_max * (1 + 1e-9)))
    if shells < MIN_SHELLS:
        return jnp.zeros(())
    energy = shell_spectrum(u_hat, grid)[1:shells]
    largest = jnp.max(energy)
    return jnp.mean(energy[-max(1, round(TAIL * shells)) :]) / jnp.where(largest > 0, largest, 1)
