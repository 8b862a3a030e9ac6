"""A colour map for each kind of quantity, and the limits of its colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# part of a quantity's name → colour map of signed values; the first entry is for all other quantities
SIGNED = {
    "": "RdBu_r",
    "vorticity": "PuOr_r",
    "magnetic": "PRGn",
    "current": "BrBG",
    "buoyancy": "coolwarm",
    "temperature": "coolwarm",
}
# part of a quantity's name → colour map of values of one sign
ONE_SIGN = {"": "viridis", "density": "magma", "dissipation": "inferno", "enstrophy": "inferno", "energy": "inferno"}
CYCLIC, CYCLE_OF_COLOURS = ("phase", "angle"), "twilight"
ALWAYS_SIGNED = (*SIGNED, "velocity")  # parts of names of quantities that have both signs
ROUND_OFF = 1e-3  # of the largest value: a smaller size of the other sign does not make such a quantity a signed one
UNDERSHOOT = 0.05  # the same for other quantities: a truncated series of a positive one falls a little below 0
PEAKED = 1.3  # colours end below the largest value if it exceeds the tail by this factor
TAIL = 0.1  # per cent of the points that then lie beyond the colours on each side


@dataclass(frozen=True)
class Colours:
    """A colour map with its limits.

    Args:
        name: name of matplotlib's colour map.
        low, high: values at its ends.
        extend: ends beyond which there are values, for the colour bar: `neither`, `min`, `max` or `both`.
    """

    name: str
    low: float
    high: float
    extend: str = "neither"

    @property
    def options(self) -> dict[str, Any]:
        """Options for `imshow` and `pcolormesh`."""
        return {"cmap": self.name, "vmin": self.low, "vmax": self.high}


def colours_of(name: str, arrays: Sequence[np.ndarray], *, dark: bool = False) -> Colours:
    """Colours for all arrays: symmetric for signed values, sequential for values of one sign, cyclic for phases.

    Values are of one sign if values of the other are small: an undershoot of a truncated series.
    """
    if is_cyclic(name):
        return Colours(CYCLE_OF_COLOURS, -np.pi, np.pi)
    finite = [array[np.isfinite(array)] for array in arrays]
    values = np.concatenate([part.ravel() for part in finite]) if finite else np.empty(0)
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    signed = any(word and word in name.lower() for word in ALWAYS_SIGNED)
    if low < 0 < high and min(-low, high) > (ROUND_OFF if signed else UNDERSHOOT) * max(-low, high):
        largest = max(-low, high)
        shown, extend = _without_tail(np.abs(values), largest)
        return Colours(_signed(name, dark), -shown, shown, "both" if extend else "neither")
    if low < 0 and high < -low:
        turned = colours_of(name, [-values], dark=dark)
        ends = {"max": "min"}.get(turned.extend, "neither")
        return Colours(f"{turned.name}_r", -turned.high, -turned.low, ends)
    shown, extend = _without_tail(values, high)
    start = 0.0 if low < 0.5 * high else low
    if not shown > start:
        start, shown = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    return Colours(_map(ONE_SIGN, name), start, shown, "max" if extend else "neither")


def is_cyclic(name: str) -> bool:
    """True if values of this name are angles, of which −π and π are the same."""
    return any(word in name.lower() for word in CYCLIC)


def _without_tail(values: np.ndarray, largest: float) -> tuple[float, bool]:
    """The value at which colours end, and whether values lie beyond it."""
    if not values.size:
        return largest, False
    tail = float(np.percentile(values, 100 - TAIL))
    return (tail, True) if 0 < PEAKED * tail < largest else (largest, False)


def _signed(name: str, dark: bool) -> str:
    """Map of signed values. On a dark page its middle is dark too, if matplotlib has such a map (since 3.10)."""
    import matplotlib

    if dark and "berlin" in matplotlib.colormaps:
        return "vanimo" if _map(SIGNED, name) in ("PuOr_r", "PRGn", "BrBG") else "berlin"
    return _map(SIGNED, name)


def _map(table: dict[str, str], name: str) -> str:
    return next((colour_map for word, colour_map in table.items() if word and word in name.lower()), table[""])
