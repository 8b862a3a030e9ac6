"""Draws slices of snapshots: chooses files, fields and planes by a view, and reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solver.config import nearest
from solver.io import BODIES, Snapshot, read_snapshot
from solver.pictures import PLANES, Colours, Panel, View, hovmoeller_figure, save, slices_figure

CLOSE = 1e-2  # largest distance of a time from that of a snapshot, over the interval between snapshots

DEFAULT_PLACE = 5  # at one fifth of the axis no sine or cosine of up to four waves vanishes, unlike in the middle


@dataclass(frozen=True)
class Plane:
    """A plane of a snapshot, or all of a snapshot in one or two dimensions.

    Args:
        axes: names of the axes of the plane, in order.
        index: selects the points of the plane; one entry per axis of the snapshot.
        label: the plane in words; empty if the snapshot is drawn whole.
    """

    axes: tuple[str, ...]
    index: tuple[Any, ...]
    label: str


def chosen_snapshots(paths: Sequence[Path], view: View, read: Callable[[Path], Snapshot] = read_snapshot) -> list[Path]:
    """The files of a view's time; all files if the view has no time.

    Raises:
        ValueError: there is no snapshot of this time.
    """
    if view.time is None or not paths:
        return list(paths)
    snapshots = [read(path) for path in paths]
    times, kind = [snapshot.t for snapshot in snapshots], snapshots[0].kind
    apart = min(np.diff(times), default=0.0)
    closest = int(np.argmin(np.abs(np.array(times) - view.time)))
    if abs(times[closest] - view.time) > max(CLOSE * apart, 1e-6 * max(abs(view.time), 1.0)):
        known = ", ".join(f"{t:.6g}" for t in times[:12]) + (", …" if len(times) > 12 else "")
        raise ValueError(f"time {view.time:g}: the {kind} have no such time; they have t = {known}")
    return [paths[closest]]


def plane_of(snapshot: Snapshot, view: View) -> Plane:
    """The plane that a view asks for.

    Raises:
        ValueError: the snapshot has no such plane.
    """
    names = tuple(snapshot.axes)
    whole = tuple(slice(None) for _ in names)
    if len(names) < 3:
        if snapshot.place:  # a slice is a plane or a line already
            return uncut_plane(snapshot)
        if view.plane not in (None, "".join(names)) or view.at is not None:
            asked = f"plane {view.plane!r}" if view.plane not in (None, "".join(names)) else f"at {view.at:g}"
            raise ValueError(f"{asked}: a run in three dimensions is needed; this one has {len(names)}")
        return uncut_plane(snapshot)
    plane = view.plane or "xy"
    normal = PLANES[plane]
    points = snapshot.axes[normal]
    index = len(points) // DEFAULT_PLACE if view.at is None else _nearest_point(points, view.at, normal)
    axis = names.index(normal)
    return Plane(tuple(plane), (*whole[:axis], index, *whole[axis + 1 :]), f"{normal} = {points[index]:.3g}")


def uncut_plane(snapshot: Snapshot) -> Plane:
    """All points of a snapshot that is not cut, or was cut before it was written."""
    return Plane(tuple(snapshot.axes), tuple(slice(None) for _ in snapshot.axes), snapshot.place)


def _nearest_point(points: np.ndarray, at: float, axis: str) -> int:
    apart = points[1] - points[0] if len(points) > 1 else np.inf
    if not points[0] - apart / 2 <= at <= points[-1] + apart:
        raise ValueError(f"at {at:g}: {axis} from {points[0]:g} to {points[-1] + apart:.6g} is needed")
    return int(np.argmin(np.abs(points - at)))


def panels_of(snapshot: Snapshot, view: View, plane: Plane) -> list[Panel]:
    """The components that a view asks for, in its plane; the mask of bodies only if it is asked for, or alone.

    Raises:
        ValueError: an unknown field or component.
    """
    fields = list(snapshot.variables)
    if view.field is not None and view.field not in fields:
        raise ValueError(f"field {view.field!r}: the {snapshot.kind} have no such field{nearest(view.field, fields)}")
    panels = []
    shown = [name for name in fields if name != BODIES] or fields
    for name in shown if view.field is None else [view.field]:
        variable = snapshot.variables[name]
        values = snapshot.values(name, plane.index)
        parts = (
            list(zip(variable.labels, np.moveaxis(values, -1, 0), strict=True)) if variable.labels else [("", values)]
        )
        chosen = [(label, part) for label, part in parts if view.component in (None, label)]
        panels += [Panel(name, label, np.asarray(part), variable.units) for label, part in chosen]
    if not panels:
        labels = [label for name in fields for label in snapshot.variables[name].labels]
        raise ValueError(f"component {view.component!r}: one of {', '.join(dict.fromkeys(labels)) or 'none'} is needed")
    return panels


def bodies_of(snapshot: Snapshot, plane: Plane) -> np.ndarray | None:
    """χ of the bodies in a plane `(x, y)`; None on a line, or where the snapshot does not hold it."""
    if BODIES not in snapshot.variables or len(plane.axes) != 2:
        return None
    return snapshot.values(BODIES, plane.index)


def sides_of(snapshot: Snapshot, plane: Plane) -> list[tuple[str, np.ndarray]]:
    """Name and coordinates [length] of each axis of a plane."""
    return [(name, snapshot.axes[name]) for name in plane.axes]


def figure_of(snapshot: Snapshot, view: View, colours: dict[str, Colours] | None = None) -> Any:
    """A figure of the slices of a snapshot that a view asks for, with the outline of bodies.

    Raises:
        ValueError: the snapshot does not have what the view asks for.
    """
    plane = plane_of(snapshot, view)
    panels, sides, caption = panels_of(snapshot, view, plane), sides_of(snapshot, plane), slice_caption(snapshot, plane)
    return slices_figure(panels, sides, caption, view, colours, bodies_of(snapshot, plane))


def draw_slices(snapshot: Snapshot, folder: Path, view: View, stem: str = "") -> list[Path]:
    """Draw one figure of a snapshot. It has the name of the snapshot's file, unless `stem` is given."""
    return save(figure_of(snapshot, view), folder, stem or snapshot.path.stem, view)


def slice_caption(snapshot: Snapshot, plane: Plane) -> str:
    """Time and place of a slice in words; for a mean field, its averaging window."""
    since = f"{snapshot.window['since']:.4g} – " if "since" in snapshot.window else ""
    return f"t = {since}{snapshot.t:.4g}" + (f", {plane.label}" if plane.label else "")


def draw_against_time(snapshots: Sequence[Snapshot], folder: Path, view: View, stem: str = "snapshots") -> list[Path]:
    """Draw fields on a line as diagrams of x and t."""
    rows = [panels_of(snapshot, view, plane_of(snapshot, view)) for snapshot in snapshots]
    names = [f"{panel.name} {panel.label}".strip() for panel in rows[0]]
    values = {name: np.stack([row[i].values for row in rows]) for i, name in enumerate(names)}
    units = {name: panel.units for name, panel in zip(names, rows[0], strict=True)}
    t = np.array([snapshot.t for snapshot in snapshots])
    title = snapshots[0].place
    figure = hovmoeller_figure(next(iter(snapshots[0].axes.items())), t, values, units, view, title)
    return [] if figure is None else save(figure, folder, stem, view)
