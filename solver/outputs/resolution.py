"""Checks that a grid resolves a field, by the size of its spectrum at the largest wavenumbers."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.grid import Grid
from solver.operators import Fields

LEVEL = 0.03  # of the largest shell; the tail of a resolved field is far smaller


def tails(equation: AnyEquation, fields: Fields) -> dict[str, Array]:
    """`Space.tail` of each field. Costs all-reduces, and a transform of fields that a state holds at the points."""
    hats = equation.coefficients(fields)
    return {name: space.tail(hats[name]) for name, space in equation.spaces.items()}


def unresolved(now: Mapping[str, float], before: Mapping[str, float], grid: Grid) -> list[str]:
    """A warning for each field whose tail is too high in two rows, and does not decay as the tail of noise does."""
    return [
        f"spectrum of {name}: the shells next to k_max = {grid.k_max:.4g} hold {tail:.2g} of what the largest "
        "holds: more points are needed"
        for name, tail in now.items()
        if tail > LEVEL and before.get(name, 0.0) > LEVEL and tail > before[name] / 2
    ]
