"""Who started this process, and as which of how many. Reads the environment alone."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass


class LaunchError(ValueError):
    """Processes that cannot find each other, or a launcher and arguments that disagree."""


@dataclass(frozen=True)
class Launch:
    """This process's place in a job.

    Args:
        by: what said so: `one process`, `explicit address`, `slurm`.
        processes: how many there are.
        process: which one this is.
        coordinator: `host:port` where they meet; None for a single process.
        local_processes: how many share this host, where known.
        local_process: which of those this is.
    """

    by: str
    processes: int = 1
    process: int = 0
    coordinator: str | None = None
    local_processes: int = 1
    local_process: int = 0


# launcher → variables that say how many processes it started, and which one this is
MPI_VARIABLES = {
    "Open MPI": ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    "MPICH": ("PMI_SIZE", "PMI_RANK"),
}


def find_launch(
    environment: Mapping[str, str],
    coordinator: str | None = None,
    processes: int | None = None,
    process: int | None = None,
) -> Launch:
    """How this process joins its job: by the explicit address if given, else by Slurm, else alone.

    Raises:
        LaunchError: half an address; an address that contradicts the launcher; several processes started by a
            launcher that gives them no way to meet (each would run alone, and all would write the same files).
    """
    if (coordinator, processes, process) != (None, None, None):
        return _explicit(environment, coordinator, processes, process)
    if "SLURM_STEP_NODELIST" in environment and _slurm_tasks(environment) > 1:
        return _slurm(environment)
    _refuse_lonely(environment)
    return Launch("one process")


def _explicit(
    environment: Mapping[str, str], coordinator: str | None, processes: int | None, process: int | None
) -> Launch:
    if coordinator is None or processes is None or process is None:
        raise LaunchError("--coordinator HOST:PORT, --processes N and --process I go together; one is missing")
    if not re.fullmatch(r".+:\d+", coordinator):
        raise LaunchError(f"--coordinator {coordinator}: HOST:PORT is needed")
    if not 0 <= process < processes:
        raise LaunchError(f"--process {process} of --processes {processes}: 0 to {processes - 1} is needed")
    launcher, started = _started_by_launcher(environment)
    if started > 1 and started != processes:
        raise LaunchError(f"--processes {processes}, but {launcher} started {started}; they must be equal")
    if processes == 1:
        return Launch("explicit address")
    return Launch("explicit address", processes, process, coordinator)


def _slurm_tasks(environment: Mapping[str, str]) -> int:
    return int(environment.get("SLURM_STEP_NUM_TASKS") or environment.get("SLURM_NTASKS") or 1)


def _started_by_launcher(environment: Mapping[str, str]) -> tuple[str, int]:
    if "SLURM_STEP_NODELIST" in environment:
        return "srun", _slurm_tasks(environment)
    for name, (size, _) in MPI_VARIABLES.items():
        if size in environment:
            return name, int(environment[size])
    return "", 1


def _refuse_lonely(environment: Mapping[str, str]) -> None:
    launcher, started = _started_by_launcher(environment)
    if started > 1:
        raise LaunchError(
            f"{launcher} started {started} processes, which would run alone side by side; "
            "give each --coordinator HOST:PORT --processes N --process I, or start them with srun"
        )
    tasks = int(environment.get("SLURM_NTASKS") or 1)
    if "SLURM_JOB_ID" in environment and "SLURM_STEP_NODELIST" not in environment and tasks > 1:
        raise LaunchError(
            f"Slurm job {environment['SLURM_JOB_ID']} has {tasks} tasks, but this process was started without srun "
            "and would run alone; start it with srun"
        )


def _slurm(environment: Mapping[str, str]) -> Launch:
    host = first_host(environment["SLURM_STEP_NODELIST"])
    port = environment.get("JAX_COORDINATOR_PORT") or slurm_port(environment)
    return Launch(
        by="slurm",
        processes=_slurm_tasks(environment),
        process=int(environment["SLURM_PROCID"]),
        coordinator=f"{host}:{port}",
        local_processes=_tasks_on_this_node(environment),
        local_process=int(environment.get("SLURM_LOCALID", 0)),
    )


def slurm_port(environment: Mapping[str, str]) -> int:
    """A port that the step's processes all derive, different for each step of a job so that none cross-connect."""
    job, step = int(environment["SLURM_JOB_ID"]), int(environment.get("SLURM_STEP_ID", 0))
    return 20000 + (job * 131 + step * 17) % 12000


def _tasks_on_this_node(environment: Mapping[str, str]) -> int:
    """From lists such as `4(x2),3`: entry number SLURM_NODEID."""
    written = environment.get("SLURM_STEP_TASKS_PER_NODE") or environment.get("SLURM_TASKS_PER_NODE") or "1"
    counts: list[int] = []
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", written):
        counts += [int(count)] * int(times or 1)
    node = int(environment.get("SLURM_NODEID", 0))
    return counts[node] if node < len(counts) else 1


def first_host(node_list: str) -> str:
    """First host of a Slurm node list; Slurm itself reads it, since names such as `n[01-02]-ib` are easily misread."""
    try:
        names = subprocess.run(
            ["scontrol", "show", "hostnames", node_list],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout.split()
        return names[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return _first_host_by_hand(node_list)


def _first_host_by_hand(node_list: str) -> str:
    """`n[01-02,7]-ib,m3` → `n01-ib`: of each bracket the first entry, up to the first comma outside one."""
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])+", node_list)
    if first is None:
        raise LaunchError(f"node list {node_list!r} cannot be read")
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first[0])


def visible_gpu_ids(environment: Mapping[str, str], launch: Launch) -> list[int] | None:
    """Which of the GPUs that this process sees are its own; None for all of them.

    A launcher may show a process its own GPUs only, or all of the node's: chosen from what is visible.

    Raises:
        LaunchError: a node's GPUs that its processes cannot share evenly.
    """
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None or launch.local_processes == 1:
        return None
    count = len([v for v in visible.split(",") if v.strip()])
    on_node = int(environment.get("SLURM_GPUS_ON_NODE") or count)
    if count * launch.local_processes <= on_node or count == 1:
        return None
    if count % launch.local_processes:
        raise LaunchError(
            f"{launch.local_processes} processes on a node see {count} GPUs, which they cannot share evenly; "
            "set --gpus-per-task, or as many tasks per node as GPUs"
        )
    share = count // launch.local_processes
    return list(range(launch.local_process * share, (launch.local_process + 1) * share))
