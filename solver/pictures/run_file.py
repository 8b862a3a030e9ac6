"""Values that pictures take from the run file; a run file that cannot be read gives none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from solver.config import ConfigError, length_value, read_toml
from solver.grid import Layout

NAME = "config.toml"


def run_table(path: Path) -> Mapping[str, Any]:
    """The run file of a file in a run's directory or in a folder of it; empty without one."""
    for folder in (path.parent, path.parent.parent):
        if (folder / NAME).is_file():
            try:
                return read_toml(folder / NAME)
            except (ConfigError, OSError):
                return {}
    return {}


def parameter(table: Mapping[str, Any], name: str) -> float | None:
    """A parameter of the equation; None without a parameter of this name that is a number."""
    equation = table.get("equation")
    value = equation.get(name) if isinstance(equation, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def largest_wavenumber(table: Mapping[str, Any]) -> float | None:
    """k_max [1/length], the largest wavenumber that is retained in every direction; None if the grid is not known."""
    grid = table.get("grid")
    try:
        shape, lengths = tuple(grid["shape"]), [length_value(length) for length in grid["lengths"]]  # type: ignore[index]
        layout = Layout(shape, str(grid.get("dealias", "two-thirds")))  # type: ignore[union-attr]
        return min(2 * math.pi / length * layout.highest_mode(a) for a, length in enumerate(lengths))
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
