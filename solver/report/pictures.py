"""Pictures of a page: slices and figures as PNG in base64. Without matplotlib, a page has no pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

from solver.io import RunDirectory, Snapshot, list_snapshots, read_slices, read_snapshot
from solver.pictures import Colours, Recorded, View, records_figure
from solver.pictures.drawn_slices import (
    common_colours,
    figure_against_time,
    figure_of,
    figure_of_times,
    plane_of,
    slice_caption,
)
from solver.pictures.panels import chosen_times
from solver.pictures.style import PAGE, style
from solver.reading.optional import is_installed
from solver.report.html import Html, element, picture

DPI = 150
MOST = 6  # snapshots that are shown


def can_draw() -> bool:
    """True if matplotlib is installed."""
    return is_installed("matplotlib")


def png(figure: Any, view: View, dpi: int = DPI) -> str:
    """A figure as PNG in base64."""
    target = io.BytesIO()
    with style(view):
        figure.savefig(target, format="png", dpi=dpi)
    return base64.b64encode(target.getvalue()).decode()


def _picture(figure: Any, view: View, description: str) -> Html:
    return picture(png(figure, view), description, figure.get_figwidth() / PAGE)


def slice_pictures(
    directory: RunDirectory, view: View, most: int = MOST, colours: dict[str, Colours] | None = None
) -> list[Html]:
    """Slices of a few snapshots, first and last among them, with the same colours; on a line a diagram of x and t.

    A single field is drawn at all these times in one figure. `colours` are the snapshots' colours if it is None.
    """
    paths = list_snapshots(directory.snapshots)
    if not paths or not can_draw():
        return []
    first = read_snapshot(paths[0])
    if len(first.axes) == 1 and len(paths) > 1:
        return _against_time([read_snapshot(paths[i]) for i in chosen_times(len(paths), 200)], view)
    snapshots = [read_snapshot(paths[i]) for i in chosen_times(len(paths), most)]
    several = figure_of_times(snapshots, view) if len(snapshots) > 1 else None
    if several is not None:
        return [_picture(several, view, f"slices from t = {snapshots[0].t:.4g} to {snapshots[-1].t:.4g}")]
    chosen = colours or common_colours(snapshots, view)
    return [_slices(snapshot, view, chosen) for snapshot in snapshots]


def last_colours(directories: Sequence[RunDirectory], view: View) -> dict[str, Colours]:
    """Colours of each field for the last snapshots of several runs; none if they lack what the view chooses."""
    paths = [paths[-1] for directory in directories if (paths := list_snapshots(directory.snapshots))]
    try:
        return common_colours(map(read_snapshot, paths), view) if can_draw() else {}
    except ValueError:
        return {}


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


def _slices(snapshot: Snapshot, view: View, colours: dict[str, Colours] | None = None) -> Html:
    caption = slice_caption(snapshot, plane_of(snapshot, view))
    return _picture(figure_of(snapshot, view, colours), view, f"slices at {caption}")


def _against_time(snapshots: list[Snapshot], view: View) -> list[Html]:
    figure = figure_against_time(snapshots, view)
    return [] if figure is None else [_picture(figure, view, "fields against x and t")]


def records_picture(recorded: Recorded, view: View) -> Html:
    """The figure of a file of records."""
    figure = records_figure(recorded, view) if can_draw() else None
    return element("p") if figure is None else _picture(figure, view, recorded.name)
