"""Slices of fields at one time: an image of each component in the shape of the box, or in 1-D a curve.

The outline of bodies is drawn over the images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from solver.pictures.colours import CYCLE_OF_COLOURS, Colours, colours_of, is_cyclic
from solver.pictures.interpolation import Side, factors, finer_side, on_finer_points
from solver.pictures.style import (
    INK,
    PAGE,
    PAPER,
    View,
    grid_of,
    hide_rest,
    in_words,
    new_figure,
    style,
    unit,
    wrap_title,
)
from solver.pictures.ticks import box_ticks, few_ticks

FLAT, TALL = 0.4, 1.8  # height over width of a box: flatter panels are stacked, taller ones stand four in a row
MAX_HEIGHT = 5.0  # inches of an image
IMAGE = {"origin": "lower", "aspect": "equal", "interpolation": "antialiased"}  # options of every image of a plane
NUMBERS, BAR = 0.5, 0.62  # inches: left of an image for y and its numbers, right of it for a colour bar
WORDS, TITLE = 0.6, 0.22  # inches: above and below each image, and of the title above all
SURFACE = 0.5  # χ at the surface of a body
DOTS = "particles"  # of the dots, by which the next frame of a film finds them
OUTLINE = "outline"  # of the drawn lines, by which the next frame of a film finds them


@dataclass(frozen=True)
class Panel:
    """A picture of a figure of slices.

    Args:
        name: name of the field; panels of one field share their colours.
        label: label of the component, or the time; empty for a scalar.
        values: `(x, y)`, the first axis across; or `(x,)`.
        units: units of the values.
        linear: arrays at the points that have a Fourier series, of which the values are made; the values if empty.
        combine: makes the values of them.
        bodies: χ `(x, y)` of bodies, whose outline is drawn; none if None.
        dots: positions `(direction, particle)` of particles in the plane, by their name.
    """

    name: str
    label: str
    values: np.ndarray
    units: str = ""
    linear: tuple[np.ndarray, ...] = ()
    combine: Callable[..., np.ndarray] | None = None
    bodies: np.ndarray | None = None
    dots: Mapping[str, np.ndarray] = field(default_factory=dict)

    def drawn(self, sides: Sequence[Side]) -> np.ndarray:
        """The values on finer points."""
        if self.combine is None:
            return on_finer_points([self.values], sides, cyclic=is_cyclic(self.name))[0]
        return self.combine(*on_finer_points(self.linear, sides))


def slices_figure(
    panels: Sequence[Panel],
    sides: Sequence[Side],
    title: str,
    view: View,
    colours: dict[str, Colours] | None = None,
) -> Any:
    """A figure with panels side by side. Where all panels of each row are of one field, they share a colour bar.

    Args:
        panels: at least one, all on the same points.
        sides: axes of the values.
        title: title above all panels: time and place.
        view: the style of the figure.
        colours: colours of each field by name, for a film or several times; if None, chosen by the values.
    """
    chosen = colours or colours_for(panels, view)
    with style(view):
        if len(sides) == 1:
            figure, axes = _curves(panels, sides[0], chosen if colours else {}, view)
        else:
            figure, axes = _images(panels, sides, chosen, view)
        hide_rest(axes, len(panels))
        figure.suptitle(title, fontsize=8.5)
    return figure


def colours_for(panels: Sequence[Panel], view: View) -> dict[str, Colours]:
    """Colours of each field, by name, for all its panels."""
    names = dict.fromkeys(panel.name for panel in panels)
    return {
        name: colours_of(name, [panel.values for panel in panels if panel.name == name], dark=view.dark)
        for name in names
    }


def update_slices(figure: Any, panels: Sequence[Panel], sides: Sequence[Side], title: str, view: View) -> None:
    """Put the values of the next frame of a film into a figure with the same panels, made by `slices_figure`."""
    for axis, panel in zip(figure.axes, panels, strict=True):
        if axis.images:
            axis.images[0].set_data(panel.drawn(sides).T)
            if panel.bodies is not None:
                draw_outline(axis, panel.bodies, sides, dark=view.dark)
            draw_dots(axis, panel.dots, dark=view.dark)
        else:
            axis.lines[0].set_ydata(panel.drawn(sides))
    figure.suptitle(title, fontsize=8.5)


def extent(sides: Sequence[Side]) -> list[float]:
    """Edges of an image whose points are the centres of its cells."""
    return [edge for side in sides for edge in (side.points[0] - side.spacing / 2, side.points[-1] + side.spacing / 2)]


def limits(side: Side) -> tuple[float, float]:
    """Ends of an axis: the whole period, or the first and the last point."""
    if side.periodic:
        return float(side.points[0]), float(side.points[0]) + side.length
    if len(side.points) == 1:
        return float(side.points[0]) - 0.5, float(side.points[0]) + 0.5
    return float(side.points[0]), float(side.points[-1])


def _title(panel: Panel) -> str:
    apart = ", " if panel.label.startswith("t = ") else " "
    return f"{in_words(panel.name)}{apart if panel.label else ''}{panel.label}"


def _curves(panels: Sequence[Panel], side: Side, colours: dict[str, Colours], view: View) -> tuple[Any, list[Any]]:
    down, across = grid_of(len(panels), 2)
    figure, axes = new_figure(down, across, (PAGE / 2, 2.2), view)
    fine = finer_side(side, *factors([side]))
    for axis, panel in zip(axes, panels, strict=False):
        axis.plot(fine.points, panel.drawn([side]))
        axis.set(title=_title(panel), xlabel=side.name, ylabel=unit(panel.units), xlim=limits(side))
        few_ticks(axis)
        box_ticks(axis.xaxis, side)
        axis.grid(True)
        if panel.name in colours:
            axis.set_ylim(colours[panel.name].low, colours[panel.name].high)
    return figure, axes


def _images(
    panels: Sequence[Panel], sides: Sequence[Side], colours: dict[str, Colours], view: View
) -> tuple[Any, list[Any]]:
    down, across = _rows_and_columns(len(panels), sides)
    rows = [range(first, min(first + across, len(panels))) for first in range(0, len(panels), across)]
    shared = across > 1 and all(len({panels[i].name for i in row}) == 1 for row in rows)
    figure, axes, image = _axes_for(down, across, sides, view, shared=shared)
    drawn = []
    for number, (axis, panel) in enumerate(zip(axes, panels, strict=False)):
        axis.set_title(_title(panel))
        drawn.append(_image(axis, panel, sides, colours[panel.name]))
        if panel.bodies is not None:
            draw_outline(axis, panel.bodies, sides, dark=view.dark)
        draw_dots(axis, panel.dots, dark=view.dark)
        wrap_title(axis, image if shared else image + BAR)
        if shared and number % across:
            axis.set_ylabel("")
            axis.tick_params(labelleft=False)
    for last in [row[-1] for row in rows] if shared else range(len(panels)):
        _colour_bar(figure, drawn[last], axes[last], panels[last], colours[panels[last].name], image)
    return figure, axes


def _rows_and_columns(count: int, sides: Sequence[Side]) -> tuple[int, int]:
    ratio = sides[1].length / sides[0].length
    return grid_of(count, 1 if ratio < FLAT else 3 if ratio < TALL else 4)


def _axes_for(
    down: int, across: int, sides: Sequence[Side], view: View, *, shared: bool
) -> tuple[Any, list[Any], float]:
    """A figure, its panels, and the width of an image in inches."""
    ratio = sides[1].length / sides[0].length
    beside = NUMBERS + BAR if shared else across * (NUMBERS + BAR)
    gaps = 0.12 * (across - 1)
    image = min((PAGE - beside - gaps) / across, MAX_HEIGHT / ratio)
    figure, axes = new_figure(down, across, (image + (beside + gaps) / across, image * ratio + WORDS), view)
    figure.set_figheight(figure.get_figheight() + TITLE)
    return figure, axes, image


def _image(axis: Any, panel: Panel, sides: Sequence[Side], colours: Colours) -> Any:
    fine = [finer_side(side, factor) for side, factor in zip(sides, factors(sides), strict=True)]
    # matplotlib averages values where it shrinks an image; those of a phase on both sides of its cut have no average
    stage = "rgba" if colours.name == CYCLE_OF_COLOURS else "data"
    image = axis.imshow(
        panel.drawn(sides).T, extent=extent(fine), interpolation_stage=stage, **IMAGE, **colours.options
    )
    axis.set(xlabel=sides[0].name, ylabel=sides[1].name)
    shape_of_box(axis, sides)
    return image


def shape_of_box(axis: Any, sides: Sequence[Side]) -> None:
    """Set the limits and ticks of an image of a plane."""
    axis.set(xlim=limits(sides[0]), ylim=limits(sides[1]))
    width, height = (side.length for side in sides)
    box_ticks(axis.xaxis, sides[0], most=2 if height > TALL * width else 4)
    box_ticks(axis.yaxis, sides[1], most=2 if height < FLAT * width else 4)


def _colour_bar(figure: Any, mappable: Any, axis: Any, panel: Panel, colours: Colours, image: float) -> None:
    """A bar next to an image, as high as the image, whatever room the layout leaves for it."""
    place = axis.inset_axes([1 + 0.06 / image, 0.0, 0.11 / image, 1.0])
    bar = figure.colorbar(mappable, cax=place, extend=colours.extend)
    bar.ax.tick_params(labelsize=6.5)
    bar.outline.set_linewidth(0.5)
    colour_ticks(bar, colours)
    if unit(panel.units):
        bar.set_label(unit(panel.units), fontsize=6.5)


def colour_ticks(bar: Any, colours: Colours) -> None:
    """Set a few numbers at a colour bar; for a phase in multiples of π."""
    from matplotlib.ticker import MaxNLocator

    if colours.name == CYCLE_OF_COLOURS:
        bar.set_ticks([-np.pi, 0, np.pi], labels=["−π", "0", "π"])
    else:
        bar.locator = MaxNLocator(4, symmetric=colours.low == -colours.high, steps=[1, 2, 2.5, 5, 10])
        bar.update_ticks()


def draw_outline(axis: Any, bodies: np.ndarray, sides: Sequence[Side], *, dark: bool) -> None:
    """Draw the lines on which χ is ½ over an image, in the place of those that it has.

    They have the colour of letters and a narrow edge in the colour of the page, and are seen on any colour of a field.

    Args:
        axis: with an image.
        bodies: χ `(x, y)` at the points, the first axis across.
        sides: the axes.
        dark: True if the page is dark.
    """
    from matplotlib.patheffects import withStroke

    for lines in [lines for lines in axis.collections if lines.get_label() == OUTLINE]:
        lines.remove()
    if not bodies.min() < SURFACE < bodies.max():
        return
    x, y = (_closed_points(side) for side in sides)
    closed = np.pad(bodies, [(0, int(side.periodic)) for side in sides], mode="wrap")
    lines = axis.contour(x, y, closed.T, levels=[SURFACE], colors=[INK[dark]], linewidths=0.8)
    lines.set(label=OUTLINE, path_effects=[withStroke(linewidth=1.8, foreground=PAPER[dark])])


def draw_dots(axis: Any, dots: Mapping[str, np.ndarray], *, dark: bool) -> None:
    """Draw particles as dots over an image, in the place of those that it has; with a legend of several names."""
    for line in [line for line in axis.lines if line.get_gid() == DOTS]:
        line.remove()
    for number, (name, (x, y)) in enumerate(dots.items()):
        colour = f"C{number}" if number else INK[dark]
        axis.plot(x, y, ".", ms=1.8, mew=0, color=colour, label=name, gid=DOTS)
    if len(dots) > 1:
        axis.legend(loc="upper right", fontsize=6, markerscale=3)


def _closed_points(side: Side) -> np.ndarray:
    """Coordinates, with the end of the period."""
    return np.append(side.points, side.points[-1] + side.spacing) if side.periodic else side.points
