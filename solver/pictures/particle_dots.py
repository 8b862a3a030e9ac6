"""Particles of a run in the plane of a slice, where their positions were written at the step of the snapshot."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from solver.io import RunDirectory, Snapshot

MOST = 3000  # particles of a name that are drawn


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
    return x if axis in snapshot.bounded else points[0] + np.mod(x - points[0], _length(points))


def _spacing(points: np.ndarray) -> float:
    """Mean distance of neighbouring points."""
    return float(points[-1] - points[0]) / (len(points) - 1)


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
