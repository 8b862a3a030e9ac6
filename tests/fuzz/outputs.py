"""Outputs drawn at random with their schedules, and what they wrote beside the second program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from hypothesis import strategies as st
from reference import library
from reference.control import due
from reference.runs import SPLIT

from fuzz.running import Fault, Table
from fuzz.starts import place, sides

OF_ANY = ["line-spectra", "modes", "points", "domain-length"]
OF_REAL = ["zonal-means", "extremes", "structure-functions", "correlations", "pdfs"]
# whose velocity follows from a field, of which the second program makes no vector
STREAMS = {"hasegawa-mima", "hasegawa-wakatani", "vorticity", "two-layer-quasi-geostrophic", "reduced-mhd",
           "surface-quasi-geostrophic"}  # fmt: skip


@st.composite
def outputs(draw: Any, section: dict[str, Any], fields: dict[str, str], grid: dict[str, Any], time: Any) -> Any:
    """`[output]`: series at every step, snapshots and spectra at the end or more often, and one or two more."""
    end, dimensions = time["end"], len(grid["shape"])
    whole = {"series": {"every_steps": 1}, "snapshots": {"every_time": end}, "spectra": {"every_time": end}}
    if section["name"] in SPLIT or draw(st.booleans()):
        return whole
    steps = [{"every_steps": 1}, {"every_steps": 2}, {}]
    schedule = st.sampled_from([*steps, *([] if time["stepper"] == "sbdf3" else [{"every_time": round(end / 3, 6)}])])
    ranks = set(fields.values())
    known = [*OF_ANY, *(["cospectra"] if len(fields) > 1 or "vector" in ranks else [])]
    known += ["transfer"] if section["name"] in library.TABLE or section["name"] in library.BUILT else []
    if "wavefunction" not in ranks and section["name"] not in STREAMS:
        known += OF_REAL if dimensions > 1 else OF_REAL[1:]
    if dimensions > 1 and next(iter(ranks)) == "vector" and len(fields) == 1:
        known.append("scales")
    for name in draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True)):
        whole[name] = dict(draw(schedule))
        if name == "modes":
            whole[name]["modes"] = [[0] * dimensions, [1] + [0] * (dimensions - 1), [-1] * dimensions]
        if name == "points":
            whole[name]["at"] = [draw(place(sides(grid))), [0.123 * side for side in sides(grid)]]
        if name == "pdfs":
            whole[name] |= {"bins": draw(st.sampled_from([7, 20])), "deviations": 3.0}
        if name == "structure-functions":
            whole[name]["orders"] = draw(st.sampled_from([[1, 2], [3]]))
    if draw(st.booleans()):
        whole["snapshots"] = draw(schedule) | {"every_time": end}
        whole["spectra"] = dict(draw(schedule))
    return whole


def compare_outputs(into: Path, table: Table, course: Any, bound: float) -> None:
    """Every record that the second program makes is in the file, after the steps that its schedule says."""
    for name, section in table["output"].items():
        if name in ("series", "snapshots", "statistics", "slices"):
            continue
        numbers = due(section, course)
        wanted = [course.record(name, section, number) for number in numbers]
        with h5py.File(into / f"{name}.h5") as file:
            if file["step"][()].tolist() != numbers:
                raise Fault(f"{name}.h5 has rows of the steps {file['step'][()].tolist()}, not {numbers}")
            found = {column: file[column][()] for column in file}
        _compare(name, wanted, found, bound)


def _compare(name: str, wanted: list[dict[str, Any]], found: dict[str, Any], bound: float) -> None:
    largest = max([0.0, *(np.abs(value).max() for row in wanted for value in row.values())])
    for column in wanted[0]:
        if column not in found:
            if name == "transfer":
                continue
            raise Fault(f"{name}.h5 has no column {column}; it has {sorted(found)}")
        values, other = np.array([row[column] for row in wanted]), found[column]
        size = np.abs(values).max() if name in ("scales", "pdfs", "domain-length") else largest
        if name == "pdfs" and values.ndim > 1:  # values at the edge of a bin
            values, other, size = np.cumsum(values, axis=1), np.cumsum(other, axis=1), 1e9
        error = np.abs(_as(other, values.shape, name, column) - values).max()
        if not error <= 100 * bound * (size + 1e-6 * largest):
            raise Fault(f"{name}.h5: column {column} differs by {error:.2e} of {size:.2e}")


def _as(found: Any, shape: tuple[int, ...], name: str, column: str) -> Any:
    """What was found, without shells beyond the modes that are kept, where nothing is."""
    if (
        found.ndim == 2
        and len(shape) == 2
        and found.shape[1] > shape[1]
        and name in ("spectra", "transfer", "cospectra")
    ):
        if column.endswith("_flux"):
            return found[:, : shape[1]]
        if found[:, shape[1] :].any():
            raise Fault(f"{name}.h5: {column} beyond the modes that are kept")
        return found[:, : shape[1]]
    if found.shape != shape:
        raise Fault(f"{name}.h5: column {column} has the shape {found.shape}, not {shape}")
    return found
