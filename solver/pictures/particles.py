"""Particles in figures: their tracks, in the plane of a slice, and averages against the time since a window began."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from solver.io import RunDirectory, Snapshot
from solver.pictures.panels import MakePanel, chosen_times, time_colours
from solver.pictures.recorded import Recorded
from solver.pictures.style import View, in_words, legend_below, new_figure, style, unit
from solver.pictures.ticks import few_ticks

SHOWN, TRACKS = 5000, 12  # particles that are drawn as points, and with their tracks
LOGARITHMIC = ("mean_square_displacement", "velocity_structure_function", "mean_square_separation", "pair_dispersion")
DIRECTIONS = ("sample", "direction")
MOST = 3000  # particles of a name that are drawn


def tracks_figure(recorded: Recorded, view: View) -> Any:
    """Positions in the last row with the tracks of some particles, and the mean square displacement against time.

    Args:
        recorded: rows of particles/NAME.h5.
        view: style of the figure.
    """
    position = recorded.values["position"]  # (t, particle, direction)
    d = position.shape[2]
    with style(view):
        figure, (plane, spread) = new_figure(1, 2, (3.2, 2.9), view)
        chosen = np.linspace(0, position.shape[1] - 1, min(TRACKS, position.shape[1])).astype(int)
        across = position[:, :, 1] if d > 1 else np.broadcast_to(recorded.t[:, None], position.shape[:2])
        plane.plot(position[-1, :SHOWN, 0], across[-1, :SHOWN], ".", ms=1.2, color="0.6", zorder=0)
        for i in chosen:
            plane.plot(position[:, i, 0], across[:, i], lw=0.8)
        plane.set(title=f"{recorded.name}, t = {recorded.t[-1]:.3g}", xlabel="x", ylabel="y" if d > 1 else "t")
        few_ticks(plane)
        moved = np.mean(np.sum((position - position[:1]) ** 2, axis=2), axis=1)
        after = recorded.t > recorded.t[0]
        spread.plot(recorded.t[after] - recorded.t[0], moved[after], marker=".", lw=1.2)
        if after.any() and (moved[after] > 0).all():
            spread.set(xscale="log", yscale="log")
        spread.set(title="mean square displacement", xlabel="t")
        spread.grid(True)
    return figure


def lag_panels(recorded: Recorded) -> list[MakePanel]:
    """Panels of statistics/particles-NAME.h5: sums over the directions, a curve for a window; none for other files."""
    if "lag" not in recorded.values or not recorded.since.size:
        return []
    return [_panel(recorded, name) for name in recorded.values if recorded.axes_of(name) == DIRECTIONS]


def _panel(recorded: Recorded, column: str) -> MakePanel:
    def make(figure: Any, axis: Any, view: View) -> None:
        rows = chosen_times(len(recorded.t))
        for i, colour in zip(rows, time_colours(len(rows), view.dark), strict=True):
            lag, values = recorded.values["lag"][i], recorded.values[column][i].sum(axis=1)
            seen = np.isfinite(lag) & ((lag > 0) if column in LOGARITHMIC else True)
            axis.plot(lag[seen], values[seen], color=colour, lw=1.6 if i == rows[-1] else 0.9, label=recorded.times[i])
        if column in LOGARITHMIC and any(np.min(line.get_ydata(), initial=1.0) > 0 for line in axis.lines):
            axis.set(xscale="log", yscale="log")
        units = unit(recorded.units(column))
        axis.set(title=in_words(column), xlabel="time since the window began", ylabel=units)
        if axis.get_xscale() != "log":
            few_ticks(axis)
        axis.grid(True)
        legend_below(axis)

    return make


def dots_in(snapshot: Snapshot, axes: tuple[str, ...], across: float | None) -> dict[str, np.ndarray]:
    """Positions `(direction, particle)` in a plane of a run's snapshot, by the name of the particles.

    In three dimensions they are the particles within one spacing of the plane, its mean between walls. Empty where no
    positions were written at the snapshot's step, and for mean fields and slices.

    Args:
        snapshot: a snapshot in the folder of its run.
        axes: names of the two axes of the plane.
        across: place of the plane on the third axis; None in two dimensions.
    """
    if len(axes) != 2 or snapshot.window or snapshot.place or snapshot.path.parent.name != "snapshots":
        return {}
    found, names = {}, list(snapshot.axes)
    for name, (steps, positions) in _tracks(snapshot.path.parent.parent).items():
        (rows,) = np.nonzero(steps == snapshot.step)
        if not rows.size or positions.shape[2] != len(names):
            continue
        inside = {axis: _in_box(positions[rows[-1], :, i], snapshot, axis) for i, axis in enumerate(names)}
        seen = np.ones(positions.shape[1], bool)
        for axis in (axis for axis in names if axis not in axes and across is not None):
            spacing, apart = _spacing(snapshot.axes[axis]), np.abs(inside[axis] - across)
            if axis not in snapshot.bounded:
                apart = np.minimum(apart, _length(snapshot.axes[axis]) - apart)
            seen &= apart <= spacing
        shown = np.flatnonzero(seen)
        shown = shown[:: max(1, -(-len(shown) // MOST))]
        found[name] = np.stack([inside[axis][shown] for axis in axes])
    return found


def _in_box(x: np.ndarray, snapshot: Snapshot, axis: str) -> np.ndarray:
    """Positions along an axis, of a periodic one put back into the box."""
    points = snapshot.axes[axis]
    is_open = axis in snapshot.bounded or len(points) == 1  # where all particles are seen
    return x if is_open else points[0] + np.mod(x - points[0], _length(points))


def _spacing(points: np.ndarray) -> float:
    """Mean distance of neighbouring points; infinite of a single one."""
    return float(points[-1] - points[0]) / (len(points) - 1) if len(points) > 1 else np.inf


def _length(points: np.ndarray) -> float:
    """Length of a periodic axis."""
    return _spacing(points) * len(points)


def _tracks(folder: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Steps and positions of all rows of a run, by the name of the particles."""
    files = sorted(RunDirectory(folder).particles.glob("*.h5*"))
    hidden = sorted(RunDirectory(folder).particles.glob(".*.rows"))
    return _read(folder, tuple((path.name, path.stat().st_mtime_ns) for path in (*files, *hidden)))


@lru_cache(maxsize=2)
def _read(folder: Path, changed: tuple[tuple[str, int], ...]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The tracks in files that were last changed then: a film reads them once."""
    directory, found = RunDirectory(folder), {}
    for name in directory.store.names(directory.particles.name):
        table = directory.store.rows(name, directory.particles.name).table()
        if table is not None:
            found[name] = table.step, table.values["position"]
    return found
