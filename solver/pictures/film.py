"""Frames of a film of a run's snapshots, read one at a time, with the same colours from the first to the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from solver.io import Snapshot, read_snapshot
from solver.pictures.drawn_slices import common_colours, figure_of, panels_of, plane_of, sides_of, slice_caption
from solver.pictures.slices import update_slices
from solver.pictures.style import View, style

DPI = 150


def frames(
    paths: Sequence[Path], view: View, dpi: int = DPI, read: Callable[[Path], Snapshot] = read_snapshot
) -> Iterator[np.ndarray]:
    """Pictures `(height, width, 3)` in bytes, one for each file.

    Args:
        paths: paths of the snapshots, or of slices, at least one.
        view: chooses the slices.
        dpi: pixels per inch.
        read: reads a file as a snapshot, or one part of a file of slices.

    Raises:
        ValueError: the snapshots lack what the view chooses.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = figure_of(read(paths[0]), view, common_colours(map(read, paths), view))
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    with style(view):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")  # keeps every part in place from frame to frame
    for path in paths:
        snapshot = read(path)
        plane = plane_of(snapshot, view)
        panels, sides = panels_of(snapshot, view, plane), sides_of(snapshot, plane)
        update_slices(figure, panels, sides, slice_caption(snapshot, plane), view)
        with style(view):
            canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()
