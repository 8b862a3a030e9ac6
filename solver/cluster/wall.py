"""How much time a job has left."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from datetime import datetime

# when this process began to count; imports before it take a second or two
STARTED = time.time()


def end_of_job(environment: Mapping[str, str]) -> float | None:
    """When Slurm will end this job [seconds since 1970]; None outside Slurm, or where it does not say."""
    if "SLURM_JOB_ID" not in environment:
        return None
    if environment.get("SLURM_JOB_END_TIME", "").isdigit():
        return float(environment["SLURM_JOB_END_TIME"])
    try:
        text = subprocess.run(
            ["scontrol", "show", "job", environment["SLURM_JOB_ID"]],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout
        found = re.search(r"\bEndTime=(\S+)", text)
        return datetime.fromisoformat(found[1]).timestamp() if found else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def ends_by_limit(limit: float | None, job_ends: float | None) -> bool:
    """Whether the given limit comes before the end of the job."""
    return limit is not None and (job_ends is None or STARTED + limit < job_ends)


def seconds_left(limit: float | None, job_ends: float | None) -> float | None:
    """Until the earlier of the given limit, counted from the start of this process, and the end of the job."""
    now = time.time()
    ends = [] if limit is None else [STARTED + limit]
    ends += [] if job_ends is None else [job_ends]
    return min(ends) - now if ends else None
