"""`info` and `verify`: what a run's directory says, without touching a device."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from solver.config import ConfigError, read_toml
from solver.io import (
    CheckpointError,
    RunDirectory,
    list_checkpoints,
    read_manifest,
    verify_data,
)
from solver.io import verify as verify_checkpoint

DAMAGED = 1


def _open(path: str) -> RunDirectory:
    directory = RunDirectory(Path(path))
    if not directory.run_file.exists():
        raise ConfigError(f"{path} holds no run: {directory.run_file} does not exist")
    return directory


def info(options: argparse.Namespace) -> int:
    """`info DIR`: what it is, and where it stands."""
    directory = _open(options.directory)
    table = read_toml(directory.run_file)
    grid, time = table["grid"], table["time"]
    control = f"step = {time['step']}" if "step" in time else f"cfl = {time['cfl']}"
    lines = {
        "run": table.get("title") or "untitled",
        "equation": _with_parameters(table["equation"]),
        "grid": f"{'×'.join(map(str, grid['shape']))} {grid['dealias']}, {grid['precision']}",
        "start": _start(table["initial"]),
        "forcing": _start(table["forcing"]) if "forcing" in table else "none",
        "time": f"{time['stepper']}, {control}, until t = {time['end']}",
        "stands at": _standing(directory, time["end"]),
        "last row": _last_row(directory),
        "snapshots": str(len(list(directory.snapshots.glob("step-*.h5")))),
        "checkpoints": _checkpoints(directory),
        "made by": _made_by(directory),
    }
    for name, text in lines.items():
        print(f"{name + ':':13}{text}")
    return 0


def _start(table: dict[str, Any]) -> str:
    """Of one field, or of several by name."""
    if "name" in table:
        return _with_parameters(table)
    return "; ".join(f"{field}: {_with_parameters(one)}" for field, one in table.items())


def _with_parameters(table: dict[str, Any]) -> str:
    parameters = ", ".join(f"{k} = {v}" for k, v in table.items() if k != "name")
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


def _made_by(directory: RunDirectory) -> str:
    try:
        start = json.loads(directory.provenance.read_text())
    except (OSError, ValueError):
        return "unknown"
    versions = ", ".join(f"{k} {v}" for k, v in start["versions"].items())
    starts = 1 + len(start["earlier"])
    return f"{versions}; {len(start['devices'])} devices; started {starts} time{'s' if starts > 1 else ''}"


def verify(options: argparse.Namespace) -> int:
    """`verify DIR`: read everything that carries a checksum; exit code 1 if anything is damaged."""
    directory = _open(options.directory)
    checked: dict[Path, list[str]] = {p: verify_checkpoint(p) for p in list_checkpoints(directory.checkpoints)}
    data = [
        *sorted(directory.snapshots.glob("step-*.h5")),
        *([directory.spectra] if directory.spectra.exists() else []),
    ]
    checked |= {path: verify_data(path) for path in data}
    for path, problems in checked.items():
        print(f"{'DAMAGED' if problems else 'ok':8}{path.relative_to(directory.path)}")
        for problem in problems:
            print(f"        {' '.join(problem.split())}")
    damaged = sum(bool(problems) for problems in checked.values())
    print(f"{len(checked)} checked, {damaged} damaged")
    return DAMAGED if damaged else 0
