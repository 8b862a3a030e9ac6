"""The outline of bodies over images of a field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from solver.pictures.interpolation import Side
from solver.pictures.style import INK, PAPER

SURFACE = 0.5  # χ at the surface of a body
NAME = "outline"  # of the drawn lines, by which the next frame of a film finds them


def draw_outline(axis: Any, bodies: np.ndarray, sides: Sequence[Side], *, dark: bool) -> None:
    """Draw the lines on which χ is ½ over an image, in the place of those that it has.

    They have the colour of letters and a narrow edge in the colour of the page, and are seen on any colour of a field.

    Args:
        axis: with an image.
        bodies: χ `(x, y)` at the points, the first axis across.
        sides: the axes.
        dark: True if the page is dark.
    """
    from matplotlib.patheffects import withStroke

    for lines in [lines for lines in axis.collections if lines.get_label() == NAME]:
        lines.remove()
    if not bodies.min() < SURFACE < bodies.max():
        return
    x, y = (_closed_points(side) for side in sides)
    closed = np.pad(bodies, [(0, int(side.periodic)) for side in sides], mode="wrap")
    lines = axis.contour(x, y, closed.T, levels=[SURFACE], colors=[INK[dark]], linewidths=0.8)
    lines.set(label=NAME, path_effects=[withStroke(linewidth=1.8, foreground=PAPER[dark])])


def _closed_points(side: Side) -> np.ndarray:
    """Coordinates, with the end of the period."""
    return np.append(side.points, side.points[-1] + side.spacing) if side.periodic else side.points
