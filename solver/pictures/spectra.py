"""Shell spectra at several times, and compensated by a power of k, where a power law is a flat line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from solver.pictures.style import COLUMN, PAGE, in_words, new_figure, style, with_unit
from solver.pictures.ticks import few_ticks
from solver.pictures.times import chosen_times, time_colours, times_legend
from solver.pictures.view import View

NOISE = 1e-20  # over the largest value; the highest shells of a smooth field hold only round-off
DEEP, SHALLOW = 1e-14, 1e-5  # lower edge of a spectrum, and of a compensated one, over the largest value


def spectra_figure(
    k: np.ndarray, t: np.ndarray, spectra: Mapping[str, np.ndarray], view: View,
    laws: Mapping[str, float] = MappingProxyType({}),
) -> Any | None:  # fmt: skip
    """For each spectrum `(t, k)` a panel and, if some have a power law k^−p in `laws`, a panel of k^p times these."""
    spectra = {name: values for name, values in spectra.items() if np.nanmax(values, initial=0) > 0}
    if not len(t) or not spectra:
        return None
    each, count = (2 if laws.keys() & spectra.keys() else 1), len(spectra)
    down, across = (1, each) if count == 1 else (each, count)
    with style(view):
        figure, panels = new_figure(down, across, (max(COLUMN * 0.85, min(COLUMN, PAGE / across)), 2.6), view)
        for i, (name, values) in enumerate(spectra.items()):
            loglog_at_times(panels[i], k, t, values, view, lowest=DEEP)
            panels[i].set(title=f"{in_words(name)} per shell", xlabel=with_unit("k", "1/length"))
            if name in laws:
                p = laws[name]
                flat = values * np.where(k > 0, k, 1.0) ** p
                loglog_at_times(panels[count + i], k, t, flat, view, legend=False, lowest=SHALLOW)
                title = f"{_power_of_k(p)} × {in_words(name)}"
                panels[count + i].set(title=title, xlabel=with_unit("k", "1/length"))
            elif each == 2:
                panels[count + i].remove()
    return figure


def loglog_at_times(
    axis: Any, k: np.ndarray, t: np.ndarray, values: np.ndarray, view: View, *, legend: bool = True,
    lowest: float = 0.0, labels: Sequence[str] = (),
) -> None:  # fmt: skip
    """Draw positive values against k > 0 at a few times, the last one thicker, down to `lowest` times the largest."""
    rows = chosen_times(len(t))
    for i, colour in zip(rows, time_colours(len(rows), view.dark), strict=True):
        seen = (k > 0) & np.isfinite(values[i]) & (values[i] > NOISE * np.nanmax(values[i], initial=0))
        last = i == rows[-1]
        mark = "o" if seen.sum() == 1 else None  # a line with one point is invisible
        axis.loglog(
            k[seen],
            values[i][seen],
            color=colour,
            marker=mark,
            ms=3,
            lw=1.6 if last else 0.9,
            label=labels[i] if labels else f"t = {t[i]:.3g}",
        )
    bottom, top = axis.get_ylim()
    axis.set_ylim(bottom=max(bottom, lowest * top))
    axis.grid(True)
    few_ticks(axis)
    if legend:
        times_legend(axis)


def _power_of_k(power: float) -> str:
    """A power of k as text with mathematics."""
    near = Fraction(power).limit_denominator(12)
    exponent = str(near) if abs(float(near) - power) < 1e-9 else f"{power:g}"
    return "k" if exponent == "1" else f"$k^{{{exponent}}}$"
