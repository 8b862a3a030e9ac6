"""The time that a job has left."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from datetime import datetime

# when this process started, less the second or two that earlier imports took
STARTED = time.time()


def end_of_job(environment: Mapping[str, str]) -> float | None:
    """When Slurm will end this job [seconds since 1970]; None outside Slurm, or if Slurm does not say."""
    if "SLURM_JOB_ID" not in environment:
        return None
    if environment.get("SLURM_JOB_END_TIME", "").isdigit():
        return float(environment["SLURM_JOB_END_TIME"])
    try:
        text = subprocess.run(
            ["scontrol", "show", "job", _job(environment)],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout
        match = re.search(r"\bEndTime=(\S+)", text)
        return datetime.fromisoformat(match[1]).timestamp() if match else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _job(environment: Mapping[str, str]) -> str:
    """The job's number; in an array never the array's own number, by which Slurm lists all elements."""
    array, element = (environment.get(f"SLURM_ARRAY_{name}_ID") for name in ("JOB", "TASK"))
    return f"{array}_{element}" if array and element else environment["SLURM_JOB_ID"]


def ends_by_limit(limit: float | None, job_ends: float | None) -> bool:
    """True if `limit`, in seconds after the start of this process, comes before the end of the job."""
    return limit is not None and (job_ends is None or STARTED + limit < job_ends)


def seconds_left(limit: float | None, job_ends: float | None) -> float | None:
    """Seconds until the end of the job or until `limit` seconds after the start of this process; the smaller one."""
    now = time.time()
    ends = [] if limit is None else [STARTED + limit]
    ends += [] if job_ends is None else [job_ends]
    return min(ends) - now if ends else None
