"""Means and spectra over planes against the height: fluctuations, fluxes, budgets, correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from solver.io import RunDirectory
from solver.pictures.panels import MakePanel
from solver.pictures.published import LOSS, Published, draw_marks, refuse_unknown
from solver.pictures.recorded import Recorded
from solver.pictures.style import View, in_words, legend_below
from solver.pictures.ticks import few_ticks
from solver.pictures.wall_panels import TERMS, layer_panels, wall_panels
from solver.reading.correlations import AXES, correlation_coefficient, separations_of
from solver.reading.fluctuations import PRESSURE, VISCOSITY, components_of, energy_budget, fluctuations
from solver.walls.legendre import height_of

PROFILES, TRANSPORT = "vertical-profiles", "_transport"
LATER = 3  # of more rows than this that are no windows, the mean of their later half is drawn
SPACE = ("y", "z")
MOST = 6  # panels of each kind
ROUNDING = 1e-9  # of a time


def plane_panels(recorded: Recorded, view: View) -> list[MakePanel]:
    """Panels of `[output.vertical-profiles]` and of its statistics; none for other files.

    Raises:
        ValueError: a published profile that the run does not have.
    """
    names = components_of(recorded.values)
    if not names:
        return []
    when, column = _mean_in_time(recorded, view.after)
    made = fluctuations(column)
    height = recorded.axes_of(names[0])[0]
    vectors = [name.removesuffix(TRANSPORT) for name in column if name.endswith(TRANSPORT)]
    w = next((f"{vector}_{height}" for vector in vectors if f"{vector}_{height}" in names), "")
    flux = [f"{name}_{w}" if f"{name}_{w}" in made else f"{w}_{name}" for name in names if w and name != w]
    rms = [f"{name}_rms" for name in names]
    largest = {name: np.abs(column[name]).max(initial=0) for name in names}
    varies = [name for name in names if made[f"{name}_rms"].max(initial=0) > 1e-10 * largest[name]]
    budget = _budget(recorded, column, made, w)
    of = {**made, **budget}
    shown = {
        "mean over planes": [name for name in names if name != PRESSURE],
        "fluctuation (rms)": rms,
        "flux": flux,
        "skewness": [f"{name}_skewness" for name in varies],
        "turbulent energy budget": [name for name in TERMS if name in budget],
        "pressure–strain": [name for name in budget if name.startswith(PRESSURE) and name[-1] == name[-2]],
    }
    z, known = recorded.axis(height), {name for panel in shown.values() for name in panel}
    data = [table for table in view.data if not table.in_wall_units]
    refuse_unknown(data, height, height_of(z), known)
    panels = [
        _panel(recorded, height, f"{title}, {when}", {name: of[name] for name in panel}, data)
        for title, panel in shown.items()
        if panel
    ]
    scalars = [name for name in names if name != PRESSURE and name.rpartition("_")[0] not in vectors]
    layers = layer_panels(recorded, column, of, scalars, when)
    return [*wall_panels(recorded, column, of, w, when, view), *panels, *layers]


def check_profiles(directory: RunDirectory, view: View) -> None:
    """Draw nothing, but refuse published profiles and times of a mean that do not fit a run.

    Raises:
        ValueError: the run has no such profiles, or no window or row as late as `view.after`.
    """
    if not view.chooses_profiles:
        return
    rows = directory.store.rows
    read = [Recorded.read(rows(PROFILES)), Recorded.read_means(rows(PROFILES, directory.statistics.name))]
    found = [recorded for recorded in read if recorded is not None]
    if view.data and not found:
        raise ValueError(f"{directory.path}: the run has no vertical profiles, over which --data draws")
    for recorded in found:
        plane_panels(recorded, view)
    if not found:
        return
    last = max(_begins(recorded)[-1] for recorded in found)
    if view.after is not None and view.after > last:
        raise ValueError(f"after {view.after:g}: no window or row of {PROFILES} begins later than t = {last:g}")


def _mean_in_time(recorded: Recorded, after: float | None) -> tuple[str, dict[str, np.ndarray]]:
    """The times in words, and each column: of the last window, or the later half of the rows, or all since `after`."""
    count, since = len(recorded.t), _begins(recorded)
    rows, when = np.array([count - 1]), recorded.times[-1]
    if after is not None and since[-1] >= after:
        rows = np.flatnonzero(since >= after)
        when = f"t = {since[rows[0]]:.3g} – {recorded.t[-1]:.3g}"
    elif count > LATER and not recorded.spread:
        rows, when = np.arange(count // 2, count), "mean of later half"
    weights = (recorded.t - since)[rows] if recorded.spread else np.ones(len(rows))
    of = {name: values[rows] for name, values in recorded.values.items() if values.ndim == 2}
    return when, {name: np.average(values, axis=0, weights=weights) for name, values in of.items()}


def _begins(recorded: Recorded) -> np.ndarray:
    """Begin of each window, or time of each row; later by rounding, since steps add up to it."""
    return (recorded.since if recorded.spread else recorded.t) + ROUNDING * np.abs(recorded.t)


def _budget(
    recorded: Recorded, column: Mapping[str, np.ndarray], made: Mapping[str, np.ndarray], w: str
) -> dict[str, np.ndarray]:
    """Terms of the budget of the turbulent energy, gains positive, and the pressure–strain correlation."""
    if not w or VISCOSITY not in recorded.values:
        return {}
    vector, _, height = w.rpartition("_")
    nu = float(recorded.values[VISCOSITY][-1])
    terms = energy_budget(column, made, recorded.axis(height), nu, vector)
    return {name: -values if name == LOSS else values for name, values in terms.items()}


def _panel(
    recorded: Recorded, height: str, title: str, curves: Mapping[str, np.ndarray], data: Sequence[Published]
) -> MakePanel:
    z = recorded.axis(height)

    def make(figure: Any, axis: Any, view: View) -> None:
        for number, (name, values) in enumerate(curves.items()):
            label = in_words(name.removesuffix("_rms").removesuffix("_skewness"))
            axis.plot(values, z, lw=1.2, color=f"C{number}", label=label)
        draw_marks(axis, data, {name: f"C{number}" for number, name in enumerate(curves)}, upright=True)
        axis.axvline(0, lw=0.6, color="0.5", zorder=0)
        axis.set(title=title, ylabel=recorded.label(height), ylim=(z[0], z[-1]))
        axis.grid(True)
        few_ticks(axis)
        legend_below(axis)

    return make


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
