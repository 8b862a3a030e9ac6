"""A task's place in a step of Slurm, read from its environment."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from solver.cluster.addresses import refuse_loopback
from solver.cluster.launch import Launch, LaunchError


def in_step(environment: Mapping[str, str]) -> bool:
    """True if srun started this process, or one above it."""
    return "SLURM_STEP_NODELIST" in environment


def tasks(environment: Mapping[str, str]) -> int:
    """Tasks of the step; 1 outside of a step."""
    if not in_step(environment):
        return 1
    return int(environment.get("SLURM_STEP_NUM_TASKS") or environment.get("SLURM_NTASKS") or 1)


def find(environment: Mapping[str, str]) -> Launch:
    """A task's place in its step; the tasks meet on the step's first node.

    Raises:
        LaunchError: the node list cannot be read; task 0 runs on another node; the first node's name is a loopback
            address here.
    """
    hosts = node_names(environment["SLURM_STEP_NODELIST"])
    process = int(environment["SLURM_PROCID"])
    here = environment.get("SLURMD_NODENAME")
    if process == 0 and here is not None and here != hosts[0]:
        raise LaunchError(
            f"task 0 runs on {here}, but the tasks meet on {hosts[0]}, the first node of the step; "
            "start them without --distribution=arbitrary"
        )
    refuse_loopback(hosts[0], hosts[1:])
    local_processes, local_process = local_place(environment)
    return Launch(
        by="slurm",
        processes=tasks(environment),
        process=process,
        coordinator=f"{hosts[0]}:{environment.get('JAX_COORDINATOR_PORT') or port(environment)}",
        local_processes=local_processes,
        local_process=local_process,
    )


def port(environment: Mapping[str, str]) -> int:
    """A port that all processes of a step derive alike; steps of one job get different ports."""
    job, step = int(environment["SLURM_JOB_ID"]), int(environment.get("SLURM_STEP_ID", 0))
    return 20000 + (job * 131 + step * 17) % 12000


def local_place(environment: Mapping[str, str]) -> tuple[int, int]:
    """Number of tasks of the step on this node, and this task's number among them; 1 and 0 outside of a step."""
    if not in_step(environment):
        return 1, 0
    return _tasks_on_this_node(environment), int(environment.get("SLURM_LOCALID", 0))


def _tasks_on_this_node(environment: Mapping[str, str]) -> int:
    """Entry number SLURM_NODEID of a list such as `4(x2),3`."""
    written = environment.get("SLURM_STEP_TASKS_PER_NODE") or environment.get("SLURM_TASKS_PER_NODE") or "1"
    counts: list[int] = []
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", written):
        counts += [int(count)] * int(times or 1)
    node = int(environment.get("SLURM_NODEID", 0))
    return counts[node] if node < len(counts) else 1


def node_names(node_list: str) -> list[str]:
    """Names in a Slurm node list, expanded by `scontrol` if it is installed, else by `node_names_by_hand`."""
    try:
        names = subprocess.run(
            ["scontrol", "show", "hostnames", node_list],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout.split()
    except (OSError, subprocess.SubprocessError):
        names = []
    return names or node_names_by_hand(node_list)


def node_names_by_hand(node_list: str) -> list[str]:
    """`n[01-02,7]-ib,m3` → `n01-ib n02-ib n7-ib m3`.

    Raises:
        LaunchError: it names no node.
    """
    names = [name for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", node_list) for name in _expanded(part)]
    if not names:
        raise LaunchError(f"node list {node_list!r} cannot be read")
    return names


def _expanded(pattern: str) -> list[str]:
    before, bracket, rest = pattern.partition("[")
    if not bracket:
        return [pattern]
    inside, _, after = rest.partition("]")
    numbers: list[str] = []
    for entry in inside.split(","):
        first, dash, last = entry.partition("-")
        numbers += [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)] if dash else [first]
    return [f"{before}{number}{tail}" for number in numbers for tail in _expanded(after)]
