"""provenance.json: versions, devices and command lines of a run."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

from solver.io.files import write_text
from solver.operators import GENERATOR

PACKAGES = ("slabwave", "jax", "jaxlib", "numpy", "h5py", "jaxdecomp", "mpi4py")
# users mail and publish this file: only listed variables are kept, since others hold credentials (SLURM_JWT)
KEPT_VARIABLES = (
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_CLUSTER_NAME",
    "SLURM_CPUS_ON_NODE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_GPUS_ON_NODE",
    "SLURM_GPUS_PER_NODE",
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_QOS",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_RESTART_COUNT",
    "SLURM_STEP_ID",
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_NUM_NODES",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "XLA_FLAGS",
)


def record_provenance(path: Path, devices: Sequence[jax.Device], notes: Sequence[str] = ()) -> None:
    """Write versions, devices and command line of this start; records of earlier starts are kept under `earlier`.

    Args:
        path: path of provenance.json.
        devices: the devices of the run.
        notes: differences from the request of the user.
    """
    try:
        before = json.loads(path.read_text())
        earlier = [_without_secrets(start) for start in [*before.pop("earlier"), before]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        earlier = []
    write_text(path, json.dumps({**_this_start(devices), "notes": list(notes), "earlier": earlier}, indent=1) + "\n")


def kept_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that may be stored and shown to others: `KEPT_VARIABLES`."""
    return {name: environment[name] for name in KEPT_VARIABLES if name in environment}


def _without_secrets(start: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded start without other variables than `KEPT_VARIABLES`: older versions recorded every variable."""
    return {**start, "environment": kept_variables(start.get("environment", {}))}


def _this_start(devices: Sequence[jax.Device]) -> dict[str, Any]:
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": sys.argv,
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := version_of(name))},
        "git": _git_revision(),
        "host": platform.node(),
        "processes": jax.process_count(),
        "devices": [f"{d.platform}:{d.id} {d.device_kind}" for d in devices],
        "random": {"generator": GENERATOR, "partitionable": True},
        "environment": kept_variables(os.environ),
    }


def version_of(name: str) -> str | None:
    """The version of an installed package; None if it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _git_revision() -> str | None:
    """Git revision of the source of this package, with `-dirty` if it has changes; None outside a checkout."""
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
