"""The outline of bodies over images of a field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from solver.pictures.style import INK, PAPER

SURFACE = 0.5  # χ at the surface of a body
NAME = "outline"  # of the drawn lines, by which the next frame of a film finds them


def draw_outline(axis: Any, bodies: np.ndarray, sides: Sequence[tuple[str, np.ndarray]], *, dark: bool) -> None:
    """Draw the lines on which χ is ½ over an image, in the place of those that it has.

    They have the colour of letters and a narrow edge in that of the page, and are seen on any colour of a field.

    Args:
        axis: with an image.
        bodies: χ `(x, y)` at the points, the first axis across.
        sides: name and coordinates [length] of each axis, equally spaced.
        dark: whether the page is dark.
    """
    from matplotlib.patheffects import withStroke

    for lines in [lines for lines in axis.collections if lines.get_label() == NAME]:
        lines.remove()
    if not bodies.min() < SURFACE < bodies.max():
        return
    x, y = (_to_the_edges(points) for _, points in sides)
    lines = axis.contour(x, y, np.pad(bodies, 1, mode="edge").T, levels=[SURFACE], colors=[INK[dark]], linewidths=0.8)
    lines.set(label=NAME, path_effects=[withStroke(linewidth=1.8, foreground=PAPER[dark])])


def _to_the_edges(points: np.ndarray) -> np.ndarray:
    """Coordinates with the two edges of the image, which lie half a spacing beyond the outermost points."""
    half = 0.5 * (points[1] - points[0] if len(points) > 1 else 1.0)
    return np.concatenate([points[:1] - half, points, points[-1:] + half])
