"""Figures of particles: where they are, some of their tracks, and how far they come."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.recorded import Recorded
from solver.pictures.style import new_figure, style
from solver.pictures.ticks import few_ticks
from solver.pictures.view import View

SHOWN, TRACKS = 5000, 12  # particles that are drawn as points, and with their tracks


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
