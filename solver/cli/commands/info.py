"""Say what a run is and where it stands."""

from __future__ import annotations

import argparse
import json
import time as clock
from typing import Any

from solver.cli.directory import open_run
from solver.config import read_toml
from solver.io import (
    DEAD_SECONDS,
    CheckpointError,
    RunDirectory,
    duration,
    list_checkpoints,
    read_lock,
    read_manifest,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`."""
    parser.add_argument("directory", help="a run's directory")


def run(options: argparse.Namespace) -> int:
    """Print it, a line for each thing there is to say."""
    directory = open_run(options.directory)
    table, provenance = read_toml(directory.run_file), _provenance(directory)
    grid, time = table["grid"], table["time"]
    control = next(f"{name} = {time[name]}" for name in ("step", "cfl", "tolerance") if name in time)
    lines = {
        "run": table.get("title") or "untitled",
        "equation": _with_parameters(table["equation"]),
        "grid": f"{'×'.join(map(str, grid['shape']))} {grid['dealias']}, {grid['precision']}",
        "start": _start(table["initial"]),
        **_branch_of(table["initial"]),
        "forcing": _start(table["forcing"]) if "forcing" in table else "none",
        "time": f"{time['stepper']}, {control}, until t = {time['end']}",
        "stands at": _standing(directory, time["end"]),
        "now": _now(directory),
        "last row": _last_row(directory),
        "snapshots": str(len(list(directory.snapshots.glob("step-*.h5")))),
        "checkpoints": _checkpoints(directory),
        "made by": _made_by(provenance),
    }
    for number, note in enumerate(provenance.get("notes", [])):
        lines[f"note {number + 1}"] = note
    for name, text in lines.items():
        print(f"{name + ':':13}{text}")
    return 0


def _start(table: dict[str, Any]) -> str:
    """Of one field, or of several by name."""
    if "name" in table:
        return _with_parameters(table)
    return "; ".join(f"{field}: {_with_parameters(one)}" for field, one in table.items())


def _branch_of(table: dict[str, Any]) -> dict[str, str]:
    """Where a branch comes from; nothing for other runs."""
    first = table if "name" in table else next(iter(table.values()))
    return {"branch of": f"{first['path']}, step {first.get('step')}"} if first.get("keep_time") else {}


def _with_parameters(table: dict[str, Any]) -> str:
    said = {k: v for k, v in table.items() if k not in ("name", "energy_budget") and v != []}
    parameters = ", ".join(f"{k} = {v}" for k, v in said.items())
    return f"{table['name']}{f' ({parameters})' if parameters else ''}"


def _standing(directory: RunDirectory, end: float) -> str:
    for path in reversed(list_checkpoints(directory.checkpoints)):
        try:
            manifest = read_manifest(path)
        except CheckpointError:
            continue
        t = manifest["t"]
        state = "finished" if t >= end * (1 - 1e-12) else f"{100 * t / end:.0f} % done, can be continued"
        return f"step {manifest['step']}, t = {t:.6g}: {state}"
    return "no checkpoint: a continued run starts over"


def _now(directory: RunDirectory) -> str:
    """Whether a process is at it, and when it will be done."""
    holder = read_lock(directory.path / ".lock")
    if not holder or holder.get("released"):
        return "no process is running it"
    silent = clock.time() - holder["time"]
    job = f", Slurm job {holder['job']}" if holder.get("job") else ""
    who = f"process {holder['pid']} on {holder['host']}{job}"
    if silent > DEAD_SECONDS:
        return f"no process is running it; {who} was last heard of {duration(silent)} ago"
    if "step" not in holder:
        return f"{who} is starting it"
    at = f"{who} is at step {holder['step']}, t = {holder['t']:.6g}"
    if "seconds_left" not in holder:
        return at
    left = max(0.0, holder["seconds_left"] - silent)
    ends = clock.strftime("%Y-%m-%d %H:%M", clock.localtime(clock.time() + left))
    return f"{at}; at {holder['steps_per_second']:.3g} steps/s it ends in {duration(left)}, {ends}"


def _last_row(directory: RunDirectory) -> str:
    if not directory.series.exists():
        return "none"
    lines = directory.series.read_text(encoding="utf-8").splitlines()
    if len(lines) < 3:
        return "none"
    pairs = zip(lines[1].split(","), lines[-1].split(","), strict=False)
    return ", ".join(f"{name} = {float(value):.6g}" for name, value in pairs)


def _checkpoints(directory: RunDirectory) -> str:
    return ", ".join(path.name for path in list_checkpoints(directory.checkpoints)) or "none"


def _provenance(directory: RunDirectory) -> dict[str, Any]:
    """What the run was last started with; empty if that cannot be read."""
    try:
        return dict(json.loads(directory.provenance.read_text()))
    except (OSError, ValueError):
        return {}


def _made_by(provenance: dict[str, Any]) -> str:
    if not provenance:
        return "unknown"
    versions = ", ".join(f"{k} {v}" for k, v in provenance["versions"].items())
    starts = 1 + len(provenance["earlier"])
    return f"{versions}; {len(provenance['devices'])} devices; started {starts} time{'s' if starts > 1 else ''}"
