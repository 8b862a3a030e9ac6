"""Draws slices: planes and boxes as images, lines as curves and diagrams of x and t, points as curves against time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from solver.io import Column, RecordsLayout, Snapshot, read_slices
from solver.pictures.drawn_slices import (
    chosen_snapshots,
    draw_against_time,
    draw_slices,
    draw_snapshots,
    panels_of,
    uncut_plane,
)
from solver.pictures.panels import chosen_times
from solver.pictures.recorded import Recorded
from solver.pictures.records import records_figure
from solver.pictures.style import PLANES, View, save

MAX_TIMES = 6  # of a plane, if the view names no time
MAX_ROWS = 400  # times in a diagram of x and t


def draw_parts(paths: Sequence[Path], folder: Path, view: View) -> list[Path]:
    """Draw figures slices-PART….png: one for each time of a plane, one for each line and each point.

    Args:
        paths: files of slices, at least one.
        folder: an existing folder for the figures.
        view: chooses fields, parts and time.

    Raises:
        ValueError: the slices lack what the view chooses.
    """
    paths = chosen_snapshots(paths, view, read_slices)
    files = [read_slices(paths[i]) for i in chosen_times(len(paths), MAX_ROWS)]
    by_part: dict[str, list[Snapshot]] = {}  # a run that was resumed may have written other parts since
    for slices in files:
        for part in slices.parts():
            by_part.setdefault(part, []).append(slices.of_part(part))
    parts = dict.fromkeys(part for slices in _of_each_kind(files) for part in chosen_parts(slices, view))
    return [path for part in parts for path in _draw_part(by_part[part], folder, view, f"slices-{part}")]


def _of_each_kind(files: Sequence[Snapshot]) -> list[Snapshot]:
    """The first file of each set of parts."""
    kinds: dict[tuple[str, ...], Snapshot] = {}
    for slices in files:
        kinds.setdefault(tuple(slices.parts()), slices)
    return list(kinds.values())


def _draw_part(rows: Sequence[Snapshot], folder: Path, view: View, stem: str) -> list[Path]:
    """Draw one part at its times."""
    if len(rows[0].axes) > 1:
        shown = [rows[i] for i in chosen_times(len(rows), MAX_TIMES)]
        return draw_snapshots(shown, folder, view, f"{stem}-")
    if not rows[0].axes:
        return _draw_points(rows, folder, view, stem)
    if len(rows) > 1:
        return draw_against_time(rows, folder, view, stem)
    return draw_slices(rows[0], folder, view, f"{stem}-{rows[0].path.stem}")


def chosen_parts(slices: Snapshot, view: View) -> list[str]:
    """Names of the parts that a view chooses: all parts, or the planes that it names.

    Raises:
        ValueError: there is no such plane.
    """
    if view.plane is None and view.at is None:
        return slices.parts()
    plane = view.plane or "xy"
    heights = {part: _height(slices.of_part(part), plane) for part in slices.parts()}
    places = {part: height for part, height in heights.items() if height is not None}
    if not places:
        raise ValueError(f"plane {plane!r}: the slices lack it; they have {', '.join(slices.parts())}")
    if view.at is None:
        return list(places)
    apart = {part: abs(height - view.at) for part, height in places.items()}
    least = min(apart.values())
    spacing = max(np.ptp(points) / max(len(points) - 1, 1) for points in slices.axes.values())
    if least > spacing:
        known = ", ".join(f"{height:.6g}" for height in sorted(places.values()))
        raise ValueError(f"at {view.at:g}: no slice lies there; there are some at {PLANES[plane]} = {known}")
    return [part for part in places if apart[part] == least]


def _height(part: Snapshot, plane: str) -> float | None:
    """Position of a part on the axis normal to `plane`; None if it is not parallel to this plane."""
    at = next(iter(part.variables.values())).at
    return at.get(PLANES[plane]) if "".join(part.axes) == plane else None


def film_part(slices: Snapshot, view: View) -> str:
    """The part that a film shows: the first plane that the view chooses, else the first line.

    Raises:
        ValueError: the slices have neither, or lack what the view chooses.
    """
    parts = {part: len(slices.of_part(part).axes) for part in chosen_parts(slices, view)}
    best = [part for sides in (2, 3, 1) for part, has in parts.items() if has == sides]
    if not best:
        raise ValueError(f"the slices hold no plane and no line; they have {', '.join(parts) or 'none'}")
    return best[0]


def reader_of(part: str) -> Callable[[Path], Snapshot]:
    """A function that reads one part of a file of slices."""
    return lambda path: read_slices(path).of_part(part)


def _draw_points(rows: Sequence[Snapshot], folder: Path, view: View, stem: str) -> list[Path]:
    panels = [panels_of(row, view, uncut_plane(row)) for row in rows]
    names = [f"{panel.name} {panel.label}".strip() for panel in panels[0]]
    layout = RecordsLayout({}, {name: Column((), panel.units) for name, panel in zip(names, panels[0], strict=True)})
    values = {name: np.array([float(row[i].values) for row in panels]) for i, name in enumerate(names)}
    recorded = Recorded(stem, np.array([row.t for row in rows]), layout, values)
    figure = records_figure(recorded, view, rows[0].place)
    return [] if figure is None else save(figure, folder, stem, view)
