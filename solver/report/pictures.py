"""Pictures of a page: slices and figures as PNG in base64. Without matplotlib, a page has no pictures."""

from __future__ import annotations

import base64
import io
from typing import Any

from solver.io import RunDirectory, Snapshot, list_snapshots, read_slices, read_snapshot
from solver.pictures import Recorded, View, hovmoeller_figure, records_figure
from solver.pictures.drawn_slices import figure_of, panels_of, plane_of, slice_caption
from solver.pictures.style import style
from solver.pictures.times import chosen_times
from solver.reading.optional import is_installed
from solver.report.html import Html, element, picture

DPI = 110
MOST = 4  # snapshots that are shown


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return is_installed("matplotlib")


def png(figure: Any, view: View, dpi: int = DPI) -> str:
    """A figure as PNG in base64."""
    target = io.BytesIO()
    with style(view):
        figure.savefig(target, format="png", dpi=dpi)
    return base64.b64encode(target.getvalue()).decode()


def slice_pictures(directory: RunDirectory, view: View, most: int = MOST) -> list[Html]:
    """Slices of a few snapshots, including the first and the last; in one dimension a diagram of x and t of all."""
    paths = list_snapshots(directory.snapshots)
    if not paths or not can_draw():
        return []
    first = read_snapshot(paths[0])
    if len(first.axes) == 1 and len(paths) > 1:
        return _against_time([read_snapshot(paths[i]) for i in chosen_times(len(paths), 200)], view)
    return [_slices(read_snapshot(paths[i]), view) for i in reversed(chosen_times(len(paths), most))]


def part_pictures(directory: RunDirectory, view: View, most: int = MOST) -> list[Html]:
    """The planes of the newest file of slices."""
    paths = list_snapshots(directory.slices)
    if not paths or not can_draw():
        return []
    newest = read_slices(paths[-1])
    planes = [part for part in newest.parts() if len(newest.of_part(part).axes) == 2]
    return [_slices(newest.of_part(part), view) for part in planes[:most]]


def mean_field_pictures(directory: RunDirectory, view: View) -> list[Html]:
    """Mean and variance of the fields in the last window."""
    paths = list_snapshots(directory.path / "statistics")
    return [_slices(read_snapshot(paths[-1]), view)] if paths and can_draw() else []


def _slices(snapshot: Snapshot, view: View) -> Html:
    caption = slice_caption(snapshot, plane_of(snapshot, view))
    return picture(png(figure_of(snapshot, view), view), f"slices at {caption}")


def _against_time(snapshots: list[Snapshot], view: View) -> list[Html]:
    import numpy as np

    rows = [panels_of(snapshot, view, plane_of(snapshot, view)) for snapshot in snapshots]
    names = [f"{panel.name} {panel.label}".strip() for panel in rows[0]]
    values = {name: np.stack([row[i].values for row in rows]) for i, name in enumerate(names)}
    units = {name: panel.units for name, panel in zip(names, rows[0], strict=True)}
    side = next(iter(snapshots[0].axes.items()))
    figure = hovmoeller_figure(side, np.array([snapshot.t for snapshot in snapshots]), values, units, view)
    return [] if figure is None else [picture(png(figure, view), "fields against x and t")]


def records_picture(recorded: Recorded, view: View) -> Html:
    """The figure of a file of records."""
    figure = records_figure(recorded, view) if can_draw() else None
    return element("p") if figure is None else picture(png(figure, view), recorded.name)
