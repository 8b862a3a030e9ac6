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
    read_holder,
    step_of,
)

BLEW_UP = ("blew up", "beyond time.energy_limit")
LINE = re.compile(r"\d{4}-\d\d-\d\d [\d:,]+ ([DIWEC]) (.*)")
START = "processes: "  # the first line of each start


@dataclass(frozen=True)
class RunStatus:
    """Status of a run.

    Args:
        status: `running`, `finished`, `stopped`, `blown up` or `empty`.
        step, t: of the newest state that is known; 0 if there is none.
        end: time at which the run ends.
        message: the last line of the log that says how the run ended; empty if none does.
        warnings: warnings and errors of the log, each once.
    """

    status: str
    step: int
    t: float
    end: float
    message: str
    warnings: tuple[str, ...]


def run_status(directory: RunDirectory) -> RunStatus:
    """Read the status from the lock, the log, the series and the checkpoints; changes nothing."""
    holder, lines = read_holder(directory), _log(directory)
    end = float(read_toml(directory.run_file)["time"]["end"])
    step, t = _last_state(directory, holder)
    starts = [number for number, (_, text) in enumerate(lines) if text.startswith(START)]
    last_start = lines[starts[-1] if starts else 0 :]
    blow_up = next((text for level, text in last_start if level == "E" and any(words in text for words in BLEW_UP)), "")
    finished = next((text for _, text in reversed(last_start) if text.startswith("finished: ")), "")
    stopped = next((text for _, text in reversed(last_start) if text.startswith("stopped")), "")
    warnings = tuple(dict.fromkeys(text for level, text in lines if level in "WEC"))
    if is_alive(holder):
        status, message = "running", ""
    elif blow_up:
        status, message = "blown up", blow_up
    elif finished or (t is not None and t >= end * (1 - 1e-9)):
        status, message = "finished", finished
    elif t is None:
        status, message = "empty", lines[-1][1] if lines else ""
    else:
        status, message = "stopped", stopped
    return RunStatus(status, step or 0, t or 0.0, end, message, warnings)


def after_blow_up(directory: RunDirectory) -> str:
    """One line that says how to go on after a blow-up, and from which checkpoint; empty if the run has none."""
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
    """Whether a directory holds an ensemble of runs, one in each of its folders."""
    return directory.run_file.exists() and "ensemble" in read_toml(directory.run_file)


def refuse_ensemble(directory: RunDirectory) -> None:
    """Raises ConfigError if a directory holds an ensemble of runs, where one run is needed."""
    if is_ensemble(directory):
        first = directory.path / member_name(0)
        raise ConfigError(f"{directory.path} holds an ensemble; one of its runs is needed: {first}")


def _log(directory: RunDirectory) -> list[tuple[str, str]]:
    """Level and text of each line of the log; a line without a level, such as of a traceback, counts as `I`."""
    lines: list[tuple[str, str]] = []
    for line in log_of_run(directory):
        match = LINE.match(line)
        lines.append((match[1], match[2]) if match else ("I", line))
    return lines


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
