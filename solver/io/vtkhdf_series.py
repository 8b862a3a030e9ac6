"""snapshots.hdf.series: the list of a run's VTKHDF files with their times, which ParaView opens as one animation."""

from __future__ import annotations

import json
from pathlib import Path

import h5py

from solver.io.files import write_text

NAME = "snapshots.hdf.series"  # ParaView 5.11 takes .hdf.series, not .vtkhdf.series, and no .pvd of VTKHDF files


def series_path(folder: Path) -> Path:
    """Path of the list in a folder of snapshots."""
    return folder / NAME


def update_series(folder: Path) -> None:
    """Bring the list up to date with the files in the folder; first process only.

    Raises:
        DiskError: the list could not be written; it is unchanged.
    """
    path = series_path(folder)
    companions = sorted(folder.glob("step-*.hdf"), key=lambda file: int(file.stem[5:]))
    if not companions:
        path.unlink(missing_ok=True)
        return
    known = _listed(path)
    times = {file.name: known[file.name] if file.name in known else _time(file) for file in companions}
    files = [{"name": name, "time": t} for name, t in times.items()]
    write_text(path, json.dumps({"file-series-version": "1.0", "files": files}, indent=1) + "\n")


def _listed(path: Path) -> dict[str, float]:
    """Names and times of a list; empty if it is missing or damaged."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["files"]
        return {entry["name"]: float(entry["time"]) for entry in entries}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _time(companion: Path) -> float:
    """Time of the snapshot of a VTKHDF file."""
    with h5py.File(companion.with_suffix(".h5"), "r") as file:
        return float(file.attrs["time"])
