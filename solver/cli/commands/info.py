"""Print what a run is and its status, or the status of all runs below a directory."""

from __future__ import annotations

import argparse
import csv
import json
import time as clock
from dataclasses import asdict
from pathlib import Path
from typing import Any

from solver.cli.directory import open_run, runs_below
from solver.config import read_toml
from solver.io import (
    SERIES,
    CheckpointError,
    OtherFormat,
    RunDirectory,
    ailments_of,
    duration,
    is_alive,
    list_checkpoints,
    read_manifest,
)
from solver.reading import after_blow_up, job_statuses, jobs_line, run_status

FORMAT = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR [--json]`."""
    parser.add_argument("directory", help="a run's directory, or one with runs in it, such as an ensemble's")
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts and monitoring")


def run(options: argparse.Namespace) -> int:
    """Print the properties of a run, one a line, or a table with one line per run."""
    below = runs_below(Path(options.directory))
    directory = None if below else open_run(options.directory)
    values, jobs = _values(Path(options.directory)), job_statuses(RunDirectory(Path(options.directory)))
    if options.json:
        runs = [{**facts(each), "values": values.get(each.path.name, {})} for each in below]
        content = facts(directory) if directory else {"format": FORMAT, "runs": runs, "jobs": list(map(asdict, jobs))}
        print(json.dumps(content, indent=1, ensure_ascii=False))
    elif directory:
        _print_run(directory)
    else:
        _print_table(below, values)
        if len(below) < len(values):
            print(f"{len(below)} of {len(values)} members were begun")
        if jobs:
            print(f"jobs: {jobs_line(jobs)}")
    return 0


def _values(path: Path) -> dict[str, dict[str, str]]:
    """Values that differ between the members of an ensemble, by key; empty for other runs."""
    table = RunDirectory(path).members
    if not table.exists():
        return {}
    with table.open(encoding="utf-8", newline="") as file:
        return {row.pop("member"): row for row in csv.DictReader(file)}


def facts(directory: RunDirectory) -> dict[str, Any]:
    """The content of `--json` for a run: times in seconds, None (null) for unknown numbers."""
    table, now, holder = read_toml(directory.run_file), run_status(directory), _holder(directory)
    return {
        "format": FORMAT,
        "directory": str(directory.path),
        "title": table.get("title", ""),
        "equation": table["equation"]["name"],
        "shape": table["grid"]["shape"],
        "state": now.status,
        "step": now.step,
        "t": now.t,
        "end": now.end,
        "steps_per_second": holder.get("steps_per_second"),
        "seconds_left": holder.get("seconds_left"),
        "host": holder.get("host"),
        "job": holder.get("job"),
        "checkpoints": [path.name for path in list_checkpoints(directory.checkpoints)],
        "snapshots": len(list(directory.snapshots.glob("step-*.h5"))),
        "device_hours": now.device_hours if now.platform else None,
        "platform": now.platform or None,
        "said": now.message,
        "warnings": list(now.warnings),
    }


def _holder(directory: RunDirectory) -> dict[str, Any]:
    """Content of the lock of the process that is running it now; empty without such a process."""
    holder = directory.read_holder()
    return holder if is_alive(holder) else {}


def _print_table(runs: list[RunDirectory], values: dict[str, dict[str, str]]) -> None:
    keys = list(next(iter(values.values()), {}))
    rows = [("run", "state", "step", "t", "end", "device hours", *keys)]
    for directory in runs:
        now, name = run_status(directory), directory.path.name
        own = [_short(values.get(name, {}).get(key, "")) for key in keys]
        used = f"{now.device_hours:.3g}" if now.platform else "–"
        rows.append((name, now.status, str(now.step), f"{now.t:.6g}", f"{now.end:.6g}", used, *own))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip())


def _short(value: str) -> str:
    """A value with six digits, if it is a number."""
    try:
        return f"{float(value):.6g}"
    except ValueError:
        return value


def _print_run(directory: RunDirectory) -> None:
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
        **({"scalars": _scalars(table["scalars"])} if "scalars" in table else {}),
        **({"closure": _with_parameters(table["closure"])} if "closure" in table else {}),
        **_bodies_of(table),
        "time": f"{time['stepper']}, {control}, until t = {time['end']}",
        "stands at": _stands_at(directory, time["end"]),
        "now": _now(directory),
        "last row": _last_row(directory),
        "snapshots": str(len(list(directory.snapshots.glob("step-*.h5")))),
        "checkpoints": _checkpoints(directory),
        "used": _used(directory),
        "made by": _made_by(provenance),
    }
    for number, note in enumerate(provenance.get("notes", [])):
        lines[f"note {number + 1}"] = note
    for name, text in lines.items():
        print(f"{name + ':':13}{text}")


def _start(table: dict[str, Any]) -> str:
    """The start, or forcing, of one field or of several by name."""
    if "name" in table:
        return _with_parameters(table)
    return "; ".join(f"{field}: {_with_parameters(section)}" for field, section in table.items())


def _scalars(tables: dict[str, dict[str, Any]]) -> str:
    """The passive scalars by name, with their parameters."""
    shown = {name: ", ".join(f"{k} = {v}" for k, v in table.items()) for name, table in tables.items()}
    return "; ".join(f"{name} ({parameters})" for name, parameters in shown.items())


def _bodies_of(table: dict[str, Any]) -> dict[str, str]:
    """A line for bodies and one for sponges, where there are any."""
    return {kind: _obstacles(table[kind]) for kind in ("body", "sponge") if kind in table}


def _obstacles(section: dict[str, Any]) -> str:
    """The only body or sponge, or the bodies of a section by name."""
    is_only = not all(isinstance(value, dict) for value in section.values())
    named = {"": section} if is_only else section
    return "; ".join(f"{name}: {_obstacle(table)}" if name else _obstacle(table) for name, table in named.items())


def _obstacle(table: dict[str, Any]) -> str:
    shape = table.get("shape", "")
    shown = {k: v for k, v in table.items() if k != "shape" and v not in (0.0, False, [])}
    parameters = ", ".join(f"{k} = {v}" for k, v in shown.items())
    return f"{shape} ({parameters})" if shape else parameters


def _branch_of(table: dict[str, Any]) -> dict[str, str]:
    """The line that names the origin of a branch; no line for other runs."""
    first = table if "name" in table else next(iter(table.values()))
    return {"branch of": f"{first['path']}, step {first.get('step')}"} if first.get("keep_time") else {}


def _with_parameters(table: dict[str, Any]) -> str:
    shown = {k: v for k, v in table.items() if k not in ("name", "energy_budget") and v != []}
    parameters = ", ".join(f"{k} = {v}" for k, v in shown.items())
    return f"{table['name']}{f' ({parameters})' if parameters else ''}"


def _stands_at(directory: RunDirectory, end: float) -> str:
    now = run_status(directory)
    if now.status == "blown up":
        return "; ".join(filter(None, [now.message, after_blow_up(directory)]))
    for path in reversed(list_checkpoints(directory.checkpoints)):
        try:
            manifest = read_manifest(path)
        except OtherFormat as error:
            return f"{path.name} has {error.reason}"
        except CheckpointError:
            continue
        t = manifest["t"]
        state = "finished" if t >= end * (1 - 1e-12) else f"{100 * t / end:.0f} % done, can be continued"
        return f"step {manifest['step']}, t = {t:.6g}: {state}"
    return "no checkpoint: a continued run starts over"


def _now(directory: RunDirectory) -> str:
    """Say if a process is running it, and when it will be done."""
    holder = directory.read_holder()
    if not holder or holder.get("released"):
        return "no process is running it"
    silent = clock.time() - holder["time"]
    job = f", Slurm job {holder['job']}" if holder.get("job") else ""
    who = f"process {holder['pid']} on {holder['host']}{job}"
    if not is_alive(holder):
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
    last = directory.store.rows(SERIES).last()
    return ", ".join(f"{name} = {value:.6g}" for name, value in last.items()) or "none"


def _checkpoints(directory: RunDirectory) -> str:
    marks = ((path.name, ailments_of(path)) for path in list_checkpoints(directory.checkpoints))
    return ", ".join(f"{name} (not healthy: {'; '.join(bad)})" if bad else name for name, bad in marks) or "none"


def _provenance(directory: RunDirectory) -> dict[str, Any]:
    """Versions and devices of the run's last start; empty if they cannot be read."""
    try:
        return dict(json.loads(directory.provenance.read_text()))
    except (OSError, ValueError):
        return {}


def _used(directory: RunDirectory) -> str:
    now = run_status(directory)
    return f"{now.device_hours:.3g} hours of {now.platform.upper()} devices" if now.platform else "not known"


def _made_by(provenance: dict[str, Any]) -> str:
    if not provenance:
        return "unknown"
    versions = ", ".join(f"{k} {v}" for k, v in provenance["versions"].items())
    starts = 1 + len(provenance["earlier"])
    return f"{versions}; {len(provenance['devices'])} devices; started {starts} time{'s' if starts > 1 else ''}"
