"""Columns that hold only the rounding of larger ones: figures leave them out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

ROUND_OFF = 1e-12  # relative to the largest value with the same units
PURE = ("", "1")  # units of pure numbers, which have no common size


def rounding_alone(columns: Mapping[str, np.ndarray], units: Mapping[str, str]) -> set[str]:
    """Names of columns that are rounding in the sums of larger ones with the same units.

    These are columns that have negative values and are smaller than 1e-12 of the largest. A column without negative
    values may be the energy of a seed that grows: it is left out only below 1e-24, the square of that.

    Args:
        columns: values by name, of any shape.
        units: units by name; pure numbers are compared with nothing.
    """
    of = {name: units.get(name, "") for name in columns}
    largest: dict[str, float] = {}
    for name, values in columns.items():
        largest[of[name]] = max(size_of(values), largest.get(of[name], 0.0))
    limits = {name: ROUND_OFF if np.nanmin(v, initial=0) < 0 else ROUND_OFF**2 for name, v in columns.items()}
    return {
        name
        for name, values in columns.items()
        if of[name] not in PURE and size_of(values) < limits[name] * largest[of[name]]
    }


def without_rounding(parts: Mapping[str, np.ndarray], whole: float) -> dict[str, np.ndarray]:
    """The parts of a sum that are larger than the rounding of its largest part, and of a whole of this size."""
    largest = max([whole, *map(size_of, parts.values())])
    return {name: values for name, values in parts.items() if size_of(values) > ROUND_OFF * largest}


def size_of(values: np.ndarray) -> float:
    """The largest size of finite values; 0 without any."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
