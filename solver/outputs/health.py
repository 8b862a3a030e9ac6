"""Checks of a state during a run: the ends of its spectra, its budget, its CFL number, and what its fields declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import imbalance
from solver.dynamics.compiled import compiled
from solver.dynamics.energy_budget import kept_energies
from solver.dynamics.equation import Equation
from solver.grid import Grid
from solver.loop import BlowUp, StepControl, long_step
from solver.operators import Fields
from solver.steppers.state import State

LEVEL = 0.03  # of the largest shell; the tail of a resolved field is far smaller
CLOSED = 1e-3  # an energy budget that misses more than this is open
WARNING_LEVEL = {np.dtype("float64"): 1e-6, np.dtype("float32"): 1e-3}
WRONG = 1e-2  # of a field; the output would be wrong by a percent

Distances = dict[str, dict[str, float]]  # field → violated property → ‖violating part‖/‖field‖


def tails(equation: AnyEquation, fields: Fields) -> dict[str, Array]:
    """`Space.tail` of each field. Costs all-reduces, and a transform of fields that a state holds at the points."""
    hats = equation.coefficients(fields)
    return {name: space.tail(hats[name]) for name, space in equation.spaces.items()}


def unresolved(now: Mapping[str, float], before: Mapping[str, float], grid: Grid) -> list[str]:
    """A warning for each field whose tail is too high in two rows, and does not decay as the tail of noise does."""
    end = "the last tenth of the modes along an axis holds" if grid.walls else ""
    end = end or f"the shells next to k_max = {grid.k_max:.4g} hold"
    return [
        f"spectrum of {name}: {end} {tail:.2g} of what the largest holds: more points are needed"
        for name, tail in now.items()
        if tail > LEVEL and before.get(name, 0.0) > LEVEL and tail > before[name] / 2
    ]


def ailments(equation: AnyEquation, state: State, control: StepControl) -> list[str]:
    """Problems of a state, one line each; an empty list if it is healthy. Collective.

    A state is healthy if each energy budget misses at most 1e-3 of its energy, the CFL number of a fixed step is at
    most one, and the last tenth of each spectrum holds at most 3 % of the content of its largest shell.

    Costs one evaluation of the equation's energies, of its `rate`, and of the spectra.
    """
    energies, ends = jax.tree.map(float, _look(equation, state.field))
    budget = {name: float(value) for name, value in state.budget.items()}
    missing = {name: imbalance(name, float(state.energies[name]), now, budget) for name, now in energies.items()}
    found = [f"the budget of {name} misses {abs(m):.1e} of it" for name, m in missing.items() if not abs(m) <= CLOSED]
    found += [
        f"the spectrum of {name} holds {end:.2g} of its largest shell next to k_max"
        for name, end in ends.items()
        if not end <= LEVEL
    ]
    number = long_step(equation, control, state) if isinstance(equation, Equation) else None
    return found if number is None else [*found, f"the CFL number is {number:.3g}"]


@compiled
def _look(equation: Any, fields: Any) -> tuple[Any, Any]:
    return kept_energies(equation, fields), tails(equation, fields)


def strayed(distances: Distances, precision: np.dtype) -> list[str]:
    """A warning for each field that has left its manifold; see `spaces.manifold.distances`."""
    return [
        f"the part of {name} that is {what} = {size:.1e} of it, more than round-off: sums over modes and values at the "
        "points do not agree"
        for name, parts in distances.items()
        for what, size in parts.items()
        if size > WARNING_LEVEL[precision]
    ]


def stop_if_wrong(distances: Distances, step: int, t: float) -> None:
    """Raises BlowUp if a field violates its declared properties so much that results are wrong."""
    for name, parts in distances.items():
        for what, size in parts.items():
            if size > WRONG:
                raise BlowUp(
                    f"step {step}, t = {t:.6g}: {name} is {what} by {size:.1e} of its size; at most {WRONG:g} is "
                    "allowed, the last checkpoint is from before"
                )
