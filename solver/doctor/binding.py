"""Which cores and devices each process has, and whether two processes of a host share any."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import jax

from solver.cluster import bound_cores
from solver.doctor.job import Check, Facts, Job, by_host, counted, listed

UUID_BYTES, BUS_ID_BYTES = 16, 32
FEW_CORES = 2  # least number for a process that drives a GPU
BIND = "bind each process to its own (srun --cpu-bind=cores --cpus-per-task=…, mpiexec --map-by ppr:…:node:PE=…)"


def measure(job: Job) -> Facts:
    """Cores and devices of this process."""
    return {
        "process": job.process,
        "host": job.host,
        "platform": jax.local_devices()[0].platform,
        "cores": sorted(bound_cores()),
        "devices": [{"id": d.id, "hardware": hardware_name(d)} for d in jax.local_devices()],
    }


def hardware_name(device: Any, load: Callable[[str], Any] = ctypes.CDLL) -> str | None:
    """The UUID of a GPU, else its PCI bus id: they identify a GPU even if processes see different subsets of GPUs.

    JAX does not offer them, so they are read from the driver's library, which JAX has loaded. JAX's local number of a
    GPU is the driver's number: both count visible GPUs.
    """
    if device.platform != "gpu":
        return None
    for ask in (_of_cuda, _of_hip):
        try:
            name = ask(load, device.local_hardware_id)
        except (OSError, AttributeError):
            continue  # no such library, or no such function in it
        if name is not None:
            return name
    return None


def _of_cuda(load: Callable[[str], Any], number: int) -> str | None:
    library, handle, uuid = load("libcuda.so.1"), ctypes.c_int(), (ctypes.c_ubyte * UUID_BYTES)()
    if library.cuDeviceGet(ctypes.byref(handle), number) or library.cuDeviceGetUuid_v2(ctypes.byref(uuid), handle):
        return None
    return f"GPU-{bytes(uuid).hex()}"


def _of_hip(load: Callable[[str], Any], number: int) -> str | None:
    library, text = load("libamdhip64.so"), ctypes.create_string_buffer(BUS_ID_BYTES)
    return None if library.hipDeviceGetPCIBusId(text, BUS_ID_BYTES, number) else text.value.decode()


def judge(everyone: Sequence[Facts]) -> list[Check]:
    """Lines `cores` and `gpus`."""
    return [_cores(everyone), *_shared_gpus(everyone)]


def _cores(everyone: Sequence[Facts]) -> Check:
    hosts = by_host(everyone)
    problems = [text for host, processes in hosts.items() for text in _problems(host, processes)]
    if problems:
        return Check("cores", "warn", f"{'; '.join(problems[:3])}{_more(len(problems) - 3)}")
    host, processes = next(iter(hosts.items()))
    bound = listed(f"{ranges(facts['cores'])} ({_devices(facts)})" for facts in processes)
    other = f"; {counted(len(hosts) - 1, 'more host')} without overlap" if len(hosts) > 1 else ""
    return Check("cores", "ok", f"{host}: {bound}{other}")


def _problems(host: str, processes: Sequence[Facts]) -> list[str]:
    """Problems with the cores of one host, one line each."""
    cores = [set(facts["cores"]) for facts in processes]
    distinct = set().union(*cores)
    devices = sum(len(facts["devices"]) for facts in processes)
    problems = []
    if sum(map(len, cores)) > len(distinct):
        problems.append(f"{_overlap(host, processes)}; {BIND}")
    if processes[0]["platform"] == "cpu" and devices > len(distinct):
        problems.append(
            f"{host}: {counted(devices, 'virtual device')} on {counted(len(distinct), 'core')}; "
            "give --devices (devices.virtual of a run) so that each has one"
        )
    if processes[0]["platform"] == "gpu" and len(distinct) < FEW_CORES * len(processes):
        problems.append(
            f"{host}: {counted(len(distinct), 'core')} for {counted(len(processes), 'process', 'processes')} that "
            "drive GPUs; exchanges need host threads: give --cpus-per-task to sbatch and to srun"
        )
    return problems


def _overlap(host: str, processes: Sequence[Facts]) -> str:
    cores = [set(facts["cores"]) for facts in processes]
    if all(other == cores[0] for other in cores):
        return f"{host}: its {len(processes)} processes are all bound to the same cores {ranges(cores[0])}"
    for i, mine in enumerate(cores):
        for j in range(i + 1, len(cores)):
            if mine & cores[j]:
                names = f"{processes[i]['process']} and {processes[j]['process']}"
                return f"{host}: processes {names} share cores {ranges(mine & cores[j])}"
    return f"{host}: processes share cores"


def _shared_gpus(everyone: Sequence[Facts]) -> list[Check]:
    if everyone[0]["platform"] != "gpu":
        return []
    users: dict[tuple[str, str], list[int]] = {}
    for facts in everyone:
        for device in facts["devices"]:
            if device["hardware"] is not None:
                users.setdefault((facts["host"], device["hardware"]), []).append(facts["process"])
    if not users:
        return [
            Check("gpus", "warn", "the driver does not tell one GPU from another; whether any is shared is unknown")
        ]
    shared = [(host, name, who) for (host, name), who in users.items() if len(who) > 1]
    if not shared:
        return [Check("gpus", "ok", f"{counted(len(users), 'GPU')}, none used by two processes")]
    host, name, who = shared[0]
    return [
        Check(
            "gpus",
            "FAIL",
            f"processes {listed(who)} use the same {name} of {host}{_more(len(shared) - 1)}; start one process for "
            "each GPU (--gpus-per-node and as many --ntasks-per-node), or give each its own in CUDA_VISIBLE_DEVICES",
        )
    ]


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in the form `0-3,8`."""
    ordered = sorted(numbers)
    if not ordered:
        return "none"
    starts = [ordered[0], *(b for a, b in pairwise(ordered) if b != a + 1)]
    ends = [*(a for a, b in pairwise(ordered) if b != a + 1), ordered[-1]]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


def _devices(facts: Facts) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(_noun(facts) for _ in facts["devices"]).items())


def _noun(facts: Facts) -> str:
    return "virtual devices" if facts["platform"] == "cpu" else facts["platform"]


def _more(count: int) -> str:
    return f" (and {count} more like this)" if count > 0 else ""
