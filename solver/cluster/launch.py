"""A process's place in its job."""

from __future__ import annotations

from dataclasses import dataclass
from signal import Signals

JOIN_SECONDS = 300.0


class LaunchError(ValueError):
    """Processes that cannot find each other, or a launcher and what it started that disagree."""


class NotAllThere(RuntimeError):
    """Processes of the job that did not come to where they meet; the message names them."""


class StoppedWaiting(RuntimeError):
    """A signal came while processes waited for each other.

    Args:
        text: for the user.
        signal: which one.
    """

    def __init__(self, text: str, signal: Signals) -> None:
        super().__init__(text)
        self.signal = signal


@dataclass(frozen=True)
class Launch:
    """This process's place in a job.

    Args:
        by: what said so: `one process`, `explicit address`, `slurm`, `Open MPI`, `MPICH`, `PMIx`, `TPU pod`.
        processes: how many there are.
        process: which one this is.
        coordinator: `host:port` where they meet; None for a single process, and where JAX finds it by itself.
        local_processes: how many share this host, where known.
        local_process: which of those this is.
        cores: that are its own, where the launcher bound it to some; None where nobody asked.
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
