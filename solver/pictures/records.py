"""A figure of any file of records: panels chosen by the axes that its columns have, some files by their name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from solver.pictures.fluxes import flux_panels
from solver.pictures.hovmoeller import curves_at_times, diagram
from solver.pictures.panels import MakePanel
from solver.pictures.pdfs import pdf_panel
from solver.pictures.profiles import profile_panel
from solver.pictures.recorded import Recorded
from solver.pictures.spectra import loglog_at_times
from solver.pictures.structure import structure_panel
from solver.pictures.style import PAGE, grid_of, hide_rest, in_words, new_figure, style, unit
from solver.pictures.ticks import few_ticks
from solver.pictures.times import chosen_times, time_colours, times_legend
from solver.pictures.view import View

MOST_PANELS = 12
SPACE = ("x", "y", "z")
DEVIATIONS = ("deviation", "log10_of_mean")


def records_figure(recorded: Recorded, view: View) -> Any | None:
    """A figure of a file's columns, the first twelve of them; None where there is nothing to draw."""
    panels = _panels(recorded)[:MOST_PANELS]
    if not panels:
        return None
    with style(view):
        down, across = grid_of(len(panels), 3 if len(panels) > 4 else 2)
        width = PAGE / across if across > 1 else 4.0
        figure, axes = new_figure(down, across, (width, 2.5), view)
        for make, axis in zip(panels, axes, strict=False):
            make(figure, axis, view)
        hide_rest(axes, len(panels))
    return figure


def _panels(recorded: Recorded) -> list[MakePanel]:
    """What draws each panel."""
    if recorded.name == "transfer" and (fluxes := flux_panels(recorded)):
        return fluxes
    drawn = [name for name in recorded.values if np.isfinite(recorded.values[name]).any()]
    return [found for name in drawn if (found := _panel(recorded, name)) is not None]


def _panel(recorded: Recorded, column: str) -> MakePanel | None:
    axes = recorded.axes_of(column)
    if not axes:
        return _against_time(recorded, column) if len(recorded.t) > 1 else None
    if "order" in axes and len(axes) == 2:
        return structure_panel(recorded, column)
    if len(axes) == 1:
        return _one_axis(axes[0])(recorded, column)
    return _two_axes(recorded, column) if len(axes) == 2 else None


def _one_axis(axis: str) -> Callable[[Recorded, str], MakePanel]:
    if axis in SPACE:
        return _against_space
    if axis in DEVIATIONS:
        return pdf_panel
    if axis.startswith("k"):
        return _against_k
    return profile_panel if axis == "r" else _against_axis


def _against_time(recorded: Recorded, column: str) -> MakePanel:
    def make(figure: Any, axis: Any, view: View) -> None:
        axis.plot(recorded.t, recorded.values[column])
        axis.set(title=in_words(column), xlabel="t", ylabel=unit(recorded.units(column)))
        few_ticks(axis)
        axis.grid(True)

    return make


def _against_k(recorded: Recorded, column: str) -> MakePanel:
    """Log-log; half-logarithmic where values have both signs."""
    name = recorded.axes_of(column)[0]
    k, values = recorded.axis(name), recorded.values[column]

    def make(figure: Any, axis: Any, view: View) -> None:
        axis.set(title=in_words(column), xlabel=recorded.label(name), ylabel=unit(recorded.units(column)))
        if np.nanmin(values) >= 0 and np.nanmax(values) > 0:
            loglog_at_times(axis, k, recorded.t, values, view)
            return
        _lines(axis, k[k > 0], recorded.t, values[:, k > 0], view)
        axis.set_xscale("log")
        axis.axhline(0, lw=0.6, color="0.5")
        few_ticks(axis)

    return make


def _against_space(recorded: Recorded, column: str) -> MakePanel:
    """A Hovmöller diagram; curves where there is one time alone."""
    name = recorded.axes_of(column)[0]
    side, values = (name, recorded.axis(name)), recorded.values[column]

    def make(figure: Any, axis: Any, view: View) -> None:
        if len(recorded.t) > 1:
            diagram(figure, axis, side, recorded.t, column, values, recorded.units(column), view)
        else:
            curves_at_times(axis, side, recorded.t, values, view)
            axis.set_title(in_words(column))

    return make


def _against_axis(recorded: Recorded, column: str) -> MakePanel:
    name = recorded.axes_of(column)[0]

    def make(figure: Any, axis: Any, view: View) -> None:
        _lines(axis, recorded.axis(name), recorded.t, recorded.values[column], view)
        axis.set(title=in_words(column), xlabel=recorded.label(name), ylabel=unit(recorded.units(column)))
        few_ticks(axis)

    return make


def _lines(axis: Any, x: np.ndarray, t: np.ndarray, values: np.ndarray, view: View) -> None:
    rows = chosen_times(len(t))
    for i, colour in zip(rows, time_colours(len(rows), view.dark), strict=True):
        axis.plot(x, values[i], color=colour, lw=1.6 if i == rows[-1] else 0.9, label=f"t = {t[i]:.3g}")
    axis.grid(True)
    times_legend(axis)


def _two_axes(recorded: Recorded, column: str) -> MakePanel:
    """An image at the last time, logarithmic where positive values span decades."""
    names = recorded.axes_of(column)

    def make(figure: Any, axis: Any, view: View) -> None:
        from matplotlib.colors import LogNorm

        from solver.pictures.colours import colours_of

        values = recorded.values[column][-1]
        positive = values[values > 0]
        if values.min() >= 0 and positive.size and positive.max() > 1e3 * np.median(positive):
            low = max(positive.min(), 1e-8 * positive.max())
            options: dict[str, Any] = {"norm": LogNorm(low, positive.max()), "cmap": "viridis"}
        else:
            options = colours_of(column, [values], dark=view.dark).options
        x, y = recorded.axis(names[0]), recorded.axis(names[1])
        image = axis.pcolormesh(x, y, values.T, shading="nearest", rasterized=True, **options)
        figure.colorbar(image, ax=axis, pad=0.02, aspect=18).ax.tick_params(labelsize=6.5)
        told = f"{in_words(column)}, t = {recorded.t[-1]:.3g}"
        axis.set(title=told, xlabel=recorded.label(names[0]), ylabel=recorded.label(names[1]))
        few_ticks(axis)

    return make
