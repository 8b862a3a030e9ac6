"""The energy budget of an equation: what changes each of its energies, and how its integrals travel with the fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.equations.beside import BUDGET
from solver.operators import Fields

Budget = Mapping[str, Mapping[str, Array]]  # energy → cause → rate


@dataclass(frozen=True)
class Changes:
    """What changes the fields at one moment: coefficients [u/time] by field name.

    Args:
        linear: L u.
        nonlinear: N(u, t), without forcing.
        forcing: of the fields that are forced.
    """

    linear: Fields
    nonlinear: Fields
    forcing: Fields


def columns(budget: Budget) -> dict[str, Array]:
    """A budget's rates by the name of their column: `energy_from_forcing`."""
    return {f"{energy}_from_{cause}": rate for energy, rates in budget.items() for cause, rate in rates.items()}


def imbalance(energy: str, start: float, now: float, integrals: Mapping[str, Any]) -> float:
    """What the causes leave unexplained of an energy's change, relative to the largest of all these numbers."""
    causes = [float(value) for name, value in integrals.items() if name.startswith(f"{energy}_from_")]
    largest = max(map(abs, [start, now, *causes]))
    return (now - start - sum(causes)) / (largest or 1.0)


def stacked(budget: Mapping[str, Any]) -> Array:
    """One array of a budget's columns, in the order of their names, which stands beside the fields."""
    return jnp.stack([jnp.asarray(budget[name]) for name in sorted(budget)])


def with_budget(fields: Fields, budget: Mapping[str, Any]) -> Fields:
    """Fields, and the integrals of a budget beside them."""
    return {**fields, BUDGET: stacked(budget)} if budget else fields


def without_budget(fields: Fields) -> Fields:
    """The fields alone."""
    return {name: field for name, field in fields.items() if name != BUDGET}


def split_budget(fields: Fields, like: Mapping[str, Any]) -> tuple[Fields, dict[str, Any]]:
    """Inverse of `with_budget`, with the names of the budget before."""
    integrals = dict(zip(sorted(like), fields[BUDGET], strict=True)) if like else {}
    return without_budget(fields), integrals


def rates_in(history: Any) -> Array | None:
    """The rates of a budget in an earlier step that a stepper's history holds; None if it holds none."""
    if not isinstance(history, Mapping):
        return None
    in_entries = [entry if name == BUDGET else rates_in(entry) for name, entry in history.items()]
    return next((rates for rates in in_entries if rates is not None), None)


def shorn(history: Any) -> Any:
    """A stepper's history without the entries of a budget."""
    if not isinstance(history, Mapping):
        return history
    return {name: shorn(entry) for name, entry in history.items() if name != BUDGET}
