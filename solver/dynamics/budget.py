"""The energy budget of an equation: changes of its fields, their causes, and the integrals stored with the fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics.mode_sums import ModeSum, summed, summed_by_device
from solver.operators import Fields


@dataclass(frozen=True)
class Changes:
    """Changes of the fields at one moment: coefficients [u/time] by field name.

    Args:
        linear: L u.
        nonlinear: N(u, t), without forcing.
        forcing: forcing of the fields that are forced.
        by_device: True if rates may be arrays `(devices,)` that add up to them (`diagnostics.mode_sums`): devices then
            add up once in a step, and not for each of its evaluations.
    """

    linear: Fields
    nonlinear: Fields
    forcing: Fields
    by_device: bool = False


Budget = Mapping[str, Mapping[str, Array]]  # energy → cause → rate
BUDGET = "budget"  # the entry beside the fields that holds its integrals over time


def rates_of_sums(budget: Mapping[str, Mapping[str, ModeSum]], changes: Changes, dtype: Any) -> Budget:
    """Values of rates that are given as sums over modes, all in one loop; by device if the changes say so."""
    add_up = summed_by_device if changes.by_device else summed
    values = iter(add_up([asked for causes in budget.values() for asked in causes.values()], dtype))
    return {energy: {cause: next(values) for cause in causes} for energy, causes in budget.items()}


def columns(budget: Budget) -> dict[str, Array]:
    """A budget's rates by the name of their column: `energy_from_forcing`."""
    return {f"{energy}_from_{cause}": rate for energy, rates in budget.items() for cause, rate in rates.items()}


def imbalance(energy: str, start: float, now: float, integrals: Mapping[str, Any]) -> float:
    """Part of an energy's change that the causes do not explain, relative to the largest of all these numbers."""
    causes = [float(value) for name, value in integrals.items() if name.startswith(f"{energy}_from_")]
    largest = max(map(abs, [start, now, *causes]))
    return (now - start - sum(causes)) / (largest or 1.0)


def stacked(budget: Mapping[str, Any], shape: Sequence[int] = ()) -> Array:
    """Array of a budget's columns, in the order of their names, for storage with the fields.

    Args:
        budget: numbers or arrays by column.
        shape: shape of a column: `()` for numbers, or `(devices,)` for arrays that add up to them. Numbers among arrays
            belong to the first device.
    """
    rows = [jnp.asarray(budget[name]) for name in sorted(budget)]
    return jnp.stack([row if row.shape == tuple(shape) else _of_first_device(row, *shape) for row in rows])


def _of_first_device(numbers: Array, devices: int) -> Array:
    """Arrays `(…, devices)` that add up to the numbers, which the first device has."""
    return jnp.pad(numbers[..., None], [*[(0, 0)] * numbers.ndim, (0, devices - 1)])


def split_by_device(entries: Any, devices: int) -> Any:
    """Fields or a stepper's history, with each budget in them as arrays `(column, devices)` that add up to it."""
    return _in_budgets(lambda numbers: _of_first_device(numbers, devices), entries)


def added_up(entries: Any) -> Any:
    """Inverse of `split_by_device`. One all-reduce."""
    return _in_budgets(lambda rows: rows.sum(axis=-1), entries)


def _in_budgets(change: Callable[[Array], Array], entries: Any) -> Any:
    is_budget = lambda path: any(getattr(key, "key", None) == BUDGET for key in path)  # noqa: E731
    return jax.tree_util.tree_map_with_path(lambda path, leaf: change(leaf) if is_budget(path) else leaf, entries)


def with_budget(fields: Fields, budget: Mapping[str, Any]) -> Fields:
    """Fields together with the integrals of a budget."""
    return {**fields, BUDGET: stacked(budget)} if budget else fields


def without_budget(fields: Fields) -> Fields:
    """Fields and their companions, without the integrals of a budget."""
    return {name: field for name, field in fields.items() if name != BUDGET}


def split_budget(fields: Fields, like: Mapping[str, Any]) -> tuple[Fields, dict[str, Any]]:
    """Inverse of `with_budget`, with the names of the budget before."""
    integrals = dict(zip(sorted(like), fields[BUDGET], strict=True)) if like else {}
    return without_budget(fields), integrals


def rates_in(history: Any) -> Array | None:
    """The rates of a budget in an earlier step that a stepper's history holds; else None."""
    if not isinstance(history, Mapping):
        return None
    in_entries = [entry if name == BUDGET else rates_in(entry) for name, entry in history.items()]
    return next((rates for rates in in_entries if rates is not None), None)


def shorn(history: Any) -> Any:
    """A stepper's history without the entries of a budget."""
    if not isinstance(history, Mapping):
        return history
    return {name: shorn(entry) for name, entry in history.items() if name != BUDGET}
