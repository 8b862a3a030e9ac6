"""Draws slices of snapshots: chooses files, fields and planes by a view, and reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from solver.config import nearest
from solver.io import BODIES, Snapshot, read_snapshot
from solver.pictures.colours import Colours, colours_of
from solver.pictures.derived_fields import SHORT, Cut, DerivedField, derived_fields, shown_fields
from solver.pictures.hovmoeller import hovmoeller_figure
from solver.pictures.interpolation import Side
from solver.pictures.particles import dots_in
from solver.pictures.run_file import parameter, run_table
from solver.pictures.slices import Panel, slices_figure
from solver.pictures.style import PLANES, View, save

CLOSE = 1e-2  # largest distance of a time from that of a snapshot, over the interval between snapshots

SAMPLE = 10_000  # values of each file and panel from which colours are chosen
STRATIFIED = ("buoyancy", "temperature")  # fields that act along z: what they do is seen in a vertical plane
DEFAULT_PLACE = 5  # at one fifth of the axis no sine or cosine of up to four waves vanishes, unlike in the middle


@dataclass(frozen=True)
class Plane:
    """A plane of a snapshot, or all of a snapshot in one or two dimensions.

    Args:
        axes: names of the axes of the plane, in order.
        index: selects the points of the plane; one entry per axis of the snapshot.
        label: the plane in words; empty if the snapshot is drawn whole.
        at: its place on the third axis; None if the snapshot is drawn whole.
    """

    axes: tuple[str, ...]
    index: tuple[Any, ...]
    label: str
    at: float | None = None


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
    """The plane that a view chooses.

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
    plane = view.plane or suiting_plane(snapshot)
    normal = PLANES[plane]
    points = snapshot.axes[normal]
    index = len(points) // DEFAULT_PLACE if view.at is None else _nearest_point(points, view.at, normal)
    axis = names.index(normal)
    selected, at = (*whole[:axis], index, *whole[axis + 1 :]), float(points[index])
    return Plane(tuple(plane), selected, f"{normal} = {at:.3g}", at)


def suiting_plane(snapshot: Snapshot) -> str:
    """The plane that is drawn in three dimensions if none is named: across an axis of one point; xz of
    stratified or rotating flow and between walls, or xy."""
    flat = [plane for plane, normal in PLANES.items() if len(snapshot.axes[normal]) == 1]
    if flat:
        return flat[0]
    upright = any(name in snapshot.variables for name in STRATIFIED) or "z" in snapshot.bounded
    return "xz" if upright or parameter(run_table(snapshot.path), "rotation") else "xy"


def uncut_plane(snapshot: Snapshot) -> Plane:
    """All points of a snapshot that is not cut, or was cut before it was written."""
    return Plane(tuple(snapshot.axes), tuple(slice(None) for _ in snapshot.axes), snapshot.place)


def _nearest_point(points: np.ndarray, at: float, axis: str) -> int:
    apart = points[1] - points[0] if len(points) > 1 else np.inf
    if not points[0] - apart / 2 <= at <= points[-1] + apart:
        raise ValueError(f"at {at:g}: {axis} from {points[0]:g} to {points[-1] + apart:.6g} is needed")
    return int(np.argmin(np.abs(points - at)))


def panels_of(snapshot: Snapshot, view: View, plane: Plane) -> list[Panel]:
    """The components that a view chooses, in its plane; the mask of bodies only if it is chosen, or alone.

    Raises:
        ValueError: an unknown field or component.
    """
    derived = derived_fields(snapshot)
    fields = [*snapshot.variables, *derived]
    field = SHORT.get(view.field, view.field) if view.field is not None and view.field not in fields else view.field
    if field is not None and field not in fields:
        raise ValueError(f"field {field!r}: the {snapshot.kind} have no such field{_known(field, snapshot, derived)}")
    panels: list[Panel] = []
    dots = dots_in(snapshot, plane.axes, plane.at) if view.particles else {}
    labels: dict[str, None] = {}
    bodies = bodies_of(snapshot, plane)
    for name in shown_fields(snapshot) if field is None else [field]:
        made = _derived_panels(snapshot, name, derived[name], plane) if name in derived else None
        these = made if made is not None else _stored_panels(snapshot, name, plane)
        labels |= dict.fromkeys(panel.label for panel in these if panel.label)
        panels += [replace(panel, bodies=bodies, dots=dots) for panel in these if view.component in (None, panel.label)]
    if not panels:
        if not labels:
            raise ValueError(f"component {view.component!r} of a scalar, which has no components: leave it out")
        raise ValueError(f"component {view.component!r}: one of {', '.join(labels)} is needed")
    return panels


def _known(field: str, snapshot: Snapshot, derived: Mapping[str, DerivedField]) -> str:
    """The end of a message about a missing field: the known ones."""
    close = nearest(field, [*snapshot.variables, *derived])
    made = f", and made of them {', '.join(derived)}" if derived else ""
    there = f"there {'is' if len(snapshot.variables) == 1 else 'are'} {', '.join(snapshot.variables)}{made}"
    return f"{close} T{there[1:]}" if "did you mean" in close else f"; {there}"


def _stored_panels(snapshot: Snapshot, name: str, plane: Plane) -> list[Panel]:
    variable = snapshot.variables[name]
    values = snapshot.values(name, plane.index)
    if not variable.labels:
        return [Panel(name, "", np.asarray(values), variable.units)]
    parts = zip(variable.labels, np.moveaxis(values, -1, 0), strict=True)
    return [Panel(name, label, np.asarray(part), variable.units) for label, part in parts]


