"""Means and spectra over planes against the height: fluctuations, fluxes, budgets, correlations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel
from solver.pictures.recorded import Recorded
from solver.pictures.style import View, in_words, legend_below
from solver.pictures.ticks import few_ticks
from solver.reading.correlations import AXES, correlation_coefficient, separations_of
from solver.reading.fluctuations import (
    PRESSURE,
    SLOPE,
    VISCOSITY,
    WALLS,
    at_walls,
    components_of,
    energy_budget,
    fluctuations,
)
from solver.walls.legendre import height_of

TRANSPORT = "_transport"
TERMS = ("production", "transport", "pressure_transport", "viscous_diffusion", "dissipation", "rest")
KARMAN, INTERCEPT = 0.41, 5.2  # of the law of the wall
LEAST_REYNOLDS = 30  # Re_τ from which a flow may have it
LATER = 3  # of more rows than this that are no windows, the mean of their later half is drawn
SPACE = ("y", "z")
MOST = 6  # panels of each kind


def plane_panels(recorded: Recorded) -> list[MakePanel]:
    """Panels of `[output.vertical-profiles]` and of its statistics; none for other files."""
    names = components_of(recorded.values)
    if not names:
        return []
    count = len(recorded.t)
    rows = slice(count // 2, None) if count > LATER and not recorded.spread else slice(-1, None)
    when = "mean of later half" if count > LATER and not recorded.spread else recorded.times[-1]
    column = {name: values[rows].mean(axis=0) for name, values in recorded.values.items() if values.ndim == 2}
    made = fluctuations(column)
    height = recorded.axes_of(names[0])[0]
    vectors = [name.removesuffix(TRANSPORT) for name in column if name.endswith(TRANSPORT)]
    w = next((f"{vector}_{height}" for vector in vectors if f"{vector}_{height}" in names), "")
    others = [name for name in names if w and name != w]
    flux = {f"{w} {name}": made[f"{name}_{w}" if f"{name}_{w}" in made else f"{w}_{name}"] for name in others}
    rms = {name: made[f"{name}_rms"] for name in names}
    varies = [name for name in names if rms[name].max(initial=0) > 1e-10 * np.abs(column[name]).max(initial=0)]
    skewness = {name: made[f"{name}_skewness"] for name in varies}
    means = {name: column[name] for name in names if name != PRESSURE}
    shown = {"mean over planes": means, "fluctuation (rms)": rms, "flux": flux, "skewness": skewness}
    shown |= _budget(recorded, column, made, w)
    shown = {f"{title}, {when}": curves for title, curves in shown.items() if curves}
    law = _law_of_the_wall(recorded, column, f"{w.rpartition('_')[0]}_x", when)
    return [*law, *(_panel(recorded, height, title, curves) for title, curves in shown.items())]


def _budget(
    recorded: Recorded, column: Mapping[str, np.ndarray], made: Mapping[str, np.ndarray], w: str
) -> dict[str, dict[str, np.ndarray]]:
    """Curves of the budget of the turbulent energy, gains positive, and of the pressure–strain correlation."""
    if not w or VISCOSITY not in recorded.values:
        return {}
    vector, _, height = w.rpartition("_")
    nu = float(recorded.values[VISCOSITY][-1])
    terms = energy_budget(column, made, recorded.axis(height), nu, vector)
    strain = {name: values for name, values in terms.items() if name.startswith(PRESSURE) and name[-1] == name[-2]}
    gains = {name: -values if name == "dissipation" else values for name, values in terms.items() if name in TERMS}
    return {"turbulent energy budget": gains, "pressure–strain": strain}


def _law_of_the_wall(recorded: Recorded, column: Mapping[str, np.ndarray], along: str, when: str) -> list[MakePanel]:
    """A panel of the mean velocity in wall units from each wall up to the middle, with the law of the wall.

    Empty in a periodic box, without a viscosity, and where Re_τ is below 30 at a wall, so that there is no such law.

    Source: Pope, Turbulent Flows (2000), section 7.1.4.
    """
    z = recorded.axis(recorded.axes_of(along)[0]) if f"{along}{SLOPE}" in column else np.empty(0)
    if not z.size or VISCOSITY not in recorded.values or height_of(z) is None:
        return []
    nu, half = float(recorded.values[VISCOSITY][-1]), 0.5 * float(z[0] + z[-1])
    speeds = np.sqrt(nu * np.abs(at_walls(column[f"{along}{SLOPE}"], z)))
    if min(speeds) * half < LEAST_REYNOLDS * nu:
        return []
    curves = {}
    for side, speed, distance, at_wall in zip(
        WALLS, speeds, (z, 2 * half - z), at_walls(column[along], z), strict=True
    ):
        near = np.flatnonzero(distance <= half * (1 + 1e-9))
        curves[side] = distance[near] * speed / nu, np.abs(column[along] - at_wall)[near] / speed

    def make(figure: Any, axis: Any, view: View) -> None:
        for side, (distance, velocity) in curves.items():
            axis.semilogx(distance, velocity, lw=1.2, label=f"{side} wall, Re_τ = {max(distance):.3g}")
        reach = np.geomspace(0.5, max(max(distance) for distance, _ in curves.values()), 200)
        axis.semilogx(reach[reach < 12], reach[reach < 12], "--", lw=0.8, color="0.5", label="U⁺ = y⁺")
        law = np.log(reach) / KARMAN + INTERCEPT
        axis.semilogx(reach[reach > 5], law[reach > 5], ":", lw=0.8, color="0.5", label="ln(y⁺)/0.41 + 5.2")
        axis.set(title=f"{in_words(along)} in wall units, {when}", xlabel="y⁺", ylabel="U⁺")
        axis.grid(True)
        few_ticks(axis)
        legend_below(axis)

    return [make]


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
