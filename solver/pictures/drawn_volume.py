"""Draws the volume of a field of a snapshot: a scalar, the size of a vector, or a derived field such as Q."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from solver.io import BODIES, Snapshot
from solver.pictures import Panel, View
from solver.pictures.drawn_slices import panels_of, uncut_plane
from solver.pictures.interpolation import fourier_series, is_rough
from solver.pictures.volume import Volume, volume_picture

FEW = 96  # points of an axis, on which surfaces have visible corners
OF_Q = "speed"  # colours the surface of Q


def draw_volume(snapshot: Snapshot, name: str, folder: Path, view: View) -> Path:
    """Write STEP-NAME.png into a folder that exists. Reads the whole field.

    Raises:
        ValueError: an unknown field, or a run in less than three dimensions.
    """
    volume = volume_of(snapshot, name)
    lengths = [float(points[1]) * len(points) if len(points) > 1 else 1.0 for points in snapshot.axes.values()]
    colouring = volume_of(snapshot, OF_Q) if volume.name == "q_criterion" else None
    target = folder / f"{snapshot.path.stem}-{name}.png"
    solid = volume_of(snapshot, BODIES).values if BODIES in snapshot.variables and name != BODIES else None
    volume_picture(volume, lengths, target, view, f"t = {snapshot.t:.4g}", colouring, solid)
    return target


def volume_of(snapshot: Snapshot, name: str) -> Volume:
    """A scalar in space: a field, the size of a vector, or one that is made of the fields; on finer points of few.

    Raises:
        ValueError: an unknown field, or a run in less than three dimensions.
    """
    if len(snapshot.axes) != 3:
        raise ValueError(f"volume {name!r}: a run in three dimensions is needed; this one has {len(snapshot.axes)}")
    panels = panels_of(snapshot, View(field=name), uncut_plane(snapshot))
    parts = [_on_finer_points(panel) for panel in panels]
    size = np.sqrt(np.sum(np.square(parts), axis=0)) if len(parts) > 1 else parts[0]
    return Volume(panels[0].name, size, panels[0].units)


def _on_finer_points(panel: Panel) -> np.ndarray:
    """Values on twice as many points along each axis, from the Fourier series, where there are few."""
    if max(panel.values.shape) > FEW or any(
        is_rough(values, range(values.ndim)) for values in panel.linear or (panel.values,)
    ):
        return panel.values
    finer = []
    for values in panel.linear or (panel.values,):
        for axis in range(values.ndim):
            values = fourier_series(values, axis, 2)
        finer.append(values)
    return panel.combine(*finer) if panel.combine else finer[0]
