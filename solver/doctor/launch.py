"""Which launcher started the processes, and whether processes and devices are those that were allocated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import jax

from solver.cluster import mismatches
from solver.doctor.job import Check, Facts, Job, by_host, counted, listed


def measure(job: Job) -> Facts:
    """Launcher and devices of this process."""
    devices = jax.local_devices()
    return {
        "process": job.process,
        "host": job.host,
        "by": job.launch.by,
        "started": job.launch.processes,
        "coordinator": job.launch.coordinator,
        "mismatches": mismatches(job.launch),
        "platform": devices[0].platform,
        "kinds": sorted({d.device_kind for d in devices}),
        "devices": len(devices),
    }


def judge(everyone: Sequence[Facts]) -> list[Check]:
    """Lines `launch` and `devices`."""
    return [_launch(everyone), *_allocated(everyone), _devices(everyone)]


def _launch(everyone: Sequence[Facts]) -> Check:
    first, hosts = everyone[0], by_host(everyone)
    if len(everyone) == 1:
        return Check("launch", "ok", f"{first['by']} on {first['host']}")
    meet = f"; they meet at {first['coordinator']}" if first["coordinator"] else ""
    text = (
        f"{counted(len(everyone), 'process', 'processes')} by {first['by']} on {counted(len(hosts), 'host')} "
        f"({listed(hosts)}){meet}"
    )
    counts = {len(processes) for processes in hosts.values()}
    if len(counts) > 1:
        uneven = listed(f"{len(processes)} on {host}" for host, processes in hosts.items())
        return Check(
            "launch", "warn", f"{text}; they are spread unevenly: {uneven}; start as many on each (--ntasks-per-node)"
        )
    return Check("launch", "ok", text)


def _allocated(everyone: Sequence[Facts]) -> list[Check]:
    problems = list(dict.fromkeys(text for facts in everyone for text in facts["mismatches"]))
    lines = [Check("launch", "FAIL", text) for text in problems[:4]]
    return lines + ([Check("launch", "FAIL", f"{len(problems) - 4} more such lines")] if len(problems) > 4 else [])


def _devices(everyone: Sequence[Facts]) -> Check:
    hosts = by_host(everyone)
    per_host = {host: sum(facts["devices"] for facts in processes) for host, processes in hosts.items()}
    kinds = Counter(kind for facts in everyone for kind in facts["kinds"])
    total = sum(per_host.values())
    text = f"{total} of platform {everyone[0]['platform']} ({listed(kinds)})"
    platforms = {facts["platform"] for facts in everyone}
    if len(platforms) > 1:
        which = listed(f"{facts['platform']} on {facts['host']}" for facts in everyone)
        return Check("devices", "FAIL", f"processes compute on different platforms: {which}; give --platform to all")
    if len(kinds) > 1:
        return Check("devices", "warn", f"{text}: the slowest kind sets the pace; allocate hosts of one kind")
    if len(set(per_host.values())) > 1:
        uneven = listed(f"{count} on {host}" for host, count in per_host.items())
        return Check("devices", "warn", f"{text}, spread unevenly: {uneven}; allocate as many on each host")
    each = f", {next(iter(per_host.values()))} on each host" if len(hosts) > 1 else ""
    return Check("devices", "ok", f"{text}{each}")
