"""Series and recorded arrays as xarray datasets, with units and long names."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.io import Rows
from solver.reading.optional import needed

TIME = {"units": "time", "long_name": "time of the state"}
STEP = {"units": "1", "long_name": "number of steps taken"}


def series_dataset(rows: Rows) -> Any:
    """Scalars against time: one variable `(t)` per column; `step` is a second coordinate along t."""
    xarray, table = needed("xarray", "open_run", "analysis"), rows.table()
    if table is None:
        return xarray.Dataset(coords=_coordinates(np.empty(0), np.empty(0, int)))
    variables = {
        name: ("t", values, {"units": table.units[name], "long_name": name.replace("_", " ")})
        for name, values in table.values.items()
    }
    return xarray.Dataset(variables, _coordinates(table.t, table.step))


def records_dataset(file: Rows) -> Any:
    """Arrays against time, including the rows in the journal: variables `(t, axes…)`.

    Raises:
        ValueError: this is not a file of records, or its data are links to other files.
    """
    xarray, table = needed("xarray", "open_run", "analysis"), file.table()
    if table is None:
        return xarray.Dataset(coords=_coordinates(np.empty(0), np.empty(0, int)))
    coordinates = _coordinates(table.t, table.step)
    for name, axis in table.layout.axes.items():
        coordinates[name] = (name, axis.values, _attributes(axis.units, axis.long_name))
    variables = {}
    for name, column in table.layout.columns.items():
        law = {} if column.power_law is None else {"power_law": column.power_law}
        about = _attributes(column.units, column.long_name) | law
        variables[name] = (("t", *column.axes), table.values[name], about)
    return xarray.Dataset(variables, coordinates)


def _coordinates(t: np.ndarray, step: np.ndarray) -> dict[str, Any]:
    return {"t": ("t", t, TIME), "step": ("t", step, STEP)}


def _attributes(units: str, long_name: str) -> dict[str, Any]:
    return {key: text for key, text in (("units", units), ("long_name", long_name)) if text}
