"""Progress of the jobs that share the members of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from solver.io import RunDirectory, live_holder, read_lock


@dataclass(frozen=True)
class JobStatus:
    """Status of a job.

    Args:
        name: name of its folder in `jobs/`, such as `0002-of-0008`.
        state: `running`, `finished`, `stopped`, `blown up`, `failed` or `killed`.
        host, job: host that the job runs or ran on, and its number in Slurm; None if they are not known.
    """

    name: str
    state: str
    host: str | None
    job: str | None


def job_statuses(directory: RunDirectory) -> list[JobStatus]:
    """Status of each job that was started, by the name of its folder; empty if one job carries out the ensemble."""
    return [_status(folder) for folder in sorted(directory.jobs.glob("*-of-*"))]


def jobs_line(jobs: Sequence[JobStatus]) -> str:
    """Number of jobs in each state, with the names of jobs that are neither running nor finished."""
    parts = []
    for state in dict.fromkeys(job.state for job in jobs):
        names = [job.name for job in jobs if job.state == state]
        listed = "" if state in ("running", "finished") else f" ({', '.join(names)})"
        parts.append(f"{len(names)} {state}{listed}")
    return ", ".join(parts)


def _status(folder: Path) -> JobStatus:
    last = read_lock(folder / ".lock")
    state = str(last.get("state", "running"))
    if live_holder(folder):
        state = "running"
    elif state == "running":
        state = "killed"
    return JobStatus(folder.name, state, last.get("host"), last.get("job"))
