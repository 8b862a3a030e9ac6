"""Which of a node's GPUs belong to a process, and whether a job uses all GPUs that it was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from solver.cluster.launch import Launch, LaunchError

# the first is NVIDIA's; of AMD's two, ROCR hides GPUs from the system, and HIP hides some of those that are left
VISIBLE = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


def visible_gpus(environment: Mapping[str, str]) -> int | None:
    """Number of GPUs that this process may see; None if no variable says so."""
    lists = [environment[name].split(",") for name in VISIBLE if name in environment]
    return min((sum(bool(gpu.strip()) for gpu in gpus) for gpus in lists), default=None)


def visible_gpu_ids(environment: Mapping[str, str], launch: Launch, system: Path = Path("/")) -> list[int] | None:
    """Which of the GPUs that this process sees belong to it; None for all of them.

    A launcher may show a process only its own GPUs, or all GPUs of the node. The variables in `VISIBLE` say which are
    shown; without them (mpiexec sets none) all installed GPUs count.

    Raises:
        LaunchError: a node's GPUs that its processes cannot share evenly.
    """
    if launch.local_processes == 1:
        return None
    limited = visible_gpus(environment)
    count = limited if limited is not None else installed_gpus(system)
    on_node = int(environment.get("SLURM_GPUS_ON_NODE") or count)
    own_only = limited is not None and (count * launch.local_processes <= on_node or count == 1)
    if count == 0 or own_only:
        return None
    if count % launch.local_processes:
        raise LaunchError(
            f"{launch.local_processes} processes on a node see {count} GPUs, which they cannot share evenly; "
            "start one process per GPU (--gpus-per-node and as many tasks per node), or one per node"
        )
    share = count // launch.local_processes
    return list(range(launch.local_process * share, (launch.local_process + 1) * share))


def installed_gpus(system: Path = Path("/")) -> int:
    """GPUs that the drivers of NVIDIA or AMD show on this host."""
    nvidia = list((system / "proc/driver/nvidia/gpus").glob("*"))
    amd = [f for f in (system / "sys/class/kfd/kfd/topology/nodes").glob("*/gpu_id") if f.read_text().strip() != "0"]
    return len(nvidia) or len(amd)


def refuse_idle_gpus(environment: Mapping[str, str], launch: Launch, devices: Sequence[Any], chosen: bool) -> None:
    """Refuse a job that would leave some of its allocated GPUs unused.

    Args:
        environment: environment of this process.
        launch: its place in the job.
        devices: JAX's devices of this process.
        chosen: True if the platform was named, so that the CPU is used on purpose.

    Raises:
        LaunchError: Slurm allocated more GPUs on this node than its processes use.
    """
    allocated = int(environment.get("SLURM_GPUS_ON_NODE") or 0)
    if not allocated:
        return
    here = environment.get("SLURMD_NODENAME", "this node")
    if devices[0].platform == "cpu":
        if not chosen:
            raise LaunchError(
                f"Slurm allocated {_gpus(allocated)} on {here}, but JAX finds none and would compute on the CPU; "
                "install its plug-in for them (pip install '.[cuda13]' in the checkout), or set devices.platform=cpu"
            )
        return
    processes = launch.local_processes
    used = len(devices) * processes
    if devices[0].platform == "gpu" and used < allocated:
        does = f"{processes} process uses" if processes == 1 else f"{processes} processes use"
        raise LaunchError(
            f"Slurm allocated {_gpus(allocated)} on {here}, but its {does} {used}; start one task per GPU: "
            f"--gpus-per-node={allocated} --ntasks-per-node={allocated}"
        )


def _gpus(count: int) -> str:
    return f"{count} GPU{'s' if count > 1 else ''}"
