"""A run's directory: what lies where, whether it is taken, and what made it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

from solver.io.files import write_text

PACKAGES = ("slabwave", "jax", "jaxlib", "numpy", "h5py", "jaxdecomp", "mpi4py")


@dataclass(frozen=True)
class RunDirectory:
    """Names of a run's files."""

    path: Path

    @property
    def run_file(self) -> Path:
        """The resolved run file."""
        return self.path / "config.toml"

    @property
    def provenance(self) -> Path:
        """Versions, devices, command lines."""
        return self.path / "provenance.json"

    @property
    def log(self) -> Path:
        """The log file."""
        return self.path / "log.txt"

    @property
    def series(self) -> Path:
        """The CSV file of scalars against time."""
        return self.path / "series.csv"

    def records(self, name: str) -> Path:
        """The HDF5 file of an output that records arrays against time, such as `spectra`."""
        return self.path / f"{name}.h5"

    @property
    def snapshots(self) -> Path:
        """Folder of the snapshots."""
        return self.path / "snapshots"

    @property
    def slices(self) -> Path:
        """Folder of the slices."""
        return self.path / "slices"

    @property
    def statistics(self) -> Path:
        """Folder of means and variances over time."""
        return self.path / "statistics"

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"

    @property
    def folders(self) -> tuple[Path, ...]:
        """All folders that a run writes files into, its own included."""
        return (self.checkpoints, self.snapshots, self.slices, self.statistics, self.path)

    def existing_files(self) -> list[str]:
        """Names in the directory that show a run was here; empty if it is free."""
        files = (self.run_file, self.series, self.records("spectra"), *self.folders)
        return [path.name for path in files if path.exists() and path != self.path]


def record_provenance(path: Path, devices: Sequence[jax.Device], notes: Sequence[str] = ()) -> None:
    """Write what this start runs with; what earlier starts of the run had stays under `earlier`.

    Args:
        path: of provenance.json.
        devices: that the run uses.
        notes: what differs from what was asked for.
    """
    try:
        before = json.loads(path.read_text())
        earlier = [*before.pop("earlier"), before]
    except (OSError, ValueError, KeyError):
        earlier = []
    write_text(path, json.dumps({**_this_start(devices), "notes": list(notes), "earlier": earlier}, indent=1) + "\n")


def _this_start(devices: Sequence[jax.Device]) -> dict[str, Any]:
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": sys.argv,
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
        "git": _git_revision(),
        "host": platform.node(),
        "processes": jax.process_count(),
        "devices": [f"{d.platform}:{d.id} {d.device_kind}" for d in devices],
        "environment": {k: v for k, v in sorted(os.environ.items()) if k == "XLA_FLAGS" or k.startswith("SLURM_")},
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _git_revision() -> str | None:
    """Of the source this package runs from, `-dirty` where it was changed since; None outside a checkout."""
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=40"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
