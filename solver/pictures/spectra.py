"""Shell spectra at several times or compensated by a power of k, and transfer T(k) and flux Π(k) of invariants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel, chosen_times, draw_band, time_colours
from solver.pictures.recorded import Recorded
from solver.pictures.rounding import ROUND_OFF
from solver.pictures.style import (
    COLUMN,
    INK,
    PAGE,
    View,
    grid_of,
    hide_rest,
    in_words,
    legend_below,
    new_figure,
    style,
    unit,
    with_unit,
    wrap_title,
)
from solver.pictures.ticks import few_ticks

NOISE = 1e-20  # over the largest value; the highest shells of a smooth field hold only round-off
MOST_ACROSS = 3
DEEP, SHALLOW = 1e-14, 1e-5  # lower edge of a spectrum, and of a compensated one, over the largest value
WORDS = {"_transfer": "transfer T(k)", "_flux": "flux Π(k)", "_linear": "linear term"}
ENDINGS = tuple(WORDS)
LATER_HALF = "mean of later half"
LATER = 3  # with more rows than this, the mean of their later half is drawn


def spectra_figure(
    k: np.ndarray, t: np.ndarray, spectra: Mapping[str, np.ndarray], view: View,
    laws: Mapping[str, float] = MappingProxyType({}), k_max: float | None = None,
) -> Any | None:  # fmt: skip
    """For each spectrum `(t, k)` a panel and, for those with a power law k^−p in `laws`, one of k^p times it.

    Args:
        k: centres of the shells.
        t: times.
        spectra: by name. Of a spectrum of both signs, sizes are drawn, and none times a power; round-off is not drawn.
        view: the style of the figure.
        laws: p by name.
        k_max: marked by a line: beyond it shells are not complete.
    """
    sizes = {name: float(np.nanmax(np.abs(values), initial=0)) for name, values in spectra.items()}
    least = ROUND_OFF * max(sizes.values(), default=0.0)  # of both signs and below it: zero, such as a helicity
    spectra = {
        name: values
        for name, values in spectra.items()
        if sizes[name] > 0 and not (sizes[name] < least and has_both_signs(values))
    }
    if not len(t) or not spectra:
        return None
    laws = {name: p for name, p in laws.items() if name in spectra and not has_both_signs(spectra[name])}
    count = len(spectra) + len(laws)
    down, across = grid_of(count, MOST_ACROSS)
    width = PAGE / across if across > 1 else COLUMN
    with style(view):
        figure, panels = new_figure(down, across, (width, 2.6), view)
        free = iter(panels)
        for name, values in spectra.items():
            axis = next(free)
            loglog_at_times(axis, k, t, values, view, lowest=DEEP, legend=False, k_max=k_max)
            sized = f"|{in_words(name)}| per shell, dashed where negative"
            axis.set_title(sized if has_both_signs(values) else f"{in_words(name)} per shell")
        for name, power in laws.items():
            axis = next(free)
            compensated_panel(axis, k, t, spectra[name], view, power, legend=False, k_max=k_max)
            axis.set_title(f"{power_of_k(power)} × {in_words(name)}")
        for axis in panels[:count]:
            axis.set_xlabel(with_unit("k", "1/length"))
            wrap_title(axis, width)
        hide_rest(panels, count)
        handles, labels = panels[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside lower center", ncols=6, columnspacing=0.9)
    return figure


def has_both_signs(values: np.ndarray) -> bool:
    """True if a spectrum is negative in some shells, by more than round-off."""
    return bool(np.nanmin(values) < -ROUND_OFF * np.nanmax(np.abs(values)))


def compensated_panel(
    axis: Any, k: np.ndarray, t: np.ndarray, values: np.ndarray, view: View, power: float, **options: Any
) -> None:
    """Draw k^p times a spectrum: a power law k^−p is a flat line."""
    flat = values * np.where(k > 0, k, 1.0) ** power
    loglog_at_times(axis, k, t, flat, view, lowest=SHALLOW, **options)


def loglog_at_times(
    axis: Any, k: np.ndarray, t: np.ndarray, values: np.ndarray, view: View, *, legend: bool = True,
    lowest: float = 0.0, labels: Sequence[str] = (), k_max: float | None = None,
) -> None:  # fmt: skip
    """Draw sizes against k > 0 at a few times, the last one thicker, down to `lowest` times the largest.

    Lines are broken where there is only noise, and dashed where values are negative.
    """
    rows = chosen_times(len(t))
    for i, colour in zip(rows, time_colours(len(rows), view.dark), strict=True):
        size = np.abs(values[i])
        seen = (k > 0) & np.isfinite(values[i]) & (size > NOISE * np.nanmax(size, initial=0))
        for sign, dashes in ((1, "-"), (-1, "--")):
            shown = seen & (sign * values[i] > 0)
            if sign < 0 and not shown.any():
                continue
            label = (labels[i] if labels else f"t = {t[i]:.3g}") if sign > 0 else "_"
            width = 1.6 if i == rows[-1] else 0.9
            axis.loglog(k, np.where(shown, size, np.nan), dashes, color=colour, lw=width, label=label)
            alone = shown & ~np.append(shown[1:], False) & ~np.append(False, shown[:-1])
            if alone.any():  # a line with one point is invisible
                axis.loglog(k[alone], size[alone], "o", color=colour, ms=2.5, label="_alone")
    bottom, top = axis.get_ylim()
    axis.set_ylim(bottom=max(bottom, lowest * top))
    mark_k_max(axis, k, k_max, view)
    axis.grid(True)
    few_ticks(axis)
    if legend:
        legend_below(axis)


def mark_k_max(axis: Any, k: np.ndarray, k_max: float | None, view: View) -> None:
    """Draw a line at k_max, if some of the shells k lie beyond it, where modes are in the corners of the box only."""
    if k_max is None or not k_max < k.max():
        return
    axis.axvline(k_max, color=INK[view.dark], lw=0.7, ls=(0, (1, 2)), zorder=1, label="_k_max")
    height, side = (0.98, "top") if axis.get_yscale() == "log" else (0.02, "bottom")  # where the curves are not
    axis.annotate(
        r"$k_\mathrm{max}$", (k_max, height), xycoords=("data", "axes fraction"), xytext=(-2, 0),
        textcoords="offset points", fontsize=6.5, ha="right", va=side,
    )  # fmt: skip


def power_of_k(power: float) -> str:
    """A power of k as text with mathematics."""
    near = Fraction(power).limit_denominator(12)
    exponent = str(near) if abs(float(near) - power) < 1e-9 else f"{power:g}"
    return "k" if exponent == "1" else f"$k^{{{exponent}}}$"


def flux_panels(recorded: Recorded) -> list[MakePanel]:
    """For each unit, a panel of the transfers and one of the fluxes."""
    made = []
    if not any(name.endswith("_flux") for name in recorded.values):
        return []
    for ending, word in WORDS.items():
        columns = [name for name in recorded.values if name.endswith(ending)]
        for units in dict.fromkeys(recorded.units(name) for name in columns):
            alike = [name for name in columns if recorded.units(name) == units]
            made.append(_flux_panel(recorded, alike, ending, word, units))
    return made


def _flux_panel(recorded: Recorded, columns: list[str], ending: str, word: str, units: str) -> MakePanel:
    axis_name = recorded.axes_of(columns[0])[0]
    k = recorded.axis(axis_name)
    seen = k > 0

    def make(figure: Any, axis: Any, view: View) -> None:
        single = len(columns) == 1
        for name in columns:
            label = recorded.times[-1] if single else in_words(name.removesuffix(ending))
            _curves(axis, k[seen], recorded, name, seen, label)
        energies = [recorded.values[name] for name in columns if name.removesuffix(ending).endswith("energy")]
        if len(energies) > 1:
            total = np.sum(energies, axis=0)[-1, seen]
            axis.semilogx(k[seen], total, "--", color=INK[view.dark], lw=1.4, label="sum of energies")
        axis.axhline(0, lw=0.6, color="0.5", zorder=0)
        quantity = f"{in_words(columns[0].removesuffix(ending))}: {word}" if single else word
        title = quantity if single else f"{quantity}, {recorded.times[-1]}"
        axis.set(title=title, xlabel=recorded.label(axis_name), ylabel=unit(units))
        mark_k_max(axis, k, recorded.k_max if axis_name == "k" else None, view)
        axis.grid(True)
        few_ticks(axis)
        if axis.get_legend_handles_labels()[0]:
            legend_below(axis)

    return make


def _curves(axis: Any, k: np.ndarray, recorded: Recorded, column: str, seen: np.ndarray, label: str) -> None:
    """Draw the last row, and thin the mean over the second half of the rows; for windows, the last mean with a band."""
    values = recorded.values[column][:, seen]
    (line,) = axis.semilogx(k, values[-1], label=label)
    draw_band(axis, k, recorded, column, line.get_color(), seen)
    if len(values) > LATER and not recorded.spread:
        later = values[len(values) // 2 :].mean(axis=0)
        has_label = any(other.get_label() == LATER_HALF for other in axis.lines)
        axis.semilogx(k, later, ":", lw=1.0, color=line.get_color(), label="_" if has_label else LATER_HALF)
