"""Quantities against a distance r: profiles of densities with the soliton that fits them, correlations, others."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.bands import draw_band
from solver.pictures.panels import MakePanel
from solver.pictures.recorded import Recorded
from solver.pictures.style import INK, in_words, legend_below, unit
from solver.pictures.ticks import few_ticks
from solver.pictures.times import chosen_times, time_colours
from solver.pictures.view import View


def profile_panel(recorded: Recorded, column: str) -> MakePanel:
    """A panel at a few times: log-log for densities, linear for everything else."""
    name = recorded.axes_of(column)[0]
    r, values = recorded.axis(name), recorded.values[column]
    is_density = "density" in column and np.nanmin(values) >= 0 and np.nanmax(values) > 0

    def make(figure: Any, axis: Any, view: View) -> None:
        rows = chosen_times(len(values), 5)
        seen = r > 0 if is_density else np.isfinite(r)
        for i, colour in zip(rows, time_colours(len(rows), view.dark), strict=True):
            width = 1.6 if i == rows[-1] else 0.9
            axis.plot(r[seen], values[i][seen], color=colour, lw=width, label=recorded.times[i])
        if is_density:
            axis.set(xscale="log", yscale="log")
            _soliton(axis, r, values[-1], view)
        elif np.nanmin(values) < 0:
            axis.axhline(0, lw=0.6, color="0.5", zorder=0)
        axis.set(title=in_words(column), xlabel=recorded.label(name), ylabel=unit(recorded.units(column)))
        draw_band(axis, r[seen], recorded, column, colour, seen)
        axis.grid(True)
        few_ticks(axis)
        legend_below(axis)

    return make


def _soliton(axis: Any, r: np.ndarray, density: np.ndarray, view: View) -> None:
    """Draw the ground state ρ = ρ_c (1 + 0.091 (r/r_c)²)⁻⁸ that fits the last profile, if it has a core; r starts at 0.

    Source: Schive, Chiueh & Broadhurst, Nature Physics 10 (2014) 496.
    """
    from solver import diagnostics

    try:
        central, radius = diagnostics.fit_soliton(r, density)
    except ValueError:  # no core in this profile
        return
    soliton = diagnostics.soliton_profile(r, central, radius)
    shown = (r > 0) & (soliton > 0.1 * density[density > 0].min(initial=np.inf))
    axis.plot(r[shown], soliton[shown], "--", color=INK[view.dark], lw=1.0, label=f"soliton, $r_c$ = {radius:.3g}")
