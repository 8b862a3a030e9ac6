"""A run beside the second program: fields, sizes of steps, columns, spectra."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from reference import runs
from reference.control import NotKnown

from fuzz.noise import forces_are_of_their_size
from fuzz.outputs import compare_outputs
from fuzz.running import TOLERANCE, Fault, Table, carried_out, disturbance, is_random, precision_of, series, snapshot
from fuzz.tracks import compare_tracks, places_at_start


def same_as_the_reference(table: Table, folder: Path) -> str:
    """Fields, sizes of steps, and columns of the series are those of the second program, from the same start."""
    into = carried_out(table, folder)
    if into is None:
        return "refused"
    if is_random(table):
        return forces_are_of_their_size(table, folder)
    rows = series(into)
    system, precision = runs.system_of(table), precision_of(table)
    start, end = (snapshot(into, int(rows[i]["step"]), system) for i in (0, -1))
    _check_start(start, runs.start_of(table, start), TOLERANCE[precision])
    times = [(row["t"], row["dt"]) for row in rows]
    places = places_at_start(into, table, system)
    with np.errstate(all="ignore"):
        try:
            course = _course(table, start, times, places, chosen=precision == "float64")
        except AssertionError:  # steps become too short
            return "many steps"
        found = course.values(-1)
        growth = disturbance(table, start, list(zip(course.times, course.sizes, strict=True)), found)
    if growth is None:
        return "grows"
    # what is sealed is of differences of fourth order in the second program
    bound = TOLERANCE[precision] * growth * (100 if "sealed" in repr(table.get("body")) else 1)
    _compare_times(rows, course, bound)
    largest = max(np.abs(values).max() for values in found.values())
    for name, values in found.items():
        size = np.abs(values).max()
        error = np.abs(values - end[name]).max()
        if not error <= bound * (size + np.abs(start[name]).max() + 1e-6 * largest) + 1e-15:
            raise Fault(f"field {name} at the end differs by {error:.2e} of {size:.2e}")
    is_aliased = table["grid"].get("dealias", "two-thirds") not in ("two-thirds", "three-halves", "one-half")
    columns = [course.columns(number) for number in range(len(rows))]
    at_start = max(np.abs(values).max() for values in start.values())
    _compare_columns(rows, columns, bound, at_start, is_aliased=is_aliased)
    if (into / "spectra.h5").exists():
        _compare_spectra(into / "spectra.h5", *course.spectra(-1), bound, at_start**2)
    if course.problem is not None:
        compare_outputs(into, table, course, bound)
        compare_tracks(into, table, course, bound)
    return "same"


def _course(table: Table, start: Any, times: Any, places: Any, *, chosen: bool) -> Any:
    """The run of the second program; with the times of the first where it cannot tell how long steps are."""
    if chosen or "step" in table["time"]:
        with contextlib.suppress(NotKnown):
            return runs.run(table, start, places=places)
    return runs.run(table, start, times, places)


def _compare_times(rows: list[dict[str, float]], course: Any, bound: float) -> None:
    if len(rows) != len(course.times):
        raise Fault(f"series.csv has {len(rows)} rows, not {len(course.times)}")
    for row, t, dt in zip(rows[1:], course.times[1:], course.sizes[1:], strict=True):
        if not abs(row["t"] - t) <= 100 * bound * t or not abs(row["dt"] - dt) <= 100 * bound * t:
            raise Fault(f"step {row['step']:g} is {row['dt']:.9g} long to t = {row['t']:.9g}, not {dt:.9g} to {t:.9g}")


def _check_start(start: Any, wanted: Any, bound: float) -> None:
    for name, values in wanted.items():
        error, size = np.abs(values - start[name]).max(), np.abs(values).max()
        if not error <= bound * size + 1e-14:
            raise Fault(f"field {name} at the start differs by {error:.2e} of {size:.2e}")


def _compare_columns(
    rows: list[dict[str, float]], columns: Any, bound: float, at_start: float, *, is_aliased: bool
) -> None:
    sizes = {name: max(abs(row[name]) for row in columns) for name in columns[0]}
    largest = max((value for value in sizes.values() if np.isfinite(value)), default=0.0)
    # N changes nothing but for aliasing, which the imbalance shows, where it has no column
    unsaid = {name for name in columns[0] if is_aliased and name.endswith("_from_nonlinear") and name not in rows[0]}
    for row in [_with_causes_of(columns[0], row) for row in rows]:
        for name, value in columns[int(row["step"])].items():
            energy, _, is_budget = name.partition("_from_")
            if name not in row and not is_budget:  # what changes nothing has no column in a budget
                raise Fault(f"series.csv has no column {name}; it has {sorted(row)}")
            if name in unsaid:
                continue
            own = [of for other, of in sizes.items() if other in (name, energy) or _one_body(other, name)]
            size = max(*own, 1e-6 * largest)  # what cancels is one of rounding
            size = max(size, 1e-5 * at_start) if name.endswith("_mean") else size  # the mean of fields of this size
            if not abs(row.get(name, 0) - value) <= 30 * bound * size + 1e-18:
                raise Fault(
                    f"column {name} at step {row['step']:g} is {row.get(name, 0):.8g}, not {value:.8g} of {size:.2g}"
                )


def _one_body(name: str, other: str) -> bool:
    """Whether two columns are of one body, whose forces and torques may cancel."""
    bodies = [re.fullmatch(r"(\w+)_(?:force|torque)(?:_[xyz])?", each) for each in (name, other)]
    return all(bodies) and len({found[1] for found in bodies if found}) == 1


def _with_causes_of(columns: Any, row: dict[str, float]) -> dict[str, float]:
    """A row in which causes that the second program does not tell from N, such as `body`, are in that of N."""
    found = dict(row)
    for name, value in row.items():
        energy, is_budget, _ = name.partition("_from_")
        whole = next((n for of in ("nonlinear", "closure") if (n := f"{energy}_from_{of}") in columns), None)
        if is_budget and name not in columns and whole is not None:
            found[whole] = found.get(whole, 0) + value
    return found


def _compare_spectra(path: Path, centres: Any, spectra: Any, bound: float, at_start: float) -> None:
    """At the end; of fields that have all but decayed what is left may be rounding, of the squares at the start."""
    with h5py.File(path) as file:
        k, count = file["k"][()], len(centres)
        if len(k) < count or not np.allclose(k[:count], centres):
            raise Fault(f"spectra.h5 has shells at {k.tolist()}, not {centres.tolist()}")
        largest = max((np.abs(values).max() for values in spectra.values()), default=0.0)
        for name, values in spectra.items():
            found = file[name][-1]
            if found[count:].any():  # shells up to the corner of the box of modes, where a rule keeps an ellipsoid
                raise Fault(f"spectrum of {name} beyond the modes that are kept")
            error = np.abs(found[:count] - values).max()
            # fields that are transformed together are rounded by the size of the largest
            if not error <= 30 * bound * max(np.abs(values).max(), 1e-12 * largest, 1e-24 * at_start):
                raise Fault(f"spectrum of {name} differs by {error:.2e} of {np.abs(values).max():.2e}")
