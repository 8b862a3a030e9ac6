"""What is asked of a run file that was invented: `TRIALS`, each a function of the table and a folder.

A trial raises `Fault` with one line where the program is wrong, whatever else it may print.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np
import tomli_w
from reference import runs

from solver.cli.main import main

Table = dict[str, Any]
TOLERANCE = {"float64": 1e-10, "float32": 3e-4}  # of the largest value, where the start's rounding does not grow


BLOWN_UP = 3  # exit code
OF_ROUNDING = ("imbalance", "drift", "max_divergence")  # columns that hold nothing else


class Fault(Exception):
    """The program is wrong: one line."""


def command(*words: str) -> tuple[int, str]:
    """Exit code and what was printed, of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(words))
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue() + err.getvalue()


def write(table: Table, folder: Path, name: str = "run.toml") -> str:
    path = folder / name
    path.write_bytes(tomli_w.dumps(table).encode())
    return str(path)


def _one_line(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.startswith("slabwave: error:")]
    return len(lines) == 1 and "Traceback" not in text


def carried_out(table: Table, folder: Path) -> Path | None:
    """The directory of the run, finished; None if it is refused, by `check` as by `run`, in one line."""
    path, into = write(table, folder), folder / "run"
    try:
        checked, said = command("check", path)
        code, printed = command("run", path, f"output.directory={into}")
    except Exception as error:
        raise Fault(f"traceback of {type(error).__name__}: {str(error)[:300]}") from error
    if checked == 2 or code == 2:
        if checked != code:
            raise Fault(f"check ends with {checked}, run with {code}: {said[-300:]} | {printed[-300:]}")
        if not _one_line(said) or not _one_line(printed):
            raise Fault(f"refused, but not in one line: {said[-300:]} | {printed[-300:]}")
        shutil.rmtree(into, ignore_errors=True)
        return None
    if code not in (0, BLOWN_UP):
        raise Fault(f"run ends with {code}: {printed[-400:]}")
    return into if code == 0 else None


def snapshot(folder: Path, step: int, system: Any) -> dict[str, np.ndarray]:
    """Values `(component, *points)` by field."""
    found = {}
    with h5py.File(folder / "snapshots" / f"step-{step:08d}.h5") as file:
        for name, rank in system.fields.items():
            if rank == "wavefunction":
                shown = "psi" if name == "wavefunction" else name
                values = file[f"{shown}_real"][()] + 1j * file[f"{shown}_imag"][()]
            else:
                values = file[name][()]
            is_scalar = values.ndim == system.box.dimensions
            found[name] = values[None] if is_scalar else np.moveaxis(values, -1, 0)
    return found


