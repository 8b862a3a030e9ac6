"""The libraries that carry the collectives, read off what this process has loaded after a collective has run."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jaxlib

from solver.doctor.job import Check, Facts, Job, by_host, listed

LOADED = re.compile(r"/lib(nccl|rccl|nccl-net\S*?|rccl-net\S*?|fabric|mpi|ibverbs|ucp)\.so[^/\s]*$")
PREFIXES = ("NCCL_", "RCCL_", "FI_")


def measure(job: Job) -> Facts:
    """Libraries, their versions, and the variables that configure them. Call it after a collective has run."""
    libraries = loaded(Path("/proc/self/maps"))
    return {
        "process": job.process,
        "host": job.host,
        "platform": jax.local_devices()[0].platform,
        "kind": jax.local_devices()[0].device_kind,
        "loaded": libraries,
        "version": nccl_version(libraries),
        "collectives": str(getattr(jax.config, "jax_cpu_collectives_implementation", "gloo")),
        "infiniband": sorted(p.name for p in Path("/sys/class/infiniband").glob("*")),
        "environment": {k: v for k, v in sorted(job.environment.items()) if k.startswith(PREFIXES)},
    }


def loaded(maps: Path) -> dict[str, str]:
    """Libraries for communication in a process's memory map: short name to path."""
    try:
        lines = maps.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    paths = dict.fromkeys(line.split(maxsplit=5)[5] for line in lines if line.count("/"))
    return {match[1]: path for path in paths if (match := LOADED.search(path))}


def nccl_version(libraries: Mapping[str, str], load: Callable[[str], Any] = ctypes.CDLL) -> str | None:
    """Version such as `2.27.3` of the loaded NCCL or RCCL; None if none is loaded."""
    path = libraries.get("nccl") or libraries.get("rccl")
    if path is None:
        return None
    code = ctypes.c_int()
    try:
        if load(path).ncclGetVersion(ctypes.byref(code)):
            return None
    except (OSError, AttributeError):
        return None
    thousands = 10000 if code.value >= 10000 else 1000  # NCCL 2.7.8 has the code 2708, NCCL 2.27.3 the code 22703
    major, rest = divmod(code.value, thousands)
    return f"{major}.{rest // 100}.{rest % 100}"


def judge(everyone: Sequence[Facts]) -> list[Check]:
    """Lines `transport` and, if variables are set, `variables`."""
    first, hosts = everyone[0], by_host(everyone)
    lines = [_transport(everyone, len(hosts))]
    settings = {str(facts["environment"]) for facts in everyone}
    if len(settings) > 1:
        odd = next(f for f in everyone if f["environment"] != first["environment"])
        pair = f"process 0 and process {odd['process']} on {odd['host']}"
        lines.append(Check("variables", "warn", f"NCCL_… or FI_… differ between {pair}; set them alike"))
    elif first["environment"]:
        lines.append(Check("variables", "ok", " ".join(f"{k}={v}" for k, v in first["environment"].items())))
    return lines


def _transport(everyone: Sequence[Facts], hosts: int) -> Check:
    first = everyone[0]
    if first["platform"] != "gpu":
        return _on_cpu(first, len(everyone))
    name = "RCCL" if "rccl" in first["loaded"] else "NCCL"
    if not {"nccl", "rccl"} & set(first["loaded"]):
        return Check("transport", "ok", "no NCCL or RCCL is loaded: nothing was exchanged between GPUs")
    versions = {str(facts["version"]) for facts in everyone}
    text = f"{name} {listed(sorted(versions))}"
    if len(versions) > 1:
        return Check("transport", "FAIL", f"{text}: processes load different versions; make their environments equal")
    network = _network(first)
    if hosts == 1:
        return Check("transport", "ok", f"{text}, one host")
    if network is None:
        return Check(
            "transport",
            "warn",
            f"{text} goes over sockets between hosts: no net plug-in (libnccl-net*.so) is loaded and no InfiniBand "
            "device is in use; load the site's plug-in (aws-ofi-nccl on Slingshot and EFA) or unset NCCL_IB_DISABLE",
        )
    return _known_damage(first, Check("transport", "ok", f"{text} over {network}"))


def _network(facts: Facts) -> str | None:
    """The network by which NCCL reaches other hosts; None for sockets."""
    if facts["environment"].get("NCCL_NET") == "Socket":
        return None
    plug_ins = [Path(path).name for name, path in facts["loaded"].items() if "-net" in name]
    if plug_ins:
        return " and ".join([*plug_ins, *(["libfabric"] if "fabric" in facts["loaded"] else [])])
    verbs = "ibverbs" in facts["loaded"] and facts["environment"].get("NCCL_IB_DISABLE", "0") == "0"
    return f"InfiniBand verbs ({listed(facts['infiniband'])})" if verbs and facts["infiniband"] else None


def _known_damage(facts: Facts, otherwise: Check) -> Check:
    """Warn about GH200 with libfabric, where NCCL's LL128 protocol damaged data without an error (nccl issue 2001)."""
    settings = facts["environment"]
    exposed = "GH200" in facts["kind"] and "fabric" in facts["loaded"]
    if exposed and settings.get("NCCL_LL128_C2C") != "0" and settings.get("NCCL_PROTO") != "Simple":
        return Check(
            "transport",
            "warn",
            f"{otherwise.text}; on GH200 with Slingshot NCCL's LL128 protocol has damaged data without an error (nccl "
            "issue 2001): set NCCL_LL128_C2C=0, and see the all-to-all lines",
        )
    return otherwise


def _on_cpu(facts: Facts, processes: int) -> Check:
    if facts["platform"] != "cpu":
        return Check("transport", "ok", f"that of {facts['platform']}")
    if processes == 1:
        return Check("transport", "ok", f"within one process (jaxlib {jaxlib.__version__}); no library")
    if facts["collectives"] == "mpi":
        return Check("transport", "ok", f"MPI, {facts['loaded'].get('mpi', 'of an unknown library')}")
    return Check("transport", "ok", f"{facts['collectives']} of jaxlib {jaxlib.__version__}, over TCP")
