"""Spectra along planes against the height: premultiplied spectra, and the two-point correlations that follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel
from solver.pictures.recorded import Recorded
from solver.pictures.style import in_words
from solver.pictures.ticks import few_ticks
from solver.pictures.view import View
from solver.reading.correlations import AXES, correlation_coefficient, separations_of

SPACE = ("y", "z")
MOST = 6  # panels of each kind


def height_panels(recorded: Recorded) -> list[MakePanel]:
    """Panels of `[output.line-spectra]` by height and of its statistics; none for other files."""
    columns = {name: recorded.axes_of(name) for name in recorded.values}
    of_planes = [name for name, axes in columns.items() if len(axes) == 2 and axes[0] in AXES and axes[1] in SPACE]
    varies = [name for name in of_planes if recorded.values[name][-1].max(initial=0) > 0]
    shown = [name for axis in AXES for name in varies if columns[name][0] == axis][:MOST]
    return [make(recorded, name) for make in (_premultiplied, _correlation) for name in shown]


def _premultiplied(recorded: Recorded, column: str) -> MakePanel:
    """k E(k, z) over half of the variance in the plane, at the last time."""
    axis_of_k, last = recorded.axes_of(column)
    k, z, spectrum = recorded.axis(axis_of_k), recorded.axis(last), recorded.values[column][-1]
    total = spectrum.sum(axis=0)
    relative = np.divide(spectrum, total, out=np.zeros_like(spectrum), where=total > 0) / k[1]

    def make(figure: Any, axis: Any, view: View) -> None:
        image = axis.pcolormesh(k[1:], z, (k[1:, None] * relative[1:]).T, shading="nearest", rasterized=True)
        figure.colorbar(image, ax=axis, pad=0.02, aspect=18).ax.tick_params(labelsize=6.5)
        name, _, direction = column.rpartition("_")
        axis.set(
            xscale="log",
            title=f"k E / variance of {in_words(name)} along {direction}, {recorded.times[-1]}",
            xlabel=recorded.label(axis_of_k),
            ylabel=recorded.label(last),
        )
        few_ticks(axis)

    return make


def _correlation(recorded: Recorded, column: str) -> MakePanel:
    """R(r, z)/R(0, z) at the last time."""
    axis_of_k, last = recorded.axes_of(column)
    k, z = recorded.axis(axis_of_k), recorded.axis(last)
    r = separations_of(k)
    values = correlation_coefficient(recorded.values[column][-1], k, r)

    def make(figure: Any, axis: Any, view: View) -> None:
        options: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -1, "vmax": 1, "shading": "nearest", "rasterized": True}
        image = axis.pcolormesh(r, z, values.T, **options)
        figure.colorbar(image, ax=axis, pad=0.02, aspect=18).ax.tick_params(labelsize=6.5)
        name, _, direction = column.rpartition("_")
        axis.set(
            title=f"correlation of {in_words(name)} along {direction}, {recorded.times[-1]}",
            xlabel=f"separation along {direction}",
            ylabel=recorded.label(last),
        )
        few_ticks(axis)

    return make
