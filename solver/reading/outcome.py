"""Status of a run: running, finished, stopped, blown up, or nothing written yet; with the warnings of its log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from solver.config import ConfigError, member_name, read_toml
from solver.io import (
    SERIES,
    RunDirectory,
    is_alive,
    list_checkpoints,
    log_of_run,
    newest_healthy,
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
