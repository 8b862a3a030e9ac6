"""Series and recorded arrays as xarray datasets, with units and long names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solver.io import RecordsLayout, Rows
from solver.reading.optional import needed

TIME = {"units": "time", "long_name": "time of the state"}
STEP = {"units": "1", "long_name": "number of steps taken"}


def series_dataset(columns: Mapping[str, np.ndarray], units: Mapping[str, str]) -> Any:
    """Scalars against time: one variable `(t)` per column; `step` is a second coordinate along t."""
    xarray = needed("xarray", "open_run", "analysis")
    nothing = np.empty(0)
    values = {name: columns.get(name, nothing) for name in units if name not in ("t", "step")}
    attributes = {name: {"units": units[name], "long_name": name.replace("_", " ")} for name in values}
    variables = {name: ("t", array, attributes[name]) for name, array in values.items()}
    step: np.ndarray = columns.get("step", nothing).astype(int)
    return xarray.Dataset(variables, {"t": ("t", columns.get("t", nothing), TIME), "step": ("t", step, STEP)})


def records_dataset(file: Rows) -> Any:
    """Arrays against time, including the rows in the journal: variables `(t, axes…)`.

    Raises:
        ValueError: this is not a file of records, or its data are links to other files.
    """
    xarray = needed("xarray", "open_run", "analysis")
    rows, layout = file.rows(), file.layout() or RecordsLayout()
    coordinates: dict[str, Any] = {
        "t": ("t", np.array([row.t for row in rows], dtype=float), TIME),
        "step": ("t", np.array([row.step for row in rows], dtype=int), STEP),
    }
    for name, axis in layout.axes.items():
        coordinates[name] = (name, axis.values, _attributes(axis.units, axis.long_name))
    variables = {}
    for name, column in layout.columns.items():
        values = np.array([row.values[name] for row in rows]).reshape(len(rows), *layout.shape(name))
        law = {} if column.power_law is None else {"power_law": column.power_law}
        variables[name] = (("t", *column.axes), values, _attributes(column.units, column.long_name) | law)
    return xarray.Dataset(variables, coordinates)


def _attributes(units: str, long_name: str) -> dict[str, Any]:
    return {key: text for key, text in (("units", units), ("long_name", long_name)) if text}
