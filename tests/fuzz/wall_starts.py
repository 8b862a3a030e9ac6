"""Random initial fields between walls that meet the conditions there, in files which a run file names."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from reference import runs


def written_out(table: dict[str, Any]) -> dict[str, Any]:
    """A table whose starts `random SEED SIZE` are in files: fields of the second program that meet their conditions."""
    grid = table.get("grid")
    if not isinstance(grid, dict) or not grid.get("walls"):
        return table
    found = json.loads(json.dumps(table))
    initial = found.get("initial")
    if not isinstance(initial, dict):
        return found
    sections = initial.items() if "name" not in initial else [(next(iter(_fields_of(found))), initial)]
    for name, one in sections:
        path = one.get("path") if isinstance(one, dict) else None
        if isinstance(path, str) and path.startswith("random "):
            one["path"] = _file_of(table, name, *path.split()[1:])
    return found


def _fields_of(table: dict[str, Any]) -> list[str]:
    """Names of the fields; one that does not matter where the second program cannot tell."""
    try:
        return [*runs.system_of(table).fields]
    except Exception:  # of a file that is mutated, or refused
        return ["u"]


def _file_of(table: dict[str, Any], name: str, seed: str, size: str) -> str:
    keys = [*map(table.get, ("grid", "equation", "walls")), name, seed, size]  # of a mutated table any may be missing
    folder = Path(os.environ.get("SLABWAVE_TESTS", tempfile.gettempdir())) / "slabwave-starts"
    path = folder / f"{hashlib.sha256(json.dumps(keys).encode()).hexdigest()[:20]}.npy"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        try:
            np.save(path, random_values(table, name, int(seed), float(size)))
        except Exception:  # of a file that is mutated, or refused
            np.save(path, np.zeros(8))
    return str(path)


def random_values(table: dict[str, Any], name: str, seed: int, size: float) -> np.ndarray:
    """Values at the points of a random field that meets its conditions."""
    shape = table["grid"]["shape"]
    system = runs.system_of(table)
    noise = np.random.default_rng(seed)
    values = {one: size * noise.standard_normal((len(system.mine(one)), *shape)) for one in system.fields}
    at_rest = system.values_of(system.nothing)
    return system.values_of(system.fields_of({one: v + at_rest[one] for one, v in values.items()}))[name]


def given_start(table: dict[str, Any]) -> dict[str, np.ndarray]:
    """Values at the points from which a run may start, by field name."""
    system, initial, found = runs.system_of(table), table.get("initial", {}), {}
    initial = {next(iter(system.fields)): initial} if "name" in initial else initial
    for name in system.fields:
        words = initial.get(name, {}).get("path", "random 0 0.2").split()
        found[name] = random_values(table, name, int(words[1]), float(words[2]))
    return runs.start_of(table, found)
