"""Profiles of means over planes, the height upwards: means, fluctuations, fluxes, skewness, the energy budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel
from solver.pictures.recorded import Recorded
from solver.pictures.style import in_words, legend_below
from solver.pictures.ticks import few_ticks
from solver.pictures.view import View
from solver.reading.fluctuations import PRESSURE, VISCOSITY, components_of, energy_budget, fluctuations

TRANSPORT = "_transport"
TERMS = ("production", "transport", "pressure_transport", "viscous_diffusion", "dissipation", "rest")
LATER = 3  # of more rows than this that are no windows, the mean of their later half is drawn


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
    return [_panel(recorded, height, title, curves) for title, curves in shown.items()]


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
