"""A figure of any file of records, with panels chosen by the axes of its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from solver.pictures.against_time import LISTED, TimePanel, number_tables, time_panels
from solver.pictures.colours import Colours, colours_of
from solver.pictures.hovmoeller import curves_at_times, diagram
from solver.pictures.interpolation import Side, factors, finer_side, on_finer_points
from solver.pictures.panels import MakePanel, chosen_times, draw_band, draw_windows, time_colours
from solver.pictures.particles import lag_panels
from solver.pictures.plane_panels import height_panels, plane_panels
from solver.pictures.profiles import pdf_panel, profile_panel, structure_panel
from solver.pictures.recorded import Recorded
from solver.pictures.rounding import ROUND_OFF
from solver.pictures.series import since_start
from solver.pictures.slices import IMAGE, extent, shape_of_box
from solver.pictures.spectra import (
    DEEP,
    ENDINGS,
    compensated_panel,
    flux_panels,
    has_both_signs,
    loglog_at_times,
    mark_k_max,
    power_of_k,
)
from solver.pictures.style import (
    PAGE,
    View,
    grid_of,
    hide_rest,
    legend_below,
    new_figure,
    style,
    unit,
    with_unit,
    wrap_title,
)
from solver.pictures.ticks import few_ticks

MAX_PANELS = 12
SPACE = ("x", "y", "z")
DEVIATIONS = ("deviation", "log10_of_mean")


def records_figure(recorded: Recorded, view: View, title: str = "") -> Any | None:
    """A figure of a file's columns: at most twelve panels, arrays before numbers; None if there is nothing to draw.

    Args:
        recorded: the rows.
        view: the style of the figure, and published profiles.
        title: title above all panels.

    Raises:
        ValueError: a published profile that the run does not have.
    """
    panels = panels_of(recorded, view)[:MAX_PANELS]
    return panels_figure(panels, view, title) if panels else None


def panels_figure(panels: Sequence[MakePanel], view: View, title: str = "") -> Any:
    """A figure of panels.

    Args:
        panels: functions that draw the panels, at least one.
        view: the style of the figure.
        title: title above all panels.
    """
    with style(view):
        down, across = grid_of(len(panels), 3 if len(panels) > 4 else 2)
        width = PAGE / across if across > 1 else 4.0
        figure, axes = new_figure(down, across, (width, 2.7), view)
        for make, axis in zip(panels, axes, strict=False):
            make(figure, axis, view)
            wrap_title(axis, width)
        hide_rest(axes, len(panels))
        if title:
            figure.suptitle(title, fontsize=8.5)
    return figure


def panels_of(recorded: Recorded, view: View) -> list[MakePanel]:
    """The functions that draw the panels."""
    if own := plane_panels(recorded, view) or height_panels(recorded) or lag_panels(recorded):
        return own
    fluxes = flux_panels(recorded)
    drawn = [name for name in array_columns(recorded) if not (fluxes and name.endswith(ENDINGS))]
    arrays = [panel for name in drawn for panel in (_array(recorded, name), _compensated(recorded, name)) if panel]
    if recorded.spread and len(recorded.t) == 1:
        return [*arrays, *fluxes, *number_tables(recorded)]
    return [*arrays, *fluxes, *(_against_time(recorded, panel) for panel in time_panels(recorded))]


def array_columns(recorded: Recorded) -> list[str]:
    """Columns with axes that get a panel: no counts of points, no round-off compared with columns of the same units.

    Images come first. Quadrature spectra, which no sum needs, come after all others.
    """
    sizes = {
        name: float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
        for name, values in recorded.values.items()
        if recorded.axes_of(name) and name != "count"
    }
    like = lambda name: max(size for other, size in sizes.items() if recorded.units(other) == recorded.units(name))  # noqa: E731
    names = [name for name, size in sizes.items() if size > ROUND_OFF * like(name)]
    return sorted(names, key=lambda name: (name.endswith("_imaginary"), -len(recorded.axes_of(name))))


def _array(recorded: Recorded, column: str) -> MakePanel | None:
    axes = recorded.axes_of(column)
    if "order" in axes and len(axes) == 2:
        return structure_panel(recorded, column)
    if len(axes) == 1 and axes[0] in LISTED and not recorded.spread and len(recorded.t) > 1:
        return None  # curves against time
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


def _against_time(recorded: Recorded, panel: TimePanel) -> MakePanel:
    def make(figure: Any, axis: Any, view: View) -> None:
        since = ""
        for number, (label, values) in enumerate(panel.curves.items()):
            if recorded.spread:
                draw_windows(axis, recorded, panel.columns[label], f"C{number}", label)
                continue
            shown, since = since_start(values) if len(panel.curves) == 1 else (values, "")
            axis.plot(recorded.t, shown, "." if panel.of_places else "-", ms=3, label=label)
        axis.set(title=f"{panel.title}{since}", xlabel="t", ylabel=unit(panel.units))
        if not recorded.spread and len(recorded.t) > 1:
            axis.set_xlim(recorded.t[0], recorded.t[-1])
        few_ticks(axis)
        axis.grid(True)
        if len(panel.curves) > 1:
            legend_below(axis)

    return make


def _against_k(recorded: Recorded, column: str) -> MakePanel:
    """A log-log panel; with a linear y axis if values have both signs."""
    name = recorded.axes_of(column)[0]
    k, values = recorded.axis(name), recorded.values[column]

    def make(figure: Any, axis: Any, view: View) -> None:
        axis.set(title=recorded.title(column), xlabel=recorded.label(name), ylabel=unit(recorded.units(column)))
        if np.nanmin(values) >= 0 and np.nanmax(values) > 0:
            k_max = recorded.k_max if name == "k" else None
            loglog_at_times(axis, k, recorded.t, values, view, lowest=DEEP, labels=recorded.times, k_max=k_max)
            shown = (k > 0) & (values[-1] > 0)
            colour = time_colours(len(chosen_times(len(values))), view.dark)[-1]
            draw_band(axis, k[shown], recorded, column, colour, shown)
            return
        _lines(axis, k, recorded, column, view, k > 0)
        axis.set_xscale("log")
        mark_k_max(axis, k, recorded.k_max if name == "k" else None, view)
        axis.axhline(0, lw=0.6, color="0.5")
        few_ticks(axis)

    return make


def _compensated(recorded: Recorded, column: str) -> MakePanel | None:
    """A panel of k^p times a spectrum that is expected to fall as k^−p; None for any other column."""
    axes, power, values = recorded.axes_of(column), recorded.layout.columns[column].power_law, recorded.values[column]
    if axes != ("k",) or power is None or has_both_signs(values):
        return None
    k = recorded.axis("k")

    def make(figure: Any, axis: Any, view: View) -> None:
        compensated_panel(axis, k, recorded.t, values, view, power, labels=recorded.times, k_max=recorded.k_max)
        axis.set(title=f"{power_of_k(power)} × {recorded.title(column)}", xlabel=recorded.label("k"))

    return make


def _against_space(recorded: Recorded, column: str) -> MakePanel:
    """A Hovmöller diagram; curves if there is only one time."""
    name = recorded.axes_of(column)[0]
    side, values = Side(name, recorded.axis(name)), recorded.values[column]

    def make(figure: Any, axis: Any, view: View) -> None:
        if len(recorded.t) > 1 and not recorded.spread:
            diagram(figure, axis, side, recorded.t, column, values, recorded.units(column), view)
        else:
            curves_at_times(axis, side, recorded.t, values, view, column, recorded.times)
            draw_band(axis, side.points, recorded, column, axis.lines[-1].get_color())
            axis.set(title=recorded.title(column), ylabel=unit(recorded.units(column)))

    return make


def _against_axis(recorded: Recorded, column: str) -> MakePanel:
    name = recorded.axes_of(column)[0]

    def make(figure: Any, axis: Any, view: View) -> None:
        if name in LISTED:
            _marks(axis, recorded, column)
        else:
            _lines(axis, recorded.axis(name), recorded, column, view)
        axis.set(title=recorded.title(column), xlabel=recorded.label(name), ylabel=unit(recorded.units(column)))
        few_ticks(axis)

    return make


def _lines(axis: Any, x: np.ndarray, recorded: Recorded, column: str, view: View, seen: Any = slice(None)) -> None:
    rows, values = chosen_times(len(recorded.t)), recorded.values[column]
    for i, colour in zip(rows, time_colours(len(rows), view.dark), strict=True):
        width = 1.6 if i == rows[-1] else 0.9
        axis.plot(x[seen], values[i][seen], color=colour, lw=width, label=recorded.times[i])
    draw_band(axis, x[seen], recorded, column, colour, seen)
    axis.grid(True)
    legend_below(axis)


def _marks(axis: Any, recorded: Recorded, column: str) -> None:
    """Draw modes or places of the last row as points, with the spread of a mean as error bars."""
    name = recorded.axes_of(column)[0]
    spread = recorded.spread.get(column)
    width = None if spread is None else spread[-1]
    axis.errorbar(recorded.axis(name), recorded.values[column][-1], width, fmt="o", ms=3, label=recorded.times[-1])
    axis.set_xlim(-0.5, len(recorded.axis(name)) - 0.5)
    legend_below(axis)
    axis.grid(True)


def _plane(axis: Any, recorded: Recorded, column: str, view: View) -> tuple[Any, Colours]:
    """Draw an image in the shape of the box, at the last time."""
    values, names = recorded.values[column][-1], recorded.axes_of(column)
    colours = colours_of(column, [values], dark=view.dark)
    sides = [Side(name, recorded.axis(name)) for name in names]
    fine = [finer_side(side, factor) for side, factor in zip(sides, factors(sides), strict=True)]
    image = axis.imshow(on_finer_points([values], sides)[0].T, extent=extent(fine), **IMAGE, **colours.options)
    shape_of_box(axis, sides)
    return image, colours


def _two_axes(recorded: Recorded, column: str) -> MakePanel:
    """An image at the last time, logarithmic if positive values of a column on these axes span decades."""
    names = recorded.axes_of(column)
    decades = any(_spans_decades(recorded.values[other][-1]) for other in _alike(recorded, column))

    def make(figure: Any, axis: Any, view: View) -> None:
        from matplotlib.colors import LogNorm

        values = recorded.values[column][-1]
        if set(names) <= set(SPACE):
            image, colours = _plane(axis, recorded, column, view)
            beside = axis.inset_axes((1.03, 0.0, 0.05, 1.0))  # as high as the image, which has the shape of the box
            bar = figure.colorbar(image, cax=beside, extend=colours.extend)
            bar.ax.tick_params(labelsize=6.5)
            title = with_unit(recorded.title(column), recorded.units(column))
            axis.set(title=f"{title}, {recorded.times[-1]}", xlabel=names[0], ylabel=names[1])
            return
        positive = values[values > 0]
        if decades and values.min() >= 0 and positive.size:
            low = max(positive.min(), 1e-8 * positive.max())
            options: dict[str, Any] = {"norm": LogNorm(low, positive.max()), "cmap": "viridis"}
        else:
            options = colours_of(column, [values], dark=view.dark).options
        x, y = recorded.axis(names[0]), recorded.axis(names[1])
        image = axis.pcolormesh(x, y, values.T, shading="nearest", rasterized=True, **options)
        figure.colorbar(image, ax=axis, pad=0.02, aspect=18).ax.tick_params(labelsize=6.5)
        title = f"{recorded.title(column)}, {recorded.times[-1]}"
        axis.set(title=title, xlabel=recorded.label(names[0]), ylabel=recorded.label(names[1]))
        few_ticks(axis)

    return make


def _alike(recorded: Recorded, column: str) -> list[str]:
    """Columns with the axes of this one: their images are compared, and so have one kind of scale."""
    return [other for other in recorded.values if recorded.axes_of(other) == recorded.axes_of(column)]


def _spans_decades(values: np.ndarray) -> bool:
    positive = values[values > 0]
    return bool(values.min() >= 0 and positive.size and positive.max() > 1e3 * np.median(positive))
