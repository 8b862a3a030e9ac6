"""Slices of fields at one time: an image of each component in the shape of the box, or in 1-D a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.pictures.colours import Colours, colours_of
from solver.pictures.outline import draw_outline
from solver.pictures.style import PAGE, grid_of, hide_rest, in_words, new_figure, style, unit, wrap_title
from solver.pictures.ticks import box_ticks, few_ticks
from solver.pictures.view import View

FLAT, TALL = 0.4, 1.8  # height over width of a box: flatter panels are stacked, taller ones stand four in a row
MAX_HEIGHT = 5.0  # inches of an image
ROOM = 1.0  # inches beside an image for numbers and the colour bar


@dataclass(frozen=True)
class Panel:
    """One picture of a figure of slices.

    Args:
        name: name of the field; panels of one field share their colours.
        label: label of the component; empty for a scalar.
        values: `(x, y)`, the first axis across; or `(x,)`.
        units: of the values.
    """

    name: str
    label: str
    values: np.ndarray
    units: str = ""


def slices_figure(
    panels: Sequence[Panel],
    sides: Sequence[tuple[str, np.ndarray]],
    title: str,
    view: View,
    colours: dict[str, Colours] | None = None,
    bodies: np.ndarray | None = None,
) -> Any:
    """A figure with panels side by side.

    Args:
        panels: at least one, all on the same points.
        sides: name and coordinates [length] of each axis of the values.
        title: title above all panels: time and place.
        view: the style of the figure.
        colours: colours of each field by name, for a film; if None, chosen by the values.
        bodies: χ `(x, y)` of bodies, whose outline is drawn over images; none if None.
    """
    chosen = colours or {
        name: colours_of(name, [p.values for p in panels if p.name == name], dark=view.dark)
        for name in dict.fromkeys(p.name for p in panels)
    }
    with style(view):
        figure, axes, image = _axes_for(len(panels), sides, view)
        for axis, panel in zip(axes, panels, strict=False):
            axis.set_title(f"{in_words(panel.name)} {panel.label}".strip())
            if len(sides) == 1:
                _curve(axis, panel, sides[0])
                if colours:
                    axis.set_ylim(chosen[panel.name].low, chosen[panel.name].high)
            else:
                _image(figure, axis, panel, sides, chosen[panel.name])
                if bodies is not None:
                    draw_outline(axis, bodies, sides, dark=view.dark)
                wrap_title(axis, image)
        hide_rest(axes, len(panels))
        figure.suptitle(title, fontsize=8.5)
    return figure


def update_slices(
    figure: Any,
    panels: Sequence[Panel],
    sides: Sequence[tuple[str, np.ndarray]],
    title: str,
    view: View,
    bodies: np.ndarray | None = None,
) -> None:
    """Put the values of the next frame of a film into a figure with the same panels, made by `slices_figure`."""
    drawn = [axis for axis in figure.axes if axis.images or axis.lines]
    for axis, panel in zip(drawn, panels, strict=True):
        if axis.images:
            axis.images[0].set_data(panel.values.T)
            if bodies is not None:
                draw_outline(axis, bodies, sides, dark=view.dark)
        else:
            axis.lines[0].set_ydata(panel.values)
    figure.suptitle(title, fontsize=8.5)


def _axes_for(count: int, sides: Sequence[tuple[str, np.ndarray]], view: View) -> tuple[Any, list[Any], float]:
    """A figure, its panels, and the width of an image in inches."""
    if len(sides) == 1:
        down, across = grid_of(count, 2)
        return *new_figure(down, across, (PAGE / 2, 2.2), view), PAGE / 2
    ratio = _length(sides[1][1]) / _length(sides[0][1])
    most = 1 if ratio < FLAT else 3 if ratio < TALL else 4
    down, across = grid_of(count, most)
    width = PAGE / across if across > 1 else (PAGE if ratio < FLAT else 3.8)
    room = ROOM if ratio < TALL else 1.3 * ROOM  # narrow images have no room of their own for the numbers of y
    image = min(width - room, MAX_HEIGHT / ratio)
    return *new_figure(down, across, (image + room, image * ratio + 0.55), view), image


def _length(points: np.ndarray) -> float:
    return float(points[-1] - points[0]) * len(points) / max(len(points) - 1, 1) or 1.0


def extent(sides: Sequence[tuple[str, np.ndarray]]) -> list[float]:
    """Edges of an image whose points are the centres of its cells."""
    edges = []
    for _, points in sides:
        half = 0.5 * _length(points) / len(points)
        edges += [float(points[0]) - half, float(points[-1]) + half]
    return edges


def _image(figure: Any, axis: Any, panel: Panel, sides: Sequence[tuple[str, np.ndarray]], colours: Colours) -> None:
    image = axis.imshow(panel.values.T, origin="lower", extent=extent(sides), aspect="equal", **colours.options)
    bar = figure.colorbar(image, ax=axis, extend=colours.extend, pad=0.02, aspect=18)
    bar.ax.tick_params(labelsize=6.5)
    bar.outline.set_linewidth(0.5)
    colour_ticks(bar, colours)
    if unit(panel.units):
        bar.set_label(unit(panel.units), fontsize=6.5)
    axis.set(xlabel=sides[0][0], ylabel=sides[1][0])
    width, height = (_length(points) for _, points in sides)
    box_ticks(axis.xaxis, width, most=2 if height > TALL * width else 4)
    box_ticks(axis.yaxis, height, most=2 if height < FLAT * width else 4)


def colour_ticks(bar: Any, colours: Colours) -> None:
    """Set a few numbers at a colour bar; for a phase in multiples of π."""
    from matplotlib.ticker import MaxNLocator

    if colours.name == "twilight":
        bar.set_ticks([-np.pi, 0, np.pi], labels=["−π", "0", "π"])
    else:
        bar.locator = MaxNLocator(4, symmetric=colours.low == -colours.high, steps=[1, 2, 2.5, 5, 10])
        bar.update_ticks()


def _curve(axis: Any, panel: Panel, side: tuple[str, np.ndarray]) -> None:
    axis.plot(side[1], panel.values)
    axis.set(xlabel=side[0], ylabel=unit(panel.units), xlim=(side[1][0], side[1][-1]))
    few_ticks(axis)
    box_ticks(axis.xaxis, _length(side[1]))
    axis.grid(True)
