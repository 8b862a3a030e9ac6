"""Whether a grid resolves a field: how much of its spectrum is left at the largest wavenumbers."""

from __future__ import annotations

from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.diagnostics import shell_spectrum, shell_wavenumbers
from solver.equations.system import PeriodicSystem
from solver.grid import Grid
from solver.operators import Fields

TAIL = 0.1  # of the shells up to k_max, the last ones
FEWEST = 6  # shells, the mean's too: fewer have no tail
LEVEL = 0.03  # of the largest shell: a resolved field has far less there


def tails(equation: PeriodicSystem, fields: Fields) -> dict[str, Array]:
    """Mean energy of the last tenth of the shells up to k_max over that of the largest shell, by field.

    Of the spectra ½|û|² without the mean; 0 for a uniform field, and where the grid has too few shells. All-reduces
    only, and a transform of what a state holds at the points.
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
    if shells < FEWEST:
        return jnp.zeros(())
    energy = shell_spectrum(u_hat, grid)[1:shells]
    largest = jnp.max(energy)
    return jnp.mean(energy[-max(1, round(TAIL * shells)) :]) / jnp.where(largest > 0, largest, 1)
