"""Properties of a host: clock, address, limits, proxies, double precision."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from solver.cluster import machine_memory
from solver.doctor.job import Check, Facts, Job, by_host, listed, wait_for_all
from solver.io import in_words

CLOCK_SECONDS, CLOCK_ROUNDS = 1.0, 3
OPEN_FILES = 1024
UNDER_SLURM_AND_MPI = "raise it in the batch script (ulimit), or in what starts the daemons of the launcher"


def measure(job: Job) -> Facts:
    """Clock, addresses, limits, proxies and precision of this host and process."""
    return {
        "process": job.process,
        "host": job.host,
        "addresses": addresses(job.host),
        "clock": clock(),
        "proxies": sorted(name for name in job.environment if name.lower().endswith("_proxy")),
        "open_files": _limit("RLIMIT_NOFILE"),
        "memory_limit": _limit("RLIMIT_AS"),
        "locked_limit": _limit("RLIMIT_MEMLOCK"),
        "memory": machine_memory(),
        "platform": jax.local_devices()[0].platform,
        "float64": double_precision(),
    }


def addresses(host: str) -> list[str]:
    """Addresses to which a host's own name resolves on that host; none if it does not resolve."""
    try:
        return sorted({str(entry[4][0]) for entry in socket.getaddrinfo(host, None)})
    except OSError:
        return []


def clock() -> list[float]:
    """This host's times, each read right after a signal from the first process [seconds since 1970]."""
    times = []
    for _ in range(CLOCK_ROUNDS):
        wait_for_all()
        times.append(time.time())
    return times


def clock_offset(facts: Facts, first: Facts) -> float:
    """Seconds by which a host's clock is ahead of the first host's, plus the time of the fastest message."""
    return float(min(here - there for here, there in zip(facts["clock"], first["clock"], strict=True)))


def _limit(name: str) -> int | None:
    """A limit of this process; None if it is unlimited."""
    try:
        import resource
    except ImportError:
        return None
    soft = resource.getrlimit(getattr(resource, name))[0]
    return None if soft == resource.RLIM_INFINITY else soft


def double_precision() -> bool:
    """True if a device of this process computes in double precision."""
    try:
        number = jax.device_put(np.float64(1), jax.local_devices()[0])
        return bool(jax.jit(lambda x: (x + 2.0**-52).astype(jnp.float64) - 1)(number) == 2.0**-52)
    except Exception:
        return False  # platforms without double precision raise different errors


# ---- verdicts ---------------------------------------------------------------------------------------------------


def judge(everyone: Sequence[Facts]) -> list[Check]:
    """Lines `addresses` and `clocks` of several hosts; `limits`, `proxies` and `float64`."""
    several = len(by_host(everyone)) > 1
    return [
        *([_addresses(everyone), _clocks(everyone)] if several else []),
        _limits(everyone, several),
        *_proxies(everyone),
        _precision(everyone),
    ]


def _addresses(everyone: Sequence[Facts]) -> Check:
    by_name = {facts["host"]: facts["addresses"] for facts in everyone}
    unknown = [host for host, known in by_name.items() if not known]
    if unknown:
        return Check(
            "addresses", "FAIL", f"{listed(unknown)}: the name does not resolve there; gloo needs it in /etc/hosts"
        )
    loopback = [host for host, known in by_name.items() if all(_is_loopback(address) for address in known)]
    if loopback and len(loopback) < len(by_name):
        return Check(
            "addresses",
            "FAIL",
            f"{listed(loopback)}: the host's own name is {by_name[loopback[0]][0]} there, where others cannot reach "
            "it; write its real address into its /etc/hosts",
        )
    if loopback:
        return Check("addresses", "ok", f"all of {listed(by_name)} are 127.…: hosts that are one machine")
    return Check("addresses", "ok", listed(f"{host} is {known[0]}" for host, known in by_name.items()))


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _clocks(everyone: Sequence[Facts]) -> Check:
    first = everyone[0]
    offsets = {host: clock_offset(each[0], first) for host, each in by_host(everyone).items()}
    wrong = [f"{host} by {offset:+.3g} s" for host, offset in offsets.items() if abs(offset) > CLOCK_SECONDS]
    if wrong:
        text = f"differ from that of {first['host']}: {listed(wrong)}; times of files and of a job's end mislead"
        return Check("clocks", "warn", f"{text}: start NTP there")
    return Check("clocks", "ok", f"within {max(map(abs, offsets.values())):.2g} s of that of {first['host']}")


def _low(host: str, facts: Facts, several: bool) -> list[str]:
    files, addresses_, locked, memory = (
        facts[name] for name in ("open_files", "memory_limit", "locked_limit", "memory")
    )
    low = []
    if files is not None and files < OPEN_FILES:
        low.append(f"{host}: {files} open files (ulimit -n), {OPEN_FILES} or more are needed")
    # JAX reserves more address space than it uses memory
    if None not in (addresses_, memory) and addresses_ < 2 * memory:
        low.append(f"{host}: {in_words(addresses_)} of addresses (ulimit -v), unlimited is needed")
    if several and facts["platform"] == "gpu" and locked is not None:
        low.append(f"{host}: {in_words(locked)} of locked memory (ulimit -l), InfiniBand wants it unlimited")
    return low


def _limits(everyone: Sequence[Facts], several: bool) -> Check:
    low = [text for host, each in by_host(everyone).items() for text in _low(host, each[0], several)]
    if low:
        return Check("limits", "warn", f"{'; '.join(low[:3])}; {UNDER_SLURM_AND_MPI}")
    files = [facts["open_files"] for facts in everyone if facts["open_files"] is not None]
    return Check("limits", "ok", f"{min(files)} open files" if files else "none on open files")


def _proxies(everyone: Sequence[Facts]) -> list[Check]:
    names = sorted({name for facts in everyone for name in facts["proxies"]})
    if not names:
        return []
    return [Check("proxies", "ok", f"{listed(names)}: dropped before processes join, since joining can hang with them")]


def _precision(everyone: Sequence[Facts]) -> Check:
    without = [facts["host"] for facts in everyone if not facts["float64"]]
    if without:
        text = f"no double precision on {listed(without)}: runs need grid.precision=float32"
        return Check("float64", "warn", text)
    return Check("float64", "ok", "all devices compute in double precision")
