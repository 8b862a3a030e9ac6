"""Hovmöller diagrams: a quantity on one axis of space against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from solver.pictures.colours import colours_of, is_cyclic
from solver.pictures.interpolation import Side, factors, finer_side
from solver.pictures.panels import chosen_times, time_colours
from solver.pictures.slices import colour_ticks, limits
from solver.pictures.style import PAGE, View, in_words, legend_below, new_figure, style, unit
from solver.pictures.ticks import box_ticks, few_ticks


def hovmoeller_figure(
    side: Side,
    t: np.ndarray,
    quantities: Mapping[str, np.ndarray],
    units: Mapping[str, str],
    view: View,
    title: str = "",
) -> Any | None:
    """For each quantity `(t, x)` a diagram with time upwards, and next to it curves at a few times.

    Args:
        side: the axis of space; x are its points, or the finer ones of `finer_side`.
        t: times.
        quantities, units: by name.
        view: the style of the figure.
        title: title above all panels.
    """
    if len(t) < 2 or not quantities:
        return None
    with style(view):
        figure, panels = new_figure(len(quantities), 2, (PAGE / 2, 2.5), view)
        for row, (name, values) in enumerate(quantities.items()):
            left, right = panels[2 * row : 2 * row + 2]
            diagram(figure, left, side, t, name, values, units.get(name, ""), view)
            curves_at_times(right, side, t, values, view, name)
            right.set(ylabel=unit(units.get(name, "")), title=in_words(name))
        if title:
            figure.suptitle(title, fontsize=8.5)
    return figure


def diagram(
    figure: Any, axis: Any, side: Side, t: np.ndarray, name: str, values: np.ndarray, units: str,
    view: View,
) -> None:  # fmt: skip
    """Draw colours over (x, t); times need not be equally spaced."""
    colours = colours_of(name, [values], dark=view.dark)
    image = axis.pcolormesh(points_of(side, values), t, values, shading="nearest", rasterized=True, **colours.options)
    bar = figure.colorbar(image, ax=axis, extend=colours.extend, pad=0.02, aspect=18)
    bar.ax.tick_params(labelsize=6.5)
    colour_ticks(bar, colours)
    if unit(units):
        bar.set_label(unit(units), fontsize=6.5)
    axis.set(title=in_words(name), xlabel=side.name, ylabel="t", xlim=limits(side))
    few_ticks(axis)
    box_ticks(axis.xaxis, side)


def curves_at_times(
    axis: Any, side: Side, t: np.ndarray, values: np.ndarray, view: View,
    name: str, labels: Sequence[str] = (),
) -> None:  # fmt: skip
    """Draw values along the axis at a few times."""
    rows = chosen_times(len(t), 5)
    if is_cyclic(name):  # no lines across the cut
        values = np.where(np.abs(np.diff(values, axis=-1, append=values[..., -1:])) > np.pi, np.nan, values)
    for i, colour in zip(rows, time_colours(len(rows), view.dark), strict=True):
        axis.plot(
            points_of(side, values), values[i], color=colour, lw=1.0, label=labels[i] if labels else f"t = {t[i]:.3g}"
        )
    axis.set(xlabel=side.name, xlim=limits(side))
    few_ticks(axis)
    box_ticks(axis.xaxis, side)
    axis.grid(True)
    legend_below(axis)


def points_of(side: Side, values: np.ndarray) -> np.ndarray:
    """The points of the last axis of `values`: the points of the side, or the finer ones."""
    if values.shape[-1] == len(side.points):
        return side.points
    return finer_side(side, *factors([side])).points