def series(folder: Path) -> list[dict[str, float]]:
    with open(folder / "series.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return [{name: float(value) for name, value in row.items()} for row in rows]


def same_as_the_reference(table: Table, folder: Path) -> str:
    """Fields at the end and columns of the series are those of the second program, from the same start."""
    into = carried_out(table, folder)
    if into is None:
        return "refused"
    rows = series(into)
    steps, system = int(rows[-1]["step"]), runs.system_of(table)
    times = None if "step" in table["time"] else [row["t"] for row in rows]
    _check_control(table["time"], rows)
    start, end = (snapshot(into, step, system) for step in (0, steps))
    with np.errstate(all="ignore"):
        found, columns, spectra = runs.run(table, start, range(steps + 1), times)
        growth = _growth(table, start, found, times)
    if growth is None:
        return "grows"
    bound = TOLERANCE[table["grid"].get("precision", "float64")] * growth
    for name, values in found.items():
        size = np.abs(values).max()
        error = np.abs(values - end[name]).max()
        if not error <= bound * (size + np.abs(start[name]).max()):
            raise Fault(f"field {name} at the end differs by {error:.2e} of {size:.2e}")
    is_aliased = table["grid"].get("dealias", "two-thirds") not in ("two-thirds", "three-halves", "one-half")
    _compare_columns(rows, columns, bound, is_aliased=is_aliased)
    _compare_spectra(into / "spectra.h5", *spectra, bound)
    return "same"


def _check_control(time: Table, rows: list[dict[str, float]]) -> None:
    """Each step is as long as `cfl` or `max_step` lets it be, but for the last, which ends at `end`."""
    if rows[-1]["t"] != time["end"] and abs(rows[-1]["t"] - time["end"]) > 1e-9 * time["end"]:
        raise Fault(f"the run ends at t = {rows[-1]['t']!r}, not at {time['end']!r}")
    longest = time.get("max_step", np.inf) * (1 + 1e-6)
    if any(after["t"] - before["t"] > longest for before, after in itertools.pairwise(rows)):
        raise Fault(f"steps are longer than max_step = {time['max_step']}")


def _growth(table: Table, start: Any, found: Any, times: Any) -> float | None:
    """By how much a disturbance of the start grows, one or more; None if the run leaves the numbers or is chaotic."""
    if not all(np.isfinite(values).all() for values in found.values()):
        return None
    noise = np.random.default_rng(0)
    shifted = {name: u * (1 + 1e-7 * noise.standard_normal(u.shape)) for name, u in start.items()}
    other, *_ = runs.run(table, shifted, times=times)
    sizes = [np.abs(u).max() for u in start.values()]
    grown = max(np.abs(other[name] - found[name]).max() / (1e-7 * max(*sizes, 1e-300)) for name in found)
    return max(1.0, grown) if np.isfinite(grown) and grown < 1e3 else None


def _compare_columns(rows: list[dict[str, float]], columns: Any, bound: float, *, is_aliased: bool) -> None:
    sizes = {name: max(abs(row[name]) for row in columns.values()) for name in columns[0]}
    for row in rows:
        for name, value in columns[int(row["step"])].items():
            energy, _, is_budget = name.partition("_from_")
            if name not in row and not is_budget:  # what changes nothing has no column in a budget
                raise Fault(f"series.csv has no column {name}; it has {sorted(row)}")
            if name not in row and name.endswith("_from_nonlinear") and is_aliased:
                continue  # it changes nothing but for aliasing, which the imbalance shows
            size = max(sizes[name], sizes[energy])
            if not abs(row.get(name, 0) - value) <= 30 * bound * size:
                raise Fault(
                    f"column {name} at step {row['step']:g} is {row.get(name, 0):.8g}, not {value:.8g} of {size:.2g}"
                )


def _compare_spectra(path: Path, centres: Any, spectra: Any, bound: float) -> None:
    if not path.exists():
        return
    with h5py.File(path) as file:
        k, count = file["k"][()], len(centres)
        if len(k) < count or not np.allclose(k[:count], centres):
            raise Fault(f"spectra.h5 has shells at {k.tolist()}, not {centres.tolist()}")
        for name, values in spectra.items():
            found = file[name][-1]
            if found[count:].any():  # shells up to the corner of the box of modes, where a rule keeps an ellipsoid
                raise Fault(f"spectrum of {name} beyond the modes that are kept")
            error = np.abs(found[:count] - values).max()
            if not error <= 30 * bound * np.abs(values).max():
                raise Fault(f"spectrum of {name} differs by {error:.2e} of {np.abs(values).max():.2e}")


def continued_with_the_same_bits(table: Table, folder: Path) -> str:
    """A run of fixed steps that is ended half-way and resumed has the bits of one that is not."""
    if "step" not in table["time"]:
        return "steps vary"  # the last one before an end is made to meet it: another run
    into = carried_out(table, folder)
    if into is None:
        return "refused"
    rows = series(into)
    path, parts, steps = str(folder / "run.toml"), folder / "parts", int(rows[-1]["step"])
    for end in (rows[steps // 2]["t"], table["time"]["end"]):
        code, said = command("run", path, "--resume", f"output.directory={parts}", f"time.end={end!r}")
        if code:
            raise Fault(f"ends with {code} on the way: {said[-300:]}")
    for file in ("series.csv", f"snapshots/step-{steps:08d}.h5"):
        if not _same(into / file, parts / file):
            raise Fault(f"{file} differs after a resumption at step {steps // 2}")
    return "same bits"


def members_together_are_what_they_are_alone(table: Table, folder: Path) -> str:
    """The two members of an ensemble, which differ in their seeds, have the series that each has by itself."""
    if carried_out(table, folder) is None:
        return "refused"
    seed = table["random"]["seed"]
    both = {**table, "ensemble": {"members": 2, "draw": {"random.seed": "member"}}}
    code, said = command("run", write(both, folder, "both.toml"), f"output.directory={folder / 'both'}")
    if code == 2 and _one_line(said):
        return "refused together"
    if code:
        raise Fault(f"members end with {code}: {said[-300:]}")
    alone = {0: folder / "run", 1: folder / "second"}
    code, said = command("run", str(folder / "run.toml"), f"random.seed={seed + 1}", f"output.directory={alone[1]}")
    if code:
        raise Fault(f"another seed ends with {code}: {said[-300:]}")
    bound = 10 * TOLERANCE[table["grid"].get("precision", "float64")]
    for number, one in alone.items():
        rows, wanted = series(folder / "both" / f"member-{number:04d}"), series(one)
        if [row["step"] for row in rows] != [row["step"] for row in wanted] or set(rows[0]) != set(wanted[0]):
            raise Fault(f"member {number} has other rows or columns than alone")
        largest = max(abs(value) for row in wanted for name, value in row.items() if name not in ("step", "t", "cfl"))
        for name in wanted[0]:
            size = max(1e-4 * largest, max(abs(row[name]) for row in wanted))  # a mean of 0 is one of rounding
            size = max([size, *(abs(row.get(name.partition("_from_")[0], 0)) for row in wanted)])
            error = max(abs(row[name] - other[name]) for row, other in zip(rows, wanted, strict=True))
            if not error <= bound * size and not name.endswith(OF_ROUNDING):
                raise Fault(f"column {name} of member {number} differs by {error:.2e} of {size:.2e}")
    return "same together"


def _same(one: Path, other: Path) -> bool:
    if one.suffix == ".csv":
        return one.read_bytes() == other.read_bytes()
    with h5py.File(one) as a, h5py.File(other) as b:
        return set(a) == set(b) and all(np.array_equal(a[name][()], b[name][()]) for name in a)


def read_by_every_command(table: Table, folder: Path) -> str:
    """`info` and `verify` read what a run wrote."""
    into = carried_out(table, folder)
    if into is None:
        return "refused"
    for words in (("info", str(into)), ("verify", str(into))):
        try:
            code, said = command(*words)
        except Exception as error:
            raise Fault(f"{words[0]}: traceback of {type(error).__name__}: {str(error)[:300]}") from error
        if code:
            raise Fault(f"{words[0]} ends with {code}: {said[-300:]}")
    return "read"


def _places(table: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every key and of every entry of a list."""
    if not isinstance(table, dict | list):
        return [path]
    entries = table.items() if isinstance(table, dict) else enumerate(table)
    below = [place for key, value in entries for place in _places(value, (*path, key))]
    return below + ([path] if path else [])


def _mutated(table: Table, random: Random) -> tuple[Table, str]:
    """A table with one thing wrong, or odd, and what it is."""
    table = json.loads(json.dumps(table))
    path = random.choice(_places(table))
    holder = table
    for key in path[:-1]:
        holder = holder[key]
    key, value = path[-1], holder[path[-1]]
    ways: list[Any] = [-1, 0, 1e300, 1e-300, float("nan"), float("inf"), "x", [], {}, True, 2, "", [1.0, "2"]]
    if isinstance(holder, dict) and random.random() < 0.25:
        holder[f"{key}x"] = holder.pop(key)
        return table, f"{'.'.join(map(str, path))} misspelt"
    if isinstance(value, list) and value and random.random() < 0.5:
        holder[key] = value[:-1]
    elif isinstance(value, int | float) and random.random() < 0.3:
        holder[key] = -value
    else:
        holder[key] = random.choice(ways)
    return table, f"{'.'.join(map(str, path))} = {holder[key]!r}"


def mutations_are_refused_in_one_line(table: Table, folder: Path) -> str:
    """`check` and `run` refuse a mutated run file in one line, or neither does; never a traceback."""
    random = Random(json.dumps(table))
    for number in range(5):
        other, what = _mutated(table, random)
        place = folder / f"mutation-{number}"
        place.mkdir()
        try:
            path = write(other, place)
        except TypeError:
            continue  # TOML cannot say it
        try:
            checked, said = command("check", path)
        except Exception as error:
            raise Fault(f"{what}: check: traceback of {type(error).__name__}: {str(error)[:200]}") from error
        if checked not in (0, 2) or (checked == 2 and not _one_line(said)):
            raise Fault(f"{what}: check ends with {checked}: {said[-300:]}")
        if checked == 2 or any(other.get(name) != table[name] for name in ("time", "output", "grid")):
            continue  # a run of other steps may be long
        try:
            code, printed = command("run", path, f"output.directory={place / 'run'}")
        except Exception as error:
            raise Fault(f"{what}: run: traceback of {type(error).__name__}: {str(error)[:200]}") from error
        if code not in (0, BLOWN_UP):
            raise Fault(f"{what}: check ends with 0, run with {code}: {printed[-300:]}")
    return "mutated"


TRIALS = {
    "reference": same_as_the_reference,
    "mutations": mutations_are_refused_in_one_line,
    "resume": continued_with_the_same_bits,
    "members": members_together_are_what_they_are_alone,
    "commands": read_by_every_command,
}
