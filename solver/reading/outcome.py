"""Status of a run, with the warnings of its log, and of the jobs that share an ensemble"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solver.config import ConfigError, member_name, read_toml
from solver.io import (
    SERIES,
    RunDirectory,
    is_alive,
    list_checkpoints,
    live_holder,
    log_of_run,
    newest_healthy,
    read_lock,
    step_of,
)

WARNING = re.compile(r"\d{4}-\d\d-\d\d [\d:,]+ [WEC] (.*)")


@dataclass(frozen=True)
class RunStatus:
    """Status of a run.

    Args:
        status: `running`, `finished`, `stopped`, `blown up` or `empty`.
        step, t: step and time of the newest state that is known; 0 without one.
        end: time at which the run ends.
        message: how the run ended, in one line; empty if nothing was written about it.
        warnings: warnings and errors of the log, each once.
        device_hours: hours of all devices over all starts, each from its start to its last sign of life.
        platform: platform of the devices; empty if it is not known.
    """

    status: str
    step: int
    t: float
    end: float
    message: str
    warnings: tuple[str, ...]
    device_hours: float
    platform: str


def run_status(directory: RunDirectory) -> RunStatus:
    """Read the status that the run has written, its series and its checkpoints; changes nothing."""
    holder, end = directory.read_holder(), float(read_toml(directory.run_file)["time"]["end"])
    step, t = _last_state(directory, holder)
    message = str(holder.get("message", ""))
    if is_alive(holder):
        status, message = "running", ""
    elif holder.get("state") == "blown up":
        status = "blown up"
    elif holder.get("state") == "finished" or (t is not None and t >= end * (1 - 1e-9)):
        status = "finished"
    else:
        status = "empty" if t is None else "stopped"
    hours, platform = float(holder.get("device_hours", 0.0)), str(holder.get("platform", ""))
    return RunStatus(status, step or 0, t or 0.0, end, message, _warnings(directory), hours, platform)


def after_blow_up(directory: RunDirectory) -> str:
    """A line that says how to continue after a blow-up, and from which checkpoint; empty without a checkpoint."""
    paths = list_checkpoints(directory.checkpoints)
    if not paths:
        return ""
    healthy = newest_healthy(paths)
    command = f"`slabwave resume {directory.path} --branch NEW"
    remedy = "with a smaller step (or time.cfl, or more points: grid.shape)"
    if healthy is None:
        return f"no checkpoint is healthy; {command} --from-step N time.step=…` starts from one all the same, {remedy}"
    return f"{command} time.step=…` starts from step {step_of(healthy)}, its last healthy checkpoint, {remedy}"


def is_ensemble(directory: RunDirectory) -> bool:
    """True if a directory holds an ensemble of runs, one in each of its folders."""
    return directory.run_file.exists() and "ensemble" in read_toml(directory.run_file)


def refuse_ensemble(directory: RunDirectory) -> None:
    """Raises ConfigError if a directory holds an ensemble of runs, where one run is needed."""
    if is_ensemble(directory):
        first = directory.path / member_name(0)
        raise ConfigError(f"{directory.path} holds an ensemble; one of its runs is needed: {first}")


def _warnings(directory: RunDirectory) -> tuple[str, ...]:
    return tuple(dict.fromkeys(match[1] for match in map(WARNING.match, log_of_run(directory)) if match))


def _last_state(directory: RunDirectory, holder: dict[str, Any]) -> tuple[int | None, float | None]:
    """Step and time of the newest row or checkpoint, or those in the lock of a live process."""
    known: list[tuple[int, float]] = []
    if "step" in holder:
        known.append((int(holder["step"]), float(holder["t"])))
    last = directory.store.rows(SERIES).last()
    if last:
        known.append((int(last["step"]), last["t"]))
    checkpoints = [path.name for path in list_checkpoints(directory.checkpoints)]
    if checkpoints and not known:
        known.append((int(checkpoints[-1].rpartition("-")[2]), 0.0))
    return max(known) if known else (None, None)


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
