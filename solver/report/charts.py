"""Charts of a page as plain values for its script: curves with as many points as a screen shows, six digits each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from solver.pictures import Recorded
from solver.pictures.against_time import LISTED, TimePanel, number_lines, time_panels
from solver.pictures.panels import chosen_times
from solver.pictures.records import DEVIATIONS, array_columns
from solver.pictures.series import MEANS, ZERO, error_sizes, running_mean, since_start, sorted_columns
from solver.pictures.spectra import NOISE
from solver.pictures.style import in_words, with_unit
from solver.report.html import Html, element, table

DIGITS = 6
FAINT = 0.1  # a Gaussian is drawn down to this fraction of the smallest density
SIGNS = (("plus", 1.0), ("minus", -1.0))  # of the standard deviation above and below a mean


@dataclass
class Charts:
    """The charts of a page, in the order of their numbers.

    Args:
        detail: scales the most points of a curve, 1000, and the most times of a slider, 40.
    """

    detail: float = 1.0
    specs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def points(self) -> int:
        """Most points of a curve."""
        return max(50, int(1000 * self.detail))

    @property
    def times(self) -> int:
        """Most times of a slider."""
        return max(4, int(40 * self.detail))

    def add(self, spec: dict[str, Any]) -> Html:
        """Add a chart; returns the element into which the script draws it."""
        self.specs.append(spec)
        return element("div", class_="chart", data_chart=len(self.specs) - 1)

    def curve(self, name: str, x: np.ndarray, y: np.ndarray, **more: Any) -> dict[str, Any]:
        """A curve with its own x values, thinned to `points`."""
        keep = thinned(y, self.points)
        return {"name": name, "x": numbers(x[keep]), "y": numbers(y[keep]), **more}


def thinned(y: np.ndarray, most: int) -> np.ndarray:
    """Indices of at most `most` points: the first, the last, and the extremes of each stretch of a curve."""
    if len(y) <= most:
        return np.arange(len(y))
    stretches = np.array_split(np.arange(1, len(y) - 1), most // 2 - 1)
    filled = np.where(np.isfinite(y), y, 0.0)
    extremes = [stretch[pick(filled[stretch])] for stretch in stretches for pick in (np.argmin, np.argmax)]
    return np.unique([0, *extremes, len(y) - 1])


def without_noise(spectra: np.ndarray) -> np.ndarray:
    """Spectra `(…, k)` with NaN for shells that hold round-off only; spectra with negative values are unchanged."""
    if np.any(spectra < 0):
        return spectra
    return np.where(spectra > NOISE * np.nanmax(spectra, axis=-1, keepdims=True), spectra, np.nan)


def spans_decades(axis: str) -> bool:
    """True if arrays on this axis need a logarithmic scale: spectra and probability densities do."""
    return axis.startswith("k") or axis in DEVIATIONS


def numbers(values: np.ndarray) -> list[float | None]:
    """Numbers rounded to six digits; None for those that are not finite."""
    return [float(f"{v:.{DIGITS}g}") if math.isfinite(v) else None for v in np.asarray(values, float).tolist()]


def series_charts(
    charts: Charts, columns: Mapping[str, np.ndarray], units: Mapping[str, str], after: float | None = None
) -> list[Html]:
    """A chart for each column that changes, and one chart for columns that should be zero.

    Nusselt and Reynolds numbers have their running means from `after` on.
    """
    quantities, _, errors = sorted_columns(columns, units)
    made = []
    for name, values in quantities.items():
        shown, since = since_start(values)
        curve = charts.curve(in_words(name), columns["t"], shown)
        title = with_unit(f"{in_words(name)}{since}", units.get(name, ""))
        curves = [curve]
        if name.startswith(MEANS) and not since and (mean := running_mean(columns["t"], values, after))[2]:
            curves.append(charts.curve(f"mean from t = {mean[0][0]:.3g}: {mean[2]}", *mean[:2], dash=True, colour=6))
        made.append(charts.add({"title": title, "xlabel": "t", "curves": curves}))
    if errors:
        sizes = {f"|{in_words(name)}|": error_sizes(values) for name, values in errors.items()}
        curves = [charts.curve(name, columns["t"], size) for name, size in sizes.items()]
        made.append(charts.add({"title": ZERO, "xlabel": "t", "ylog": True, "curves": curves}))
    return made


def budget_charts(charts: Charts, columns: Mapping[str, np.ndarray], units: Mapping[str, str]) -> list[Html]:
    """A chart per energy: the contribution of each cause since the start, their sum, and the gain of the energy."""
    made = []
    for energy, parts in sorted_columns(columns, units)[1].items():
        t = columns["t"]
        curves = [charts.curve(in_words(cause), t, values) for cause, values in parts.items()]
        if len(parts) > 1:
            curves.append(charts.curve("sum", t, np.sum(list(parts.values()), axis=0), colour=6))
        if energy in columns:
            curves.append(charts.curve("gain", t, columns[energy] - columns[energy][0], colour=3, dash=True))
        title = with_unit(f"{in_words(energy)}: contributions since the start", units.get(energy, ""))
        made.append(charts.add({"title": title, "xlabel": "t", "curves": curves}))
    return made


def records_charts(charts: Charts, recorded: Recorded) -> list[Html]:
    """Charts of a file of records: against one axis with a slider, or against time; others are left out.

    The numbers of a single window of statistics are a table.
    """
    made = []
    for name in array_columns(recorded):
        axes = recorded.axes_of(name)
        if len(axes) == 1 and (axes[0] not in LISTED or recorded.spread):
            title = with_unit(recorded.title(name), recorded.units(name))
            made.append(charts.add(_in_time(charts, recorded, name, title)))
    if recorded.spread and len(recorded.t) == 1:
        lines = number_lines(recorded)
        return [*made, table((recorded.times[0], "mean ± deviation in time", "units"), lines)] if lines else made
    return made + [charts.add(_against_time(charts, recorded, panel)) for panel in time_panels(recorded)]


def marks_of(axis: str, recorded: Recorded) -> dict[str, Any]:
    """The mark at k_max of a chart against k, if shells lie beyond it."""
    k_max = recorded.k_max
    if axis != "k" or k_max is None or not k_max < recorded.axis("k").max():
        return {}
    return {"marks": [{"x": k_max, "name": "k_max"}]}


def _against_time(charts: Charts, recorded: Recorded, panel: TimePanel) -> dict[str, Any]:
    """Curves against time. For means, a bar per window, with dotted bars one standard deviation above and below."""
    curves = []
    for number, (label, values) in enumerate(panel.curves.items()):
        if not recorded.spread:
            curves.append(charts.curve(label, recorded.t, values, colour=number))
            continue
        for name, sign in ((label, 0.0), *((f"{label} {word} deviation", s) for word, s in SIGNS)):
            shifted = values + sign * recorded.spread[panel.columns[label]]
            x, y = (np.ravel(pair, order="F") for pair in ((recorded.since, recorded.t), (shifted, shifted)))
            curves.append(charts.curve(name, x, y, colour=number, dash=bool(sign), quiet=bool(sign)))
    points = {"points": True} if panel.of_places else {}
    return {"title": with_unit(panel.title, panel.units), "xlabel": "t", "curves": curves, **points}


def _in_time(charts: Charts, recorded: Recorded, name: str, title: str) -> dict[str, Any]:
    axis = recorded.axes_of(name)[0]
    x, values = recorded.axis(axis), recorded.values[name]
    if axis.startswith("k"):
        values = without_noise(values)
    rows = chosen_times(len(recorded.t), charts.times)
    keep = np.unique(np.linspace(0, len(x) - 1, min(len(x), charts.points)).astype(int))
    curves: list[dict[str, Any]] = [{"name": in_words(name), "y": [numbers(values[i][keep]) for i in rows]}]
    for word, sign in SIGNS if recorded.spread else ():
        edges = [numbers((values[i] + sign * recorded.spread[name][i])[keep]) for i in rows]
        curves.append({"name": f"{word} deviation in time", "y": edges, "dash": True, "colour": 0, "quiet": True})
    if axis == "deviation":
        gaussian = np.exp(-0.5 * x[keep] ** 2) / np.sqrt(2 * np.pi)
        gaussian = np.where(gaussian > FAINT * np.min(values, where=values > 0, initial=1.0), gaussian, np.nan)
        curves.append({"name": "Gaussian", "y": [numbers(gaussian)] * len(rows), "dash": True, "colour": 6})
    positive = not np.any(values < 0)
    return {
        "title": title,
        "xlabel": recorded.label(axis),
        "x": numbers(x[keep]),
        "t": numbers(recorded.t[rows]),
        "curves": curves,
        "xlog": axis.startswith("k"),
        "ylog": positive and spans_decades(axis),
        "deep": 1e-14,
        **marks_of(axis, recorded),
    }