def _derived_panels(snapshot: Snapshot, name: str, field: DerivedField, plane: Plane) -> list[Panel]:
    linear = tuple(field.linear(Cut(snapshot, plane.index)))
    combined = zip(field.labels or ("",), field.combine(*linear), strict=True)
    return [
        Panel(name, label, values, field.units, linear, lambda *arrays, i=number: field.combine(*arrays)[i])
        for number, (label, values) in enumerate(combined)
    ]


def bodies_of(snapshot: Snapshot, plane: Plane) -> np.ndarray | None:
    """χ of the bodies in a plane `(x, y)`; None on a line, or where the snapshot does not hold it."""
    if BODIES not in snapshot.variables or len(plane.axes) != 2:
        return None
    return snapshot.values(BODIES, plane.index)


def sides_of(snapshot: Snapshot, plane: Plane) -> list[Side]:
    """The axes of a plane."""
    return [Side(name, snapshot.axes[name], name not in snapshot.bounded) for name in plane.axes]


def figure_of(snapshot: Snapshot, view: View, colours: dict[str, Colours] | None = None) -> Any:
    """A figure of the slices of a snapshot that a view chooses, with the outline of bodies.

    Raises:
        ValueError: the snapshot lacks what the view chooses.
    """
    plane = plane_of(snapshot, view)
    panels, sides = panels_of(snapshot, view, plane), sides_of(snapshot, plane)
    return slices_figure(panels, sides, slice_caption(snapshot, plane), view, colours)


def figure_of_times(snapshots: Sequence[Snapshot], view: View) -> Any | None:
    """Draw a field at several times in one figure; None if the view names several fields or components.

    Raises:
        ValueError: the snapshots lack what the view chooses.
    """
    planes = [plane_of(snapshot, view) for snapshot in snapshots]
    rows = [panels_of(snapshot, view, plane) for snapshot, plane in zip(snapshots, planes, strict=True)]
    if any(len(row) > 1 for row in rows):
        return None
    panels = [
        replace(row[0], label=f"{row[0].label}, t = {snapshot.t:.4g}".removeprefix(", "))
        for row, snapshot in zip(rows, snapshots, strict=True)
    ]
    return slices_figure(panels, sides_of(snapshots[0], planes[0]), planes[0].label, view)


def common_colours(snapshots: Iterable[Snapshot], view: View) -> dict[str, Colours]:
    """Colours of each field for all times, chosen from a sample of each snapshot and its extremes."""
    samples: dict[str, list[np.ndarray]] = {}
    for snapshot in snapshots:
        for panel in panels_of(snapshot, view, plane_of(snapshot, view)):
            values = panel.values[np.isfinite(panel.values)]
            if values.size:
                some: np.ndarray = np.append(values[:: max(1, values.size // SAMPLE)], [values.min(), values.max()])
                samples.setdefault(panel.name, []).append(some)
    return {name: colours_of(name, arrays, dark=view.dark) for name, arrays in samples.items()}


def draw_slices(
    snapshot: Snapshot, folder: Path, view: View, stem: str = "", colours: dict[str, Colours] | None = None
) -> list[Path]:
    """Draw one figure of a snapshot. It has the name of the snapshot's file, unless `stem` is given."""
    return save(figure_of(snapshot, view, colours), folder, stem or snapshot.path.stem, view)


def draw_snapshots(snapshots: Sequence[Snapshot], folder: Path, view: View, stem: str = "") -> list[Path]:
    """Draw a figure of each snapshot, named after its file, with the same colours in all, so that times compare."""
    colours = common_colours(snapshots, view)
    stems = [f"{stem}{snapshot.path.stem}" for snapshot in snapshots]
    drawn = [draw_slices(s, folder, view, name, colours) for s, name in zip(snapshots, stems, strict=True)]
    return [path for paths in drawn for path in paths]


def slice_caption(snapshot: Snapshot, plane: Plane) -> str:
    """Time and place of a slice in words; for a mean field, its averaging window."""
    since = f"{snapshot.window['since']:.4g} – " if "since" in snapshot.window else ""
    return f"t = {since}{snapshot.t:.4g}" + (f", {plane.label}" if plane.label else "")


def draw_against_time(snapshots: Sequence[Snapshot], folder: Path, view: View, stem: str = "snapshots") -> list[Path]:
    """Draw fields on a line as diagrams of x and t."""
    figure = figure_against_time(snapshots, view)
    return [] if figure is None else save(figure, folder, stem, view)


def figure_against_time(snapshots: Sequence[Snapshot], view: View) -> Any | None:
    """A figure of fields on a line against x and t.

    Raises:
        ValueError: the snapshots lack what the view chooses.
    """
    rows = [panels_of(snapshot, view, plane_of(snapshot, view)) for snapshot in snapshots]
    (side,) = sides_of(snapshots[0], plane_of(snapshots[0], view))
    names = [f"{panel.name} {panel.label}".strip() for panel in rows[0]]
    values = {name: np.stack([row[i].drawn([side]) for row in rows]) for i, name in enumerate(names)}
    units = {name: panel.units for name, panel in zip(names, rows[0], strict=True)}
    t = np.array([snapshot.t for snapshot in snapshots])
    return hovmoeller_figure(side, t, values, units, view, snapshots[0].place)
