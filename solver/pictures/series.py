"""Scalars against time: a panel per quantity, one per energy's budget, and one for columns that should be zero.

Of an ensemble: mean and band of the members of each combination of swept values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solver.pictures.rounding import ROUND_OFF, rounding_alone, size_of, without_rounding
from solver.pictures.style import (
    INK,
    PAGE,
    View,
    grid_of,
    hide_rest,
    in_words,
    legend_below,
    legend_below_all,
    new_figure,
    style,
    unit,
    wrap_title,
)
from solver.pictures.ticks import few_ticks
from solver.reading.fluctuations import FEWEST_BLOCKS, mean_with_error

ERRORS = ("_drift", "_imbalance", "divergence")  # endings of columns that are zero in a perfect run
ZERO = "zero in a perfect run"
FEW = 8  # points of a curve that are marked
LEFT_OUT = ("step", "t")
HARDLY = 1e-3  # of the largest value: numbers at an axis would need too many digits to tell smaller changes
MEANS = ("nusselt", "reynolds")  # beginnings of columns whose mean over time is of interest
OF_STEPS = ("dt", "cfl")  # 0 in the first row, before any step was taken

Curves = dict[str, np.ndarray]
ALPHA = 0.22
MOST_LABELLED = 8  # curves of a legend

Band = tuple[np.ndarray, np.ndarray, np.ndarray]  # times, mean, standard deviation


def series_figure(columns: Mapping[str, np.ndarray], units: Mapping[str, str], view: View) -> Any | None:
    """A figure of all columns that change; None without such columns."""
    quantities, budgets, errors = sorted_columns(columns, units)
    count = len(quantities) + len(budgets) + bool(errors)
    if not count:
        return None
    t = columns["t"]
    with style(view):
        down, across = grid_of(count)
        width = max(PAGE / 3, PAGE / max(across, 2))
        figure, panels = new_figure(down, across, (width, 2.2), view)
        remaining = iter(panels)
        for name, values in quantities.items():
            axis = next(remaining)
            shown, since = since_start(values)
            axis.plot(t, shown)
            axis.set(title=f"{in_words(name)}{since}", ylabel=unit(units.get(name, "")))
            if name.startswith(MEANS) and not since:
                _running_mean(axis, t, values, view)
            wrap_title(axis, width)
        for energy, parts in budgets.items():
            _budget(next(remaining), t, energy, parts, columns.get(energy), unit(units.get(energy, "")), view)
        if errors:
            _errors(next(remaining), t, errors)
        for axis in panels[:count]:
            axis.set(xlabel="t", xlim=(t[0], t[-1]))
            few_ticks(axis)
            axis.grid(True)
        hide_rest(panels, count)
    return figure


def sorted_columns(
    columns: Mapping[str, np.ndarray], units: Mapping[str, str]
) -> tuple[Curves, dict[str, Curves], Curves]:
    """Sort columns that change into quantities, contributions to each energy, and errors, which should be zero.

    Columns that are rounding alone are left out.

    Args:
        columns: values by name.
        units: units by name. A contribution to an energy has the units of the energy.
    """
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
    noise = rounding_alone({name: columns[name] for name in columns if _is_quantity(name)}, units)
    budgets = {
        energy: without_rounding(parts, size_of(columns[energy]) if energy in columns else 0.0)
        for energy, parts in budgets.items()
        if energy not in noise
    }
    quantities = {name: values for name, values in quantities.items() if name not in noise}
    return quantities, {energy: parts for energy, parts in budgets.items() if parts}, errors


def _is_quantity(name: str) -> bool:
    return name not in LEFT_OUT and not name.endswith(ERRORS) and "_from_" not in name


def of_steps(name: str, values: np.ndarray) -> np.ndarray:
    """A column without its first value if that belongs to a step that was not taken."""
    if name not in OF_STEPS or not len(values) or values[0] != 0:
        return values
    return np.concatenate([[np.nan], values[1:]])


def since_start(values: np.ndarray) -> tuple[np.ndarray, str]:
    """Values for a panel, and the end of its title: the difference from the start where they hardly change."""
    seen = values[np.isfinite(values)]
    if not len(seen) or not 0 < np.ptp(seen) < HARDLY * np.abs(seen).max():
        return values, ""
    start = f"{seen[0]:.6g}".replace("-", "−")
    return values - seen[0], f": difference from the start, {start}"


def running_mean(t: np.ndarray, values: np.ndarray, after: float | None = None) -> tuple[np.ndarray, np.ndarray, str]:
    """Mean over time from a first time up to each time, by trapezia, and the whole mean in words.

    Args:
        t: times of the column.
        values: the column.
        after: first time; half of the last one if None.

    Returns:
        Times, means, and the mean with its standard error (`mean_with_error`) where at least 32 times are left.
    """
    first = t[0] + 0.5 * (t[-1] - t[0]) if after is None else after
    since = (t >= first - 1e-9 * abs(first)) & np.isfinite(values)
    times, column = t[since], values[since]
    if len(times) < 2:
        return times, column, ""
    sums = np.cumsum(np.diff(times) * (column[1:] + column[:-1]) / 2)
    means = np.concatenate([column[:1], sums / (times[1:] - times[0])])
    if len(times) < 2 * FEWEST_BLOCKS:
        return times, means, f"{means[-1]:.4g}"
    mean, error = mean_with_error(times, column)
    return times, means, f"{mean:.4g} ± {error:.1g}"


def error_sizes(values: np.ndarray) -> np.ndarray:
    """Sizes of errors for a logarithmic axis; NaN for tiny errors, since a start is often exact."""
    size = np.abs(values)
    return np.where(size > 1e-6 * np.median(size[size > 0]), size, np.nan)


def _changes(name: str, values: np.ndarray) -> bool:
    seen = values[np.isfinite(values)]
    small = 0.0 if name.endswith(ERRORS) else ROUND_OFF
    return bool(len(seen) > 1 and np.ptp(seen) > small * np.abs(seen).max())


def _running_mean(axis: Any, t: np.ndarray, values: np.ndarray, view: View) -> None:
    times, means, words = running_mean(t, values, view.after)
    if words:
        axis.plot(times, means, "--", color=INK[view.dark], lw=0.9, label=f"mean from t = {times[0]:.3g}: {words}")
        legend_below(axis)


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
    legend_below(axis)


def _errors(axis: Any, t: np.ndarray, errors: Curves) -> None:
    """Draw sizes on a logarithmic axis, marked where they are few."""
    for name, values in errors.items():
        size = error_sizes(values)
        seen = np.isfinite(size)
        mark = "o" if seen.sum() < FEW else None
        axis.semilogy(t[seen], size[seen], marker=mark, ms=2.5, label=f"|{in_words(name)}|")
    axis.set_title(ZERO)
    legend_below(axis)


def ensemble_figure(bands: Mapping[str, Mapping[str, Band]], units: Mapping[str, str], view: View) -> Any | None:
    """A panel for each quantity, with a curve and a band of one standard deviation for each group of members.

    Args:
        bands: by quantity and group.
        units: by quantity.
        view: the colours.

    Returns:
        The figure; None without a quantity.
    """
    if not bands:
        return None
    with style(view):
        down, across = grid_of(len(bands))
        figure, panels = new_figure(down, across, (max(PAGE / 3, PAGE / max(across, 2)), 1.9), view)
        for axis, (name, groups) in zip(panels, bands.items(), strict=False):
            for label, (t, mean, deviation) in groups.items():
                [line] = axis.plot(t, mean, label=label)
                if np.any(deviation > 0):
                    colour = line.get_color()
                    axis.fill_between(t, mean - deviation, mean + deviation, color=colour, alpha=ALPHA, linewidth=0)
            axis.set(title=in_words(name), xlabel="t", ylabel=unit(units.get(name, "")))
            few_ticks(axis)
            axis.grid(True)
        if len(next(iter(bands.values()))) <= MOST_LABELLED:
            legend_below_all(figure, panels[0])
        hide_rest(panels, len(bands))
    return figure
