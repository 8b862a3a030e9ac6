"""A process's place in its job, and its cores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from signal import Signals

JOIN_SECONDS = 300.0


class LaunchError(ValueError):
    """Processes cannot find each other, or do not match what their launcher started."""


class NotAllThere(RuntimeError):
    """Some processes of the job did not come to the meeting address; the message names them."""


class StoppedWaiting(RuntimeError):
    """A signal came while processes waited for each other.

    Args:
        text: the message for the user.
        signal: the signal that came.
    """

    def __init__(self, text: str, signal: Signals) -> None:
        super().__init__(text)
        self.signal = signal


@dataclass(frozen=True)
class Launch:
    """This process's place in a job.

    Args:
        by: the source: `one process`, `explicit address`, `slurm`, `Open MPI`, `MPICH`, `PMIx` or `TPU pod`.
        processes: number of processes.
        process: number of this process.
        coordinator: `host:port` where they meet; None for a single process, or if JAX finds the address itself.
        local_processes: number of processes on this host, if known, else 1.
        local_process: which of those this is.
        cores: number of cores of this process, if the launcher bound it to some and MPI was asked; else None.
        join_limit: seconds that the processes wait for each other.
    """

    by: str
    processes: int = 1
    process: int = 0
    coordinator: str | None = None
    local_processes: int = 1
    local_process: int = 0
    cores: int | None = None
    join_limit: float = JOIN_SECONDS


def bound_cores() -> set[int]:
    """Numbers of the cores that the system lets this process use; all cores if it cannot say (macOS)."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
