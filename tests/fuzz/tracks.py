"""What a run wrote of its particles beside the second program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from reference.control import due
from reference.runs import STREAMS

from fuzz.running import Fault, Table


def places_at_start(into: Path, table: Table, system: Any) -> dict[str, np.ndarray]:
    """Positions `(particle, direction)` at the start by name, of the kinds that the second program knows.

    Not of drag in exponential steppers, which take it exactly.
    """
    unknown = {"brownian", *(["inertial"] if table["time"]["stepper"].startswith(("etd", "krogstad")) else [])}
    is_known = "velocity" in STREAMS.get(table["equation"]["name"], {}) or system.fields.get("velocity") == "vector"
    found = {}
    for name, one in table.get("particles", {}).items() if is_known else ():
        if one.get("kind") not in unknown and "release" not in one and one.get("precision") != "float32":
            with h5py.File(into / "particles" / f"{name}.h5") as file:
                found[name] = file["position"][0]
            _check_start(name, one, found[name], system.box)
    return found


def _check_start(name: str, section: Table, x: np.ndarray, box: Any) -> None:
    if len(x) != section["count"] or (x < 0).any() or (x >= box.lengths).any():
        raise Fault(f"particles {name} start at {x.tolist()} in a box of {box.lengths.tolist()}")
    if section.get("start") == "lattice":
        d = box.dimensions
        n = round(len(x) ** (1 / d))
        wanted = (np.stack(np.meshgrid(*[np.arange(n) + 0.5] * d, indexing="ij"), -1) / n * box.lengths).reshape(-1, d)
        if not np.allclose(x, wanted, rtol=1e-6):
            raise Fault(f"particles {name} on a lattice start at {x.tolist()}")


def compare_tracks(into: Path, table: Table, course: Any, bound: float) -> None:
    """Positions, and velocities of inertial particles, after the steps that the schedule says."""
    numbers = due(table["output"].get("particles", {}), course)
    for name in course.problem.carried:
        with h5py.File(into / "particles" / f"{name}.h5") as file:
            if file["step"][()].tolist() != numbers:
                raise Fault(f"particles/{name}.h5 has rows of the steps {file['step'][()].tolist()}, not {numbers}")
            for row, number in enumerate(numbers):
                tracks = course.problem.tracks(course.states[number])[name]
                for column, wanted in zip(("position", "velocity"), tracks, strict=False):
                    error, size = np.abs(file[column][row] - wanted).max(), np.abs(wanted).max()
                    size = max(size, course.system.box.lengths.max())
                    if not error <= 30 * bound * size:
                        raise Fault(
                            f"{column} of particles {name} at step {number} differs by {error:.2e} of {size:.2e}"
                        )
