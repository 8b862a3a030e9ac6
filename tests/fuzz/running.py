"""Runs of the command in this process, and what they wrote."""

from __future__ import annotations

import contextlib
import csv
import io
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import tomli_w
from reference import runs
from reference.control import NotKnown

from fuzz.wall_starts import written_out
from solver.cli.main import main

Table = dict[str, Any]
BLOWN_UP, STOPPED = 3, 75  # exit codes: of a run that blows up, and after a signal
CHECKED = 4  # one of so many run files that run is checked, too
ONLY_A_RUN = ("does not have the values that walls", "initial: ground-state:")  # can tell; what is refused so
TOLERANCE = {"float64": 1e-10, "float32": 3e-4}  # of the largest value, where the start's rounding does not grow


class Fault(Exception):
    """The program is wrong: one line."""


def precision_of(table: Table) -> str:
    """The lowest precision in which a run holds or sends its fields."""
    precisions = {table["grid"].get("precision", "float64"), table["devices"].get("exchange_precision", "float64")}
    return "float32" if "float32" in precisions else "float64"


def command(*words: str) -> tuple[int, str]:
    """Exit code and what was printed, of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(words))
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue() + err.getvalue()


def succeed(words: list[str], what: str) -> None:
    """Raises Fault unless a command ends with 0."""
    try:
        code, said = command(*words)
    except Exception as error:
        raise Fault(f"{what}: traceback of {type(error).__name__}: {str(error)[:300]}") from error
    if code:
        raise Fault(f"{what}: ends with {code}: {said[-300:]}")


def write(table: Table, folder: Path, name: str = "run.toml") -> str:
    path = folder / name
    path.write_bytes(tomli_w.dumps(written_out(table)).encode())
    return str(path)


def one_line(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.startswith("slabwave: error:")]
    return len(lines) == 1 and "Traceback" not in text


def carried_out(table: Table, folder: Path) -> Path | None:
    """The directory of the run, finished; None if it blows up, or is refused, by `check` as by `run`, in one line.

    What a trial before carried out of the same run file lies in `runs`, beside the folder, if there is such a place.
    """
    path, into, runs = write(table, folder), folder / "run", folder.parent / "runs"
    known = runs / sha256(Path(path).read_bytes()).hexdigest()[:16]
    if not known.exists():
        known.mkdir() if runs.exists() else None
        ended = _carried_out(path, into)
        if ended and runs.exists():
            shutil.copytree(into, known / "run")
        return into if ended else None
    if not (known / "run").exists():
        return None
    shutil.copytree(known / "run", into)
    return into


def _carried_out(path: str, into: Path) -> bool:
    """Whether a run file leads to a finished run."""
    try:
        code, printed = command("run", path, f"output.directory={into}")
        asked = code == 2 or sha256(Path(path).read_bytes()).digest()[0] % CHECKED == 0
        checked, said = command("check", path) if asked else (0, "")
    except Exception as error:
        raise Fault(f"traceback of {type(error).__name__}: {str(error)[:300]}") from error
    if code == 2 and checked == 0 and one_line(printed) and any(words in printed for words in ONLY_A_RUN):
        return False
    if checked == 2 or code == 2:
        if checked != code:
            raise Fault(f"check ends with {checked}, run with {code}: {said[-300:]} | {printed[-300:]}")
        if not one_line(said) or not one_line(printed):
            raise Fault(f"refused, but not in one line: {said[-300:]} | {printed[-300:]}")
    elif code not in (0, BLOWN_UP):
        raise Fault(f"run ends with {code}: {printed[-400:]}")
    if code:
        shutil.rmtree(into, ignore_errors=True)
    return not code


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


def compare_fields(table: Table, one: Path, other: Path, what: str, scales: Any = None) -> None:
    """Fault unless the last snapshots of two runs hold the same fields, to what rounding makes of them.

    Args:
        table: the run file.
        one, other: directories of the runs.
        what: is said of the second run.
        scales: by which factor fields of the second are larger.
    """
    with np.errstate(all="ignore"):
        system = runs.system_of(table)
        ends = [snapshot(run, int(series(run)[-1]["step"]), system) for run in (one, other)]
        starts = snapshot(one, 0, system)
        growth = disturbance(table, starts)
    if growth is None:
        return
    bound = 10 * growth * TOLERANCE[precision_of(table)]
    for name, values in ends[0].items():
        error = np.abs(ends[1][name] / (scales or {}).get(name, 1) - values).max()
        size = max(np.abs(values).max(), np.abs(starts[name]).max())
        if not error <= bound * size:
            raise Fault(f"field {name} {what} differs by {error:.2e} of {size:.2e}")


RANDOM = ("ornstein-uhlenbeck", "white-noise")  # forces that the second program does not know


def is_random(table: Table) -> bool:
    """Whether random forces act."""
    section = table.get("forcing", {})
    return any(one["name"] in RANDOM for one in ([section] if "name" in section else section.values()))


def disturbance(table: Table, start: Any, times: Any = None, found: Any = None) -> float | None:
    """By how much a disturbance of the start grows, one or more; None if the run leaves the numbers or is chaotic.

    Args:
        table: the run file.
        start: values at the points.
        times: times and sizes of steps; chosen by default.
        found: values at the end, undisturbed, where they are known already.
    """
    if is_random(table):
        table = {name: section for name, section in table.items() if name != "forcing"}
    try:
        found = runs.run(table, start, times).values(-1) if found is None else found
    except NotKnown:  # how long steps are
        time = table["time"]
        table = {**table, "time": {"stepper": time["stepper"], "step": time["end"] / 4, "end": time["end"]}}
        found = runs.run(table, start, times).values(-1)
    if not all(np.isfinite(values).all() for values in found.values()):
        return None
    noise = np.random.default_rng(0)
    shifted = {name: u * (1 + 1e-7 * noise.standard_normal(u.shape)) for name, u in start.items()}
    other = runs.run(table, shifted, times).values(-1)
    sizes = [np.abs(u).max() for u in start.values()]
    grown = max(np.abs(other[name] - found[name]).max() / (1e-7 * max(*sizes, 1e-300)) for name in found)
    return max(1.0, grown) if np.isfinite(grown) and grown < 1e3 else None
