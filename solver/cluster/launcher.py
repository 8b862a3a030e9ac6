"""Decides which launcher started this process, how many processes there are, and the number of this one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from solver.cluster import mpi, slurm, tpu
from solver.cluster.addresses import host_and_port
from solver.cluster.launch import JOIN_SECONDS, Launch, LaunchError


def find_launch(
    environment: Mapping[str, str],
    coordinator: str | None = None,
    processes: int | None = None,
    process: int | None = None,
    *,
    keep_mpi: bool = False,
    join_limit: float = JOIN_SECONDS,
) -> Launch:
    """Decide how this process joins its job.

    The first that applies counts: an explicit address; MPI, if mpiexec started several processes (also inside a Slurm
    job); Slurm, under srun; JAX, on a TPU pod; else the process is alone. Processes of MPI exchange their address
    here, all others meet in `join`.

    Args:
        environment: environment of this process.
        coordinator, processes, process: an explicit address.
        keep_mpi: leave MPI running until the program ends, since something else is going to use it.
        join_limit: seconds that processes wait for each other.

    Raises:
        LaunchError: half an address, a port out of range, a limit that is not positive; an address that contradicts
            the launcher; several processes started by a launcher that gives them no way to meet (each would run alone,
            and all would write the same files).
    """
    if not join_limit > 0:
        raise LaunchError(f"--join-limit {join_limit:g}: a positive number of seconds is needed")
    return replace(_launch(environment, (coordinator, processes, process), keep_mpi), join_limit=join_limit)


def _launch(
    environment: Mapping[str, str], address: tuple[str | None, int | None, int | None], keep_mpi: bool
) -> Launch:
    if address != (None, None, None):
        return _explicit(environment, *address)
    started = mpi.started(environment)
    if started is not None and started.processes != 1:
        return mpi.meet(started, environment, keep=keep_mpi)
    if started is None and slurm.tasks(environment) > 1:
        return slurm.find(environment)
    pod = tpu.find(environment)
    if pod is not None:
        return pod
    _refuse_lonely(environment)
    return Launch("one process")


def _explicit(
    environment: Mapping[str, str], coordinator: str | None, processes: int | None, process: int | None
) -> Launch:
    if coordinator is None or processes is None or process is None:
        raise LaunchError("--coordinator HOST:PORT, --processes N and --process I go together; one is missing")
    if not re.fullmatch(r".+:\d+", coordinator):
        raise LaunchError(f"--coordinator {coordinator}: HOST:PORT is needed")
    if not 1 <= host_and_port(coordinator)[1] <= 65535:
        raise LaunchError(f"--coordinator {coordinator}: a port from 1 to 65535 is needed")
    if processes < 1:
        raise LaunchError(f"--processes {processes}: 1 or more is needed")
    if not 0 <= process < processes:
        raise LaunchError(f"--process {process} of --processes {processes}: 0 to {processes - 1} is needed")
    started = mpi.started(environment)
    by, count, *local = ("srun", slurm.tasks(environment), *slurm.local_place(environment))
    if started is not None:
        by, count, *local = (started.by, started.processes or 1, started.local_processes, started.local_process)
    if count > 1 and count != processes:
        raise LaunchError(f"--processes {processes}, but {by} started {count}; they must be equal")
    if processes == 1:
        return Launch("explicit address")
    return Launch("explicit address", processes, process, coordinator, *local)


def _refuse_lonely(environment: Mapping[str, str]) -> None:
    """Refuse a process that is one of several but would run alone."""
    tasks = int(environment.get("SLURM_NTASKS") or 1)
    if "SLURM_JOB_ID" in environment and not slurm.in_step(environment) and tasks > 1:
        raise LaunchError(
            f"Slurm job {environment['SLURM_JOB_ID']} has {tasks} tasks, but this process was started without srun "
            "and would run alone; start it with srun"
        )
    if "JOB_COMPLETION_INDEX" in environment:
        raise LaunchError(
            f"this is pod {environment['JOB_COMPLETION_INDEX']} of an Indexed Job of Kubernetes and would run alone; "
            "give each pod --coordinator HOST:PORT --processes N --process $JOB_COMPLETION_INDEX, as "
            "kubernetes/jobset.yaml does"
        )
