"""Bandwidth of a device's memory: b = b + c on arrays larger than the caches, on all devices at once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

from solver.doctor.exchange import speed
from solver.doctor.job import Check, Facts, Job, listed

ON_CPU, ON_GPU = 64 * 2**20, 512 * 2**20  # bytes of one array on one device
STREAMS = 3  # two arrays are read, one is written
TIMES, CALLS = 4, 5
SLOW = 0.7  # fraction of the median below which a process is called slow


def measure(job: Job) -> Facts:
    """Bytes per second that each device of this process reads and writes, in the best of several calls."""
    devices = np.array(jax.local_devices(), dtype=object)
    size = ON_CPU if devices[0].platform == "cpu" else ON_GPU
    mesh = Mesh(devices, ("device",), axis_types=(AxisType.Auto,))
    sharding = NamedSharding(mesh, P("device"))
    ones = jax.jit(lambda: jnp.ones((len(devices), size // 4), jnp.float32), out_shardings=sharding)
    b, c = ones(), ones()
    add = jax.jit(lambda b, c, times: lax.fori_loop(0, times, lambda _, b: b + c, b), donate_argnums=0)
    b = jax.block_until_ready(add(b, c, 1))
    seconds = []
    for _ in range(CALLS):
        began = time.perf_counter()
        b = jax.block_until_ready(add(b, c, TIMES))
        seconds.append((time.perf_counter() - began) / TIMES)
    return {"process": job.process, "host": job.host, "bandwidth": STREAMS * size / min(seconds)}


def slowest(everyone: Sequence[Facts]) -> float:
    """The bandwidth of the slowest process's devices [bytes/s of one device]."""
    return float(min(facts["bandwidth"] for facts in everyone))


def judge(everyone: Sequence[Facts]) -> list[Check]:
    """Line `memory`."""
    usual = statistics.median(facts["bandwidth"] for facts in everyone)
    slow = [facts for facts in everyone if facts["bandwidth"] < SLOW * usual]
    if slow:
        which = listed(f"{speed(f['bandwidth'])} of process {f['process']} on {f['host']}" for f in slow)
        return [
            Check(
                "memory",
                "warn",
                f"{speed(usual)} per device in the median, but {which}: something else computes there, or the device "
                "is slow; a step takes as long as the slowest",
            )
        ]
    return [Check("memory", "ok", f"{speed(slowest(everyone))} per device, all of a process at once (the slowest)")]
