"""Profiles of means over planes: means, fluctuations, fluxes and skewness, with the height upwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel
from solver.pictures.recorded import Recorded
from solver.pictures.style import in_words, legend_below
from solver.pictures.ticks import few_ticks
from solver.pictures.view import View

SLOPE, TRANSPORT = "_slope", "_transport"
LATER = 3  # of more rows than this that are no windows, the mean of their later half is drawn


def plane_panels(recorded: Recorded) -> list[MakePanel]:
    """Panels of `[output.vertical-profiles]` and of its statistics; none for other files."""
    of = [name.removesuffix(SLOPE) for name in recorded.values if name.endswith(SLOPE)]
    names = [name for name in of if f"{name}_{name}_{name}" in recorded.values]
    if not names:
        return []
    count = len(recorded.t)
    rows = slice(count // 2, None) if count > LATER and not recorded.spread else slice(-1, None)
    when = "mean of later half" if count > LATER and not recorded.spread else recorded.times[-1]
    column = {name: values[rows].mean(axis=0) for name, values in recorded.values.items() if values.ndim == 2}
    variances = {name: np.maximum(column[f"{name}_{name}"] - column[name] ** 2, 0) for name in names}
    height = recorded.axes_of(names[0])[0]
    vectors = (name.removesuffix(TRANSPORT) for name in column if name.endswith(TRANSPORT))
    w = next((f"{vector}_{height}" for vector in vectors if f"{vector}_{height}" in names), "")
    others = [name for name in names if w and name != w]
    flux = {f"{w} {name}": column[_pair(column, name, w)] - column[name] * column[w] for name in others}
    third = {n: column[f"{n}_{n}_{n}"] - 3 * column[n] * variances[n] - column[n] ** 3 for n in names}
    flat = lambda name: variances[name].max(initial=0) <= (1e-10 * np.abs(column[name]).max(initial=0)) ** 2  # noqa: E731
    skewness = {n: third[n] / np.where(variances[n] > 0, variances[n], np.inf) ** 1.5 for n in names if not flat(n)}
    rms = {name: np.sqrt(variance) for name, variance in variances.items()}
    shown = {"mean over planes": {n: column[n] for n in names}, "fluctuation (rms)": rms, "flux": flux}
    shown = {f"{title}, {when}": curves for title, curves in {**shown, "skewness": skewness}.items() if curves}
    return [_panel(recorded, height, title, curves) for title, curves in shown.items()]


def _pair(column: Mapping[str, Any], a: str, b: str) -> str:
    return f"{a}_{b}" if f"{a}_{b}" in column else f"{b}_{a}"


def _panel(recorded: Recorded, height: str, title: str, curves: Mapping[str, np.ndarray]) -> MakePanel:
    z = recorded.axis(height)

    def make(figure: Any, axis: Any, view: View) -> None:
        for name, values in curves.items():
            axis.plot(values, z, lw=1.2, label=in_words(name))
        axis.axvline(0, lw=0.6, color="0.5", zorder=0)
        axis.set(title=title, ylabel=recorded.label(height), ylim=(z[0], z[-1]))
        axis.grid(True)
        few_ticks(axis)
        legend_below(axis)

    return make
