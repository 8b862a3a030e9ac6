"""Transfer T(k) and flux Π(k) of quadratic invariants, with the sum of the fluxes of several energies."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel, draw_band
from solver.pictures.recorded import Recorded
from solver.pictures.spectra import mark_k_max
from solver.pictures.style import INK, in_words, legend_below, unit
from solver.pictures.ticks import few_ticks
from solver.pictures.view import View

WORDS = {"_transfer": "transfer T(k)", "_flux": "flux Π(k)", "_linear": "linear term"}
ENDINGS = tuple(WORDS)
LATER_HALF = "mean of later half"
LATER = 3  # with more rows than this, the mean of their later half is drawn


def flux_panels(recorded: Recorded) -> list[MakePanel]:
    """For each unit, a panel of the transfers and one of the fluxes."""
    made = []
    if not any(name.endswith("_flux") for name in recorded.values):
        return []
    for ending, word in WORDS.items():
        columns = [name for name in recorded.values if name.endswith(ending)]
        for units in dict.fromkeys(recorded.units(name) for name in columns):
            alike = [name for name in columns if recorded.units(name) == units]
            made.append(_panel(recorded, alike, ending, word, units))
    return made


def _panel(recorded: Recorded, columns: list[str], ending: str, word: str, units: str) -> MakePanel:
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
