"""Panels of curves: probability densities with a Gaussian, profiles of densities with the soliton that fits them,
correlations, and structure functions with the slopes p/3 of Kolmogorov's theory."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel, chosen_times, draw_band, time_colours
from solver.pictures.recorded import Recorded
from solver.pictures.style import INK, View, in_words, legend_below, unit
from solver.pictures.ticks import few_ticks

LABELS = {"deviation": "deviation / rms", "log10_of_mean": "log₁₀(value / mean)"}
NEAR = 0.15  # of a slope: how far that of a curve may be off
LEAST_RANGE = 2.0  # ratio of the ends of a range
GUIDE = 1.25  # height of a guide over its curve
ROUND_OFF = 1e-12  # over the largest value; odd orders vanish at half the box by symmetry


def pdf_panel(recorded: Recorded, column: str) -> MakePanel:
    """A panel with a logarithmic density at a few times; over deviations in units of their r.m.s. with a Gaussian."""
    name = recorded.axes_of(column)[0]
    x, values = recorded.axis(name), recorded.values[column]

    def make(figure: Any, axis: Any, view: View) -> None:
        rows = chosen_times(len(values), 4)
        for i, colour in zip(rows, time_colours(len(rows), view.dark), strict=True):
            seen = values[i] > 0
            width = 1.6 if i == rows[-1] else 0.9
            axis.semilogy(x[seen], values[i][seen], color=colour, lw=width, label=recorded.times[i])
        smallest = values[values > 0].min(initial=1.0)
        if name == "deviation":
            gaussian = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
            axis.semilogy(x, gaussian, "--", color=INK[view.dark], lw=0.9, label="Gaussian")
        axis.set(title=in_words(column), xlabel=LABELS.get(name, in_words(name)), ylabel="probability density")
        reached = x[(values > 0).any(axis=0)]
        room = 0.04 * np.ptp(reached)
        axis.set_xlim(reached.min() - room, reached.max() + room)
        axis.set_ylim(0.3 * max(smallest, 1e-9), 3 * values.max(initial=1e-3))
        seen = values[-1] > 0
        draw_band(axis, x[seen], recorded, column, time_colours(len(rows), view.dark)[-1], seen)
        axis.grid(True)
        few_ticks(axis)
        legend_below(axis)

    return make


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


def structure_panel(recorded: Recorded, column: str) -> MakePanel:
    """A log-log panel of sizes at the last time, with a curve for each order, dashed where it is negative.

    A line of slope p/3 is above a curve where it has about this slope while r at least doubles.
    """
    names = recorded.axes_of(column)
    other = next(name for name in names if name != "order")
    orders, r = recorded.axis("order"), recorded.axis(other)
    values = recorded.values[column][-1]
    values = values if names[0] == "order" else values.T

    def make(figure: Any, axis: Any, view: View) -> None:
        drawn, guided = [], False
        for number, (order, signed) in enumerate(zip(orders, values, strict=True)):
            curve = np.abs(signed)
            seen = (r > 0) & (curve > ROUND_OFF * curve.max())
            if not seen.any():
                continue
            colour = f"C{number}"
            negative = seen & (signed < 0)
            for shown, dashes, word in ((seen & ~negative, "-", ""), (negative, "--", ", negative")):
                if shown.any():
                    label = f"p = {order:g}{word}"
                    axis.loglog(r, np.where(shown, curve, np.nan), dashes, marker=".", ms=3, color=colour, label=label)
            drawn.append((number, colour, seen))
            along = range_of_slope(r, np.where(seen, curve, np.nan), order / 3)
            if along is not None:
                middle = (along.start + along.stop) // 2
                slope = GUIDE * curve[middle] * (r[along] / r[middle]) ** (order / 3)
                axis.loglog(r[along], slope, ":", lw=1.0, color=colour)
                guided = True
        for number, colour, seen in drawn:
            index = number if names[0] == "order" else (slice(None), number)
            draw_band(axis, r[seen], recorded, column, colour, seen, index)
        title = f"{in_words(column)}, {recorded.times[-1]}"
        axis.set(title=title, xlabel=recorded.label(other), ylabel="$|S_p|$")
        axis.grid(True)
        few_ticks(axis)
        legend_below(axis, title="dotted: $r^{p/3}$" if guided else None, title_fontsize=6)

    return make


def range_of_slope(r: np.ndarray, curve: np.ndarray, slope: float) -> slice | None:
    """The longest range in which a curve has nearly this slope; None if it is of two points, or r does not double."""
    near: np.ndarray = np.zeros(len(r) + 1, bool)
    inside = np.flatnonzero((r[:-1] > 0) & np.isfinite(curve[:-1]) & np.isfinite(curve[1:]))
    local = np.log(curve[inside + 1] / curve[inside]) / np.log(r[inside + 1] / r[inside])
    near[inside + 1] = np.abs(local - slope) < NEAR * slope
    starts, ends = (np.flatnonzero(near[1:] & ~near[:-1]), np.flatnonzero(near[:-1] & ~near[1:]))
    if not len(starts):
        return None
    wide = [r[end] / r[start] for start, end in zip(starts, ends, strict=True)]
    best = int(np.argmax(wide))
    is_range = wide[best] > LEAST_RANGE and ends[best] - starts[best] > 1
    return slice(int(starts[best]), int(ends[best]) + 1) if is_range else None
