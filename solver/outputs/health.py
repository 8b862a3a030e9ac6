"""Checks that a run can continue from a state: its energy budget, its CFL number, and the ends of its spectra."""

from __future__ import annotations

from typing import Any

import jax

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import imbalance
from solver.dynamics.compiled import compiled
from solver.dynamics.energy_budget import kept_energies
from solver.dynamics.equation import Equation
from solver.loop import StepControl, long_step
from solver.outputs.resolution import LEVEL, tails
from solver.steppers.state import State

CLOSED = 1e-3  # an energy budget that misses more than this is open


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
