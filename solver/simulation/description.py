"""A run that was made in Python, described for its config.toml with keys as in a run file."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from solver.config import FROM_THE_RUN
from solver.dynamics.derivation import text_table
from solver.dynamics.equation import has_text
from solver.grid import Grid, gather
from solver.io import RunDirectory
from solver.simulation.simulation import Simulation


def run_table(simulation: Simulation, directory: RunDirectory) -> dict[str, Any]:
    """The objects of a run in a directory, with keys as in a run file; `script` names the script that made the run."""
    equation = simulation.equation
    time = {"stepper": simulation.stepper.name, "end": simulation.end, **simulation.control.time_keys()}
    forcing = {name: _object(forced) for name, forced in equation.forcings().items()}
    scalars = getattr(equation, "scalars", ())
    start = {name: {"name": "given in Python"} for name in equation.fields}
    return {
        "title": simulation.title,
        "script": sys.argv[0] or "interactive",
        "grid": _grid(equation.grid),
        "equation": {
            **_object(equation),
            **(text_table(equation) if has_text(equation) else {}),
        },
        **({"scalars": {one.name: _numbers(one) for one in scalars}} if scalars else {}),
        "initial": start if len(start) > 1 else next(iter(start.values())),
        **({"closure": _object(closure)} if (closure := getattr(equation, "closure", None)) is not None else {}),
        **({"forcing": forcing if len(start) > 1 else next(iter(forcing.values()))} if forcing else {}),
        "time": _without_none(time),
        "output": {
            "directory": str(directory.path),
            **{output.name: _without_none(dataclasses.asdict(output)) for output in simulation.outputs.all},
        },
    }


def _grid(grid: Grid) -> dict[str, Any]:
    return {
        "shape": list(grid.shape),
        "lengths": list(grid.lengths),  # type: ignore[arg-type]
        "dealias": grid.dealias,
        "precision": grid.precision,
    }


def _object(value: Any) -> dict[str, Any]:
    """Name and parameters of an equation or a forcing."""
    return {"name": value.name, "class": f"{type(value).__module__}:{type(value).__qualname__}", **_numbers(value)}


def _numbers(value: Any) -> dict[str, Any]:
    """The parameters of an object."""
    values = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.name not in FROM_THE_RUN}
    return {name: _described(v) for name, v in values.items() if v is not None}


def _described(value: Any) -> Any:
    """Numbers, words and lists of them as they are; arrays by shape and checksum, other objects by their type."""
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_described(v) for v in value]
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        whole = gather(value) if isinstance(value, jax.Array) and value.ndim == 0 else value
        if np.ndim(whole) == 0 and not np.iscomplexobj(whole):
            return np.asarray(whole).item()
        return f"{value.dtype}{list(value.shape)} {_checksum(value)}"
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _checksum(value: Any) -> str:
    """The checksum of a small array's values; larger ones are not compared, so that no field is gathered."""
    if value.size > 2**16:
        return "not compared"
    whole = gather(value) if isinstance(value, jax.Array) else np.asarray(value)
    return f"sha256 {hashlib.sha256(np.ascontiguousarray(whole).tobytes()).hexdigest()[:16]}"


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _described(value) for key, value in table.items() if value is not None}
