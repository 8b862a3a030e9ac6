"""JAX's settings for this process, made before any device is touched."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

import jax

from solver.cluster.launcher import Launch

FORCED_BY_XLA = "--xla_force_host_platform_device_count"


def forced_cpu_devices(environment: Mapping[str, str]) -> tuple[int, str] | None:
    """Number of CPU devices that the environment fixes, and the variable that does; it wins over the run file."""
    if environment.get("JAX_NUM_CPU_DEVICES"):
        return int(environment["JAX_NUM_CPU_DEVICES"]), "JAX_NUM_CPU_DEVICES"
    for flag in environment.get("XLA_FLAGS", "").split():
        if flag.startswith(FORCED_BY_XLA + "="):
            return int(flag.partition("=")[2]), "XLA_FLAGS"
    return None


def available_cores(environment: Mapping[str, str], launch: Launch) -> int:
    """Cores that this process may use: its task's if Slurm says so, else its share of those it is bound to."""
    if environment.get("SLURM_CPUS_PER_TASK"):
        return int(environment["SLURM_CPUS_PER_TASK"])
    return max(1, len(os.sched_getaffinity(0)) // launch.local_processes)


def set_up_jax(platform: str, cpu_devices: int | None) -> None:
    """Double precision allowed, the platform, and the number of virtual devices on the CPU.

    Args:
        platform: `auto` leaves the choice to JAX.
        cpu_devices: None leaves what the environment fixes.
    """
    jax.config.update("jax_enable_x64", True)
    if platform != "auto":
        jax.config.update("jax_platforms", {"gpu": "cuda"}.get(platform, platform))
    if cpu_devices is not None:
        jax.config.update("jax_num_cpu_devices", cpu_devices)


def keep_freed_memory() -> None:
    """Tell the C library to keep large freed blocks for the next buffer of their size.

    By default each is given back and mapped anew, and the page faults cost more than the arithmetic on it.
    Only where glibc is the C library; elsewhere nothing happens.
    """
    M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_MMAP_MAX, 0)
    mallopt(M_ARENA_MAX, 1)  # an arena of a thread holds no block above 64 MiB: those would be mapped anew after all
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
