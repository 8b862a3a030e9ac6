"""Runs that are stopped, killed, branched, or continued with other outputs or devices, beside those that are not."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np

from fuzz.beside_itself import same
from fuzz.running import (
    STOPPED,
    TOLERANCE,
    Fault,
    Table,
    carried_out,
    precision_of,
    series,
    succeed,
    write,
)

FOLDERS = ("snapshots", "slices")  # outputs that write a file for each state
ONE_STEP = ("ifrk", "etdrk", "imexrk", "lsrk", "strang", "yoshida")  # steppers without a history


def _halved(table: Table, folder: Path, random: Random) -> tuple[Path, Path, list[dict[str, float]], int] | None:
    """The whole run, a directory for its first part, its rows, and a step in the middle; None if refused."""
    into = carried_out(table, folder)
    if into is None:
        return None
    rows = series(into)
    return into, folder / "parts", rows, random.randint(1, max(1, int(rows[-1]["step"]) - 1))


def outputs_may_change(table: Table, folder: Path) -> str:
    """A run that continues with other outputs and schedules has their rows as from the start: none doubled or mixed."""
    if "step" not in table["time"]:
        return "steps vary"
    random = Random(json.dumps(table))
    every = {name: dict(section) for name, section in table["output"].items() if name != "statistics"}  # of windows
    for section in every.values():
        section.pop("every_time", None)
        section["every_steps"] = 1
    table = {**table, "output": every}
    begun = _halved(table, folder, random)
    if begun is None:
        return "refused"
    into, parts, rows, middle = begun
    schedules = [{name: random.choice([1, 2, 3, 0]) for name in every} for _ in range(2)]
    for end, schedule in zip((rows[middle]["t"], table["time"]["end"]), schedules, strict=True):
        chosen = {name: {**section, "every_steps": schedule[name]} for name, section in every.items() if schedule[name]}
        other = {**table, "output": {**chosen, **({} if schedule["series"] else {"series": False})}}
        path = write(other, folder, "other.toml")
        succeed(["run", path, "--resume", f"output.directory={parts}", f"time.end={end!r}"], f"outputs {chosen}")
    succeed(["verify", str(parts)], "verify")
    last = int(rows[-1]["step"])
    for name in every:
        before, after = (schedule[name] for schedule in schedules)
        wanted = [s for s in range(middle + 1) if before and (s % before == 0 or s in (0, middle))]
        wanted += [s for s in range(middle, last + 1) if after and (s % after == 0 or s in (middle, last))]
        _same_rows(name, into, parts, sorted(set(wanted)), middle, bool(after))
    return "rows as from the start"


def _rows(folder: Path, name: str) -> dict[int, Any]:
    if name in FOLDERS:
        return {int(p.stem.partition("-")[2]): p for p in (folder / name).glob("step-*.h5")}
    if name == "series":
        if not (folder / "series.csv").exists():
            return {}
        with open(folder / "series.csv", encoding="utf-8") as file:
            lines = [dict(row) for row in csv.DictReader(line for line in file if not line.startswith("#"))]
        steps = [int(float(row["step"])) for row in lines]
        if steps != sorted(set(steps)):
            raise Fault(f"series.csv has rows of the steps {steps}")
        return dict(zip(steps, lines, strict=True))
    if name == "particles":
        files = {path.stem: _rows(path.parent, path.stem) for path in (folder / name).glob("*.h5")}
        steps = sorted({step for rows in files.values() for step in rows})
        return {step: {f"{one} {c}": v for one, rows in files.items() for c, v in rows[step].items()} for step in steps}
    if not (folder / f"{name}.h5").exists():
        return {}
    with h5py.File(folder / f"{name}.h5") as file:
        steps = file["step"][()].tolist()
        if steps != sorted(set(steps)):
            raise Fault(f"{name}.h5 has rows of the steps {steps}")
        axes = {column for column in file if file[column].is_scale} - {"t"}  # perhaps as long as there are rows
        columns = {column: file[column][()] for column in file.keys() - axes}
        return {step: {c: v[i].tobytes() for c, v in columns.items()} for i, step in enumerate(steps)}


def _same_rows(name: str, into: Path, parts: Path, wanted: list[int], middle: int, goes_on: bool) -> None:
    whole, found = _rows(into, name), _rows(parts, name)
    extra = {middle} if goes_on else set()  # a run may write at its start what it has not written yet
    if set(found) - extra != set(wanted) - extra:
        raise Fault(f"{name} has rows of the steps {sorted(found)}, not {wanted}, continued at {middle}")
    for step, row in found.items():
        alike = same(whole[step], row) if name in FOLDERS else all(row[c] == whole[step].get(c) for c in row)
        if not alike:
            raise Fault(f"{name}: the row of step {step} differs, continued at {middle}")


def a_branch_goes_on_alike(table: Table, folder: Path) -> str:
    """A branch without changes, of a stepper without history, has the fields of the run; of others, its length."""
    if "step" not in table["time"]:
        return "steps vary"
    begun = _halved(table, folder, Random(json.dumps(table)))
    if begun is None:
        return "refused"
    into, parts, rows, middle = begun
    path = str(folder / "run.toml")
    succeed(["run", path, f"output.directory={parts}", f"time.end={rows[middle]['t']!r}"], "the first part")
    end = f"time.end={table['time']['end']!r}"
    succeed(["resume", str(parts), "--branch", str(folder / "branch"), end], "branch")
    last = f"snapshots/step-{int(rows[-1]['step']):08d}.h5"
    if not (folder / "branch" / last).exists():
        raise Fault(f"a branch has not written {last}")
    if table["time"]["stepper"].startswith(ONE_STEP):
        _round_off(table, into / last, folder / "branch" / last, f"in a branch from step {middle}")
    return "a branch"


def other_devices_round_otherwise(table: Table, folder: Path) -> str:
    """A run that is continued on one device has the fields of one that is not, to round-off."""
    if "step" not in table["time"] or len(table["devices"].get("use", "several")) == 1:
        return "one device"
    begun = _halved(table, folder, Random(json.dumps(table)))
    if begun is None:
        return "refused"
    into, parts, rows, middle = begun
    path, alone = str(folder / "run.toml"), write({**table, "devices": {"use": [0]}}, folder, "alone.toml")
    succeed(["run", path, f"output.directory={parts}", f"time.end={rows[middle]['t']!r}"], "the first part")
    succeed(["run", alone, "--resume", f"output.directory={parts}"], "one device")
    last = f"snapshots/step-{int(rows[-1]['step']):08d}.h5"
    _round_off(table, into / last, parts / last, f"on one device from step {middle}")
    return "round-off"


def _round_off(table: Table, one: Path, other: Path, what: str) -> None:
    with h5py.File(one) as a, h5py.File(other) as b:
        for name in a:
            values = a[name][()]
            if values.dtype.kind != "f":  # names of components
                continue
            error = np.abs(values - b[name][()]).max()
            if not error <= 100 * TOLERANCE[precision_of(table)] * (np.abs(values).max() + 1e-3):
                raise Fault(f"{name} differs by {error:.2e} {what}")


def stopped_and_killed(table: Table, folder: Path) -> str:
    """A process that is told to stop, or killed, at a drawn row, and resumed: the bits of a run that is left alone."""
    random, step = Random(json.dumps(table)), table["time"].get("step", table["time"]["end"] / 20)
    output = {**table["output"], "checkpoints": {"every_steps": random.choice([3, 7, 20])}}
    table = {**table, "time": {**table["time"], "end": round(40 * step, 9)}, "output": output}
    for name, section in output.items():
        output[name] = {k: v for k, v in section.items() if k != "every_time"}
    output["snapshots"] = {"every_steps": 10}
    table["devices"] = {**table["devices"], "virtual": 8}
    into = carried_out(table, folder)
    if into is None:
        return "refused"
    how, parts = random.choice([signal.SIGTERM, signal.SIGKILL]), folder / "parts"
    row = random.randint(0, max(len(series(into)) - 3, 0))
    words = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "solver",
        "run",
        str(folder / "run.toml"),
        f"output.directory={parts}",
    ]
    environment = {**os.environ, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while process.poll() is None and _written(parts / "series.csv") <= row:
        time.sleep(0.002)
    process.send_signal(how)
    said = process.communicate(timeout=300)[0].decode()
    if process.returncode not in (0, STOPPED, -how):
        raise Fault(f"{how.name}: ends with {process.returncode}: {said[-300:]}")
    stopped_at = _written(parts / "series.csv") - 1
    succeed(["run", str(folder / "run.toml"), "--resume", f"output.directory={parts}"], f"after {how.name}")
    files = [p for p in into.rglob("*") if p.suffix in (".h5", ".csv") and "checkpoints" not in p.parts]
    for path in sorted(files):
        if not same(path, parts / path.relative_to(into)):
            raise Fault(f"{path.relative_to(into)} differs after {how.name} at step {stopped_at}")
    return f"{how.name}, {'at the end' if process.returncode == 0 else 'on the way'}"


def _written(path: Path) -> int:
    """Rows of a series so far."""
    return sum(1 for line in path.read_text().splitlines() if line[:1].isdigit()) if path.exists() else 0
