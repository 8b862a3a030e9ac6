"""Joining and leaving the processes of a job."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Sequence
from typing import Any

import jax

from solver.cluster import failure
from solver.cluster.addresses import listening_address
from solver.cluster.gpus import VISIBLE, refuse_idle_gpus, visible_gpu_ids
from solver.cluster.launch import Launch, LaunchError
from solver.cluster.log import LOGGER
from solver.cluster.roll_call import call_the_roll

HEARTBEAT_SECONDS = 30  # JAX gives up a silent process this long after the watchdog's limit
MEET_SECONDS = 120  # for JAX, once all processes are there
SET_BY_LAUNCHERS = (
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_NTASKS",
    "SLURM_STEP_NODELIST",
    "SLURM_GPUS_ON_NODE",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "PMIX_RANK",
    "TPU_WORKER_HOSTNAMES",
    "JOB_COMPLETION_INDEX",
)
SEEN_BY_JAX = ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES", "JAX_PLATFORMS", *VISIBLE)


def join(launch: Launch, stall_limit: float) -> None:
    """Meet the other processes. Afterwards `jax.devices()` lists the devices of the whole job.

    Args:
        launch: this process's place among them.
        stall_limit: seconds after which the watchdog ends a stalled job; JAX's own limit is set to be longer.

    Raises:
        LaunchError: JAX sees another number of processes than the launcher started, no device of the platform, or
            fewer GPUs than Slurm allocated.
        NotAllThere: processes are missing at the end of `launch.join_limit`.
        StoppedWaiting: a signal came while the processes waited for each other.
    """
    meet(launch, stall_limit)
    for problem in mismatches(launch):
        raise LaunchError(problem)


def meet(launch: Launch, stall_limit: float) -> None:
    """Meet the other processes, but do not compare what was started with what was joined.

    Raises:
        LaunchError: the processes cannot meet, or JAX finds no device of the platform.
    """
    if launch.processes > 1:
        _meet(launch, stall_limit)
    try:
        jax.process_count()
    except RuntimeError as error:
        raise LaunchError(f"JAX finds no devices as requested: {' '.join(str(error).split())[:300]}") from error


def mismatches(launch: Launch) -> list[str]:
    """Processes or GPUs of the launcher or Slurm that JAX does not use, one line each. Call it after `meet`."""
    joined = jax.process_count()
    if joined != launch.processes:
        return [f"{launch.by} started {launch.processes} processes, but JAX joined {joined}; each would compute alone"]
    try:
        refuse_idle_gpus(os.environ, launch, jax.local_devices(), chosen=bool(jax.config.jax_platforms))  # type: ignore[attr-defined]
    except LaunchError as error:
        return [str(error)]
    return []


def _meet(launch: Launch, stall_limit: float) -> None:
    LOGGER.info("joining: %d processes by %s at %s", launch.processes, launch.by, launch.coordinator or "JAX's choice")
    _forget_proxies()
    if launch.coordinator is not None:
        call_the_roll(launch)
    # the preemption service would swallow SIGTERM in C++ before Python sees it
    jax.config.update("jax_enable_preemption_service", False)
    try:
        jax.distributed.initialize(
            **_place(launch),
            initialization_timeout=MEET_SECONDS,
            heartbeat_timeout_seconds=int(stall_limit + HEARTBEAT_SECONDS),
        )
    except (RuntimeError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        address = launch.coordinator or f"an address that JAX finds on a {launch.by}"
        raise LaunchError(f"process {launch.process} could not join at {address}: {first}") from error
    failure.watch(launch.coordinator)


def _place(launch: Launch) -> dict[str, Any]:
    """Arguments of `jax.distributed.initialize`; none if JAX finds the other processes itself."""
    if launch.coordinator is None:
        return {}
    return {
        "coordinator_address": launch.coordinator,
        "coordinator_bind_address": listening_address(launch.coordinator) if launch.process == 0 else None,
        "num_processes": launch.processes,
        "process_id": launch.process,
        "local_device_ids": visible_gpu_ids(os.environ, launch),
        # otherwise JAX takes "all GPUs" under Slurm or Open MPI to mean the one with the task's number on its node
        "cluster_detection_method": "deactivate",
    }


def _forget_proxies() -> None:
    """Remove proxy settings: gRPC would send the traffic between processes to the web proxy and hang."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]


def report(launch: Launch, mesh_devices: Sequence[jax.Device]) -> list[str]:
    """Processes, devices and environment of this job: the first lines of its log."""
    kinds = sorted({f"{d.platform} ({d.device_kind})" for d in mesh_devices})
    local = [d.id for d in jax.local_devices()]
    launcher = [f"{k}={v}" for k, v in sorted(os.environ.items()) if k in (*SET_BY_LAUNCHERS, *SEEN_BY_JAX)]
    return [
        f"processes: {jax.process_count()} by {launch.by}"
        + (f" at {launch.coordinator}" if launch.coordinator else "")
        + f"; this is {jax.process_index()} on {socket.gethostname()}, Python {platform.python_version()}, "
        f"jax {jax.__version__}",
        f"devices: {len(mesh_devices)} in use of {jax.device_count()}, {', '.join(kinds)}; local here: {local}",
        f"environment: {' '.join(launcher) or 'nothing set by a launcher'}",
    ]
