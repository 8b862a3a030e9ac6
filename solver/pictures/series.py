"""Scalars against time: a panel per quantity, one per energy's budget, and one for columns that should be zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solver.pictures.style import INK, PAGE, grid_of, hide_rest, in_words, new_figure, style, unit
from solver.pictures.ticks import few_ticks
from solver.pictures.view import View

ROUND_OFF = 1e-12
ERRORS = ("_drift", "_imbalance", "divergence")  # endings of columns that are zero in a perfect run
LEFT_OUT = ("step", "t")
OF_STEPS = ("dt", "cfl")  # 0 in the first row, before any step was taken

Curves = dict[str, np.ndarray]


def series_figure(columns: Mapping[str, np.ndarray], units: Mapping[str, str], view: View) -> Any | None:
    """A figure of all columns that change; None if there are none."""
    quantities, budgets, errors = sorted_columns(columns)
    count = len(quantities) + len(budgets) + bool(errors)
    if not count:
        return None
    t = columns["t"]
    with style(view):
        down, across = grid_of(count)
        figure, panels = new_figure(down, across, (max(PAGE / 3, PAGE / max(across, 2)), 1.9), view)
        remaining = iter(panels)
        for name, values in quantities.items():
            axis = next(remaining)
            axis.plot(t, values)
            axis.set(title=in_words(name), ylabel=unit(units.get(name, "")))
        for energy, parts in budgets.items():
            _budget(next(remaining), t, energy, parts, columns.get(energy), unit(units.get(energy, "")), view)
        if errors:
            _errors(next(remaining), t, errors)
        for axis in panels[:count]:
            axis.set_xlabel("t")
            few_ticks(axis)
            axis.grid(True)
        hide_rest(panels, count)
    return figure


def sorted_columns(columns: Mapping[str, np.ndarray]) -> tuple[Curves, dict[str, Curves], Curves]:
    """Sort columns that change into quantities, contributions to each energy, and errors, which should be zero."""
    quantities: Curves = {}
    budgets: dict[str, Curves] = {}
    errors: Curves = {}
    if len(columns.get("t", ())) < 2:
        return quantities, budgets, errors
    for name, given in columns.items():
        values = of_steps(name, given)
        if name in LEFT_OUT or not _changes(name, values):
            continue
        energy, _, cause = name.partition("_from_")
        if name.endswith(ERRORS):
            errors[name] = values
        elif cause:
            budgets.setdefault(energy, {})[cause] = values
        else:
            quantities[name] = values
    return quantities, budgets, errors


def of_steps(name: str, values: np.ndarray) -> np.ndarray:
    """A column without its first value if that belongs to a step that was not taken."""
    if name not in OF_STEPS or not len(values) or values[0] != 0:
        return values
    return np.concatenate([[np.nan], values[1:]])


def error_sizes(values: np.ndarray) -> np.ndarray:
    """Sizes of errors for a logarithmic axis; NaN for tiny errors, since a start is often exact."""
    size = np.abs(values)
    return np.where(size > 1e-6 * np.median(size[size > 0]), size, np.nan)


def _changes(name: str, values: np.ndarray) -> bool:
    seen = values[np.isfinite(values)]
    small = 0.0 if name.endswith(ERRORS) else ROUND_OFF
    return bool(len(seen) > 1 and np.ptp(seen) > small * np.abs(seen).max())


def _budget(
    axis: Any, t: np.ndarray, energy: str, parts: Curves, held: np.ndarray | None, units: str, view: View
) -> None:
    """Draw the contribution of each cause since the start and the gain of the energy, equal if the budget is closed."""
    for cause, values in parts.items():
        axis.plot(t, values, label=in_words(cause))
    total = np.sum(list(parts.values()), axis=0)
    if len(parts) > 1:
        axis.plot(t, total, color=INK[view.dark], label="sum")
    if held is not None:
        axis.plot(t, held - held[0], ":", color=INK[view.dark], lw=1.6, label="gain")
    axis.set(title=f"{in_words(energy)} budget", ylabel=units)
    axis.legend(loc="best")


def _errors(axis: Any, t: np.ndarray, errors: Curves) -> None:
    for name, values in errors.items():
        size = error_sizes(values)
        seen = np.isfinite(size)
        axis.semilogy(t[seen], size[seen], label=in_words(name))
    axis.set_title("zero in a perfect run")
    axis.legend(loc="best")
