"""Frequency spectra of recorded modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.diagnostics.modes import frequency_spectrum
from solver.pictures.against_time import entries
from solver.pictures.recorded import Recorded
from solver.pictures.records import MAX_PANELS
from solver.pictures.style import PAGE, View, grid_of, hide_rest, in_words, legend_below, new_figure, style, with_unit
from solver.pictures.ticks import few_ticks

MIN_TIMES = 16
MAX_LINES = 8
DECADES = 10
NOTICED = 1e-6  # of the largest power of a mode


def frequencies_figure(recorded: Recorded, view: View) -> Any | None:
    """S(ω) of each component: a line for each mode or, if there are many modes, an image of modes and ω.

    None if fewer than 16 times are equally spaced. The end of a run, which may come earlier than the next time, is left
    out.
    """
    rows = _equally_spaced(recorded.t)
    stems = [name.removesuffix("_real") for name in recorded.values if name.endswith("_real")]
    pairs = {stem: f"{stem}_imaginary" for stem in stems if f"{stem}_imaginary" in recorded.values}
    if rows < MIN_TIMES or not pairs:
        return None
    made = {}
    for stem, imaginary in list(pairs.items())[:MAX_PANELS]:
        values = recorded.values[f"{stem}_real"][:rows] + 1j * recorded.values[imaginary][:rows]
        omega, power = frequency_spectrum(recorded.t[:rows], values)
        if power.max() > 0:
            made[stem] = power
    if not made:
        return None
    with style(view):
        down, across = grid_of(len(made), 3 if len(made) > 4 else 2)
        figure, axes = new_figure(down, across, (PAGE / across if across > 1 else 4.0, 2.5), view)
        for (stem, power), axis in zip(made.items(), axes, strict=False):
            units = recorded.units(f"{stem}_real")
            _panel(figure, axis, omega, power, entries(recorded, "mode"))
            axis.set(title=with_unit(f"S(ω) of {in_words(stem)}", f"({units})^2" if units not in ("", "1") else ""))
            axis.set(xlabel="ω [radians/time]", xlim=_range(omega, power))
        hide_rest(axes, len(made))
    return figure


def _range(omega: np.ndarray, power: np.ndarray) -> tuple[float, float]:
    """Frequencies from −ω to ω, with room, beyond which no mode has a noticeable part of its power."""
    share = power / np.where(power.max(axis=0) > 0, power.max(axis=0), 1.0)
    seen = np.abs(omega[(share > NOTICED).any(axis=1)])
    most = min(1.3 * float(seen.max()) + 2 * float(omega[1] - omega[0]), float(np.abs(omega).max()))
    return -most, most


def _panel(figure: Any, axis: Any, omega: np.ndarray, power: np.ndarray, modes: list[str]) -> None:
    if power.shape[1] <= MAX_LINES:
        for mode, values in zip(modes, power.T, strict=True):
            if not values.max() > power.max() / 10**DECADES:
                continue
            axis.semilogy(omega, np.where(values > 0, values, np.nan), lw=0.9, label=mode)
        axis.set_ylim(bottom=power.max() / 10**DECADES)
        axis.grid(True)
        if power.shape[1] > 1:
            legend_below(axis)
        return
    from matplotlib.colors import LogNorm

    norm = LogNorm(power.max() / 10**DECADES, power.max())
    numbers = np.arange(power.shape[1])
    shown = np.maximum(power, norm.vmin).T
    image = axis.pcolormesh(omega, numbers, shown, norm=norm, cmap="viridis", shading="nearest", rasterized=True)
    figure.colorbar(image, ax=axis, pad=0.02, aspect=18).ax.tick_params(labelsize=6.5)
    axis.set_ylabel("mode")
    few_ticks(axis)


def _equally_spaced(t: np.ndarray) -> int:
    """Number of times, from the first on, that are equally spaced."""
    steps = np.diff(t)
    if not len(steps):
        return len(t)
    off = np.flatnonzero(np.abs(steps - steps[0]) > 1e-6 * abs(steps[0]))
    return int(off[0]) + 1 if len(off) else len(t)
