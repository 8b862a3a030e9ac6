"""Draws statistics: means over windows of time with bands of one standard deviation, and mean fields as slices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from solver.io import Rows, read_snapshot
from solver.pictures.drawn_slices import chosen_snapshots, draw_snapshots
from solver.pictures.recorded import Recorded
from solver.pictures.records import records_figure
from solver.pictures.style import View, save
from solver.reading.fluctuations import components_of

AVERAGES = "averages over particles since a window began"
TITLE, BANDS = "means over windows of time", ", ± one standard deviation in time"


def draw_means(files: Iterable[Rows], folder: Path, view: View) -> list[Path]:
    """Draw a figure statistics-NAME for each file."""
    made = []
    for file in files:
        recorded = Recorded.read_means(file)
        if recorded is None:
            continue
        title = TITLE if components_of(recorded.values) else TITLE + BANDS
        figure = records_figure(recorded, view, title if recorded.spread else AVERAGES)
        if figure is not None:
            made += save(figure, folder, f"statistics-{recorded.name}", view)
    return made


def draw_mean_fields(paths: Sequence[Path], folder: Path, view: View) -> list[Path]:
    """Draw a figure statistics-step-… for each window.

    Raises:
        ValueError: the files lack what the view chooses.
    """
    return draw_snapshots([read_snapshot(path) for path in chosen_snapshots(paths, view)], folder, view, "statistics-")
