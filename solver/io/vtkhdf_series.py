"""snapshots.hdf.series: the list of a run's VTKHDF files with their times, which ParaView opens as one animation."""

from __future__ import annotations

import json
from pathlib import Path

import h5py

from solver.io.files import write_text

NAME = "snapshots.hdf.series"  # ParaView 5.11 takes .hdf.series, not .vtkhdf.series, and no .pvd of VTKHDF files


def series_path(folder: Path) -> Path:
    """Where the list of a folder of snapshots lies."""
    return folder / NAME


def update_series(folder: Path) -> None:
    """Bring the list up to date with the files that are there; first process only.

    Raises:
        DiskError: it could not be written; it is as it was.
    """
    path = series_path(folder)
    companions = sorted(folder.glob("step-*.hdf"), key=lambda one: int(one.stem[5:]))
    if not companions:
        path.unlink(missing_ok=True)
        return
    known = _listed(path)
    times = {one.name: known[one.name] if one.name in known else _time(one) for one in companions}
    files = [{"name": name, "time": t} for name, t in times.items()]
    write_text(path, json.dumps({"file-series-version": "1.0", "files": files}, indent=1) + "\n")


def _listed(path: Path) -> dict[str, float]:
    """Names and times of a list; none where it is missing or damaged."""
    try:
        return {one["name"]: float(one["time"]) for one in json.loads(path.read_text(encoding="utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _time(companion: Path) -> float:
    """Of the snapshot beside it."""
    with h5py.File(companion.with_suffix(".h5"), "r") as file:
        return float(file.attrs["time"])
