"""A run beside itself: continued, as a member of an ensemble, read."""

from __future__ import annotations

import signal
import tomllib
from pathlib import Path
from typing import Any
from unittest import mock

import h5py
import numpy as np

import solver as sw
from fuzz.running import (
    STOPPED,
    TOLERANCE,
    Fault,
    Table,
    carried_out,
    command,
    one_line,
    precision_of,
    series,
    succeed,
    write,
)  # fmt: skip
from solver.io.series import SeriesFile

OF_ROUNDING = ("imbalance", "drift", "max_divergence")  # columns that hold nothing else


def continued_with_the_same_bits(table: Table, folder: Path) -> str:
    """A run that is ended or stopped half-way and resumed has the bits of one that is not."""
    into = carried_out(table, folder)
    if into is None:
        return "refused"
    rows = series(into)
    path, parts, steps = str(folder / "run.toml"), folder / "parts", int(rows[-1]["step"])
    words = ["run", path, "--resume", f"output.directory={parts}"]
    if "step" in table["time"]:
        succeed([*words, f"time.end={rows[steps // 2]['t']!r}"], "the first half")
    else:  # the last step before an end is made to meet it: another run
        _stop_after(steps // 2, words)
    succeed(words, "the second half")
    for file in ("series.csv", f"snapshots/step-{steps:08d}.h5"):
        if not same(into / file, parts / file):
            raise Fault(f"{file} differs after a resumption at step {steps // 2}")
    return "same bits"


def _stop_after(rows: int, words: list[str]) -> None:
    """Carry out a command that is told to stop when so many rows of its series are written."""
    append, written = SeriesFile.append, 0

    def counting(self: Any, row: Any, layout: Any) -> None:
        nonlocal written
        append(self, row, layout)
        written += 1
        if written == rows + 1:
            signal.raise_signal(signal.SIGTERM)

    with mock.patch.object(SeriesFile, "append", counting):
        code, said = command(*words)
    if code not in (0, STOPPED):
        raise Fault(f"told to stop after {rows} steps: ends with {code}: {said[-300:]}")


def members_together_are_what_they_are_alone(table: Table, folder: Path) -> str:
    """Two members of an ensemble, which differ in seeds and a parameter, have the series that each has by itself."""
    if carried_out(table, folder) is None:
        return "refused"
    seed = table["random"]["seed"]
    draw: dict[str, Any] = {"random.seed": "member"}
    numbers = [k for k, v in table["equation"].items() if isinstance(v, float) and v > 0]
    for key in numbers[:1]:
        low, high = 0.8 * table["equation"][key], 1.1 * table["equation"][key]
        kind = ["uniform", "log_uniform", "choice"][seed % 3]
        draw[f"equation.{key}"] = {kind: [low, high]}
    both = {**table, "ensemble": {"members": 2, "draw": draw}}
    code, said = command("run", write(both, folder, "both.toml"), f"output.directory={folder / 'both'}")
    if code == 2 and one_line(said):
        return "refused together"
    if code:
        raise Fault(f"members end with {code}: {said[-300:]}")
    for number in (0, 1):
        _same_alone(table, folder, number, numbers[:1], draw)
    return "same together"


def _same_alone(table: Table, folder: Path, number: int, keys: list[str], draw: dict[str, Any]) -> None:
    """Fault unless a member has the series of a run with its seed and its drawn values."""
    place, into = folder / "both" / f"member-{number:04d}", folder / f"alone-{number}"
    words = [f"random.seed={table['random']['seed'] + number}"]
    own = tomllib.loads((place / "config.toml").read_text())
    for key in keys:
        value = own["equation"][key]
        if not 0.799 * table["equation"][key] <= value <= 1.101 * table["equation"][key]:
            raise Fault(f"member {number} has {key} = {value!r}, drawn as {draw[f'equation.{key}']}")
        words.append(f"equation.{key}={value!r}")
    code, said = command("run", str(folder / "run.toml"), *words, f"output.directory={into}")
    if code:
        raise Fault(f"member {number} alone ends with {code}: {said[-300:]}")
    _same_series(series(place), series(into), number, 10 * TOLERANCE[precision_of(table)])


def _same_series(rows: list[dict[str, float]], wanted: list[dict[str, float]], number: int, bound: float) -> None:
    if [row["step"] for row in rows] != [row["step"] for row in wanted] or set(rows[0]) != set(wanted[0]):
        raise Fault(f"member {number} has other rows or columns than alone")
    if any(np.isnan(value) for row in wanted for value in row.values()):  # it blows up
        return
    counted = [value for row in wanted for name, value in row.items() if name not in ("step", "t", "cfl")]
    largest = max((abs(value) for value in counted if np.isfinite(value)), default=0.0)
    for name in wanted[0]:
        size = max(1e-4 * largest, max(abs(row[name]) for row in wanted))  # a mean of 0 is one of rounding
        size = max([size, *(abs(row.get(name.partition("_from_")[0], 0)) for row in wanted)])
        pairs = [(row[name], other[name]) for row, other in zip(rows, wanted, strict=True)]
        error = max((abs(a - b) for a, b in pairs if a != b), default=0.0)  # k_max η may be infinite in both
        if not error <= bound * size and not name.endswith(OF_ROUNDING):
            raise Fault(f"column {name} of member {number} differs by {error:.2e} of {size:.2e}")


def same(one: Path, other: Path) -> bool:
    if one.suffix == ".csv":
        return one.read_bytes() == other.read_bytes()
    with h5py.File(one) as a, h5py.File(other) as b:
        return set(a) == set(b) and all(_same_values(a[name][()], b[name][()]) for name in a)


def _same_values(one: Any, other: Any) -> bool:
    """Whether two arrays have the same values; what is not known (NaN) in both is the same."""
    return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind in "fc")


def read_by_every_command(table: Table, folder: Path) -> str:
    """`info`, `verify`, `report` and `plot` read what a run wrote, and so does `open_run`."""
    into = carried_out(table, folder)
    if into is None:
        return "refused"
    try:
        opened = sw.open_run(into)
        records = {name: opened.records[name].load() for name in opened.records}
        if len(opened.series["step"]) != len(series(into)) or "series" in records:
            raise Fault("open_run: other rows than series.csv")
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise Fault(f"open_run: {type(error).__name__}: {str(error)[:300]}") from error
    for name in ("info", "verify", "report", "plot"):
        succeed([name, str(into)], name)
    return "read"
