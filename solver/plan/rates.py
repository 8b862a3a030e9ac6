"""Rates of a machine's memory, links and network: from published data or from a doctor.json. No JAX."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solver.doctor import Report

STREAMING = 0.82  # fitted: part of the peak memory bandwidth that streaming kernels reach
PROTOCOL = 0.82  # part of a link's peak that NCCL reaches: 370 of 450 GB/s (github.com/NVIDIA/nccl-tests issue 212)

ENTRIES = ("name", "memory_bytes", "memory_bandwidth", "link_bandwidth", "network_bandwidth", "gpus_per_host", "xla")


@dataclass(frozen=True)
class Rates:
    """Rates that a machine reaches, not its peaks. Bandwidths are for one device in one direction.

    Args:
        name: name of the device.
        memory: bytes/s read and written in its memory.
        link: bytes/s to the other devices of its host.
        network: bytes/s to other hosts.
        gpus_per_host: devices that share a host.
        memory_bytes: that one device has; 0 if not known.
        basis: origin of the rates, to be printed with every prediction.
    """

    name: str
    memory: float
    link: float
    network: float
    gpus_per_host: int
    memory_bytes: int = 0
    basis: str = ""

    @classmethod
    def of(cls, target: str, **peaks: float) -> Rates:
        """Rates of a published device, a file in `solver/plan/targets`; `peaks` replace entries of that file.

        Raises:
            ValueError: no such file; the message names those that there are.
        """
        data = published(target) | peaks
        return cls(
            name=data["name"],
            memory=STREAMING * data["memory_bandwidth"],
            link=PROTOCOL * data["link_bandwidth"],
            network=PROTOCOL * data["network_bandwidth"],
            gpus_per_host=data["gpus_per_host"],
            memory_bytes=data["memory_bytes"],
            basis=f"published peaks, {STREAMING:.0%} of them in memory and {PROTOCOL:.0%} on links and network",
        )

    @classmethod
    def measured(cls, report: Report, otherwise: Rates) -> Rates:
        """Rates that `slabwave doctor` measured; `otherwise` gives those that it did not measure."""
        bandwidth = report.bandwidth
        rates = {"memory": bandwidth.memory, "link": bandwidth.within_host, "network": bandwidth.across_hosts}
        missing = ", ".join(name for name, rate in rates.items() if rate is None)
        return replace(
            otherwise,
            memory=bandwidth.memory or otherwise.memory,
            link=bandwidth.within_host or otherwise.link,
            network=bandwidth.across_hosts or otherwise.network,
            gpus_per_host=max(Counter(device.host for device in report.devices).values()),
            basis=f"measured by the doctor on {report.time}" + (f"; {missing}: {otherwise.basis}" if missing else ""),
        )


def published(target: str) -> dict:
    """Entries of `solver/plan/targets/<target>.toml`, or of a .toml file of one's own: peaks, as published.

    Raises:
        ValueError: no such file, or one that lacks an entry; the message names those that there are.
    """
    folder = files("solver.plan") / "targets"
    names = sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))
    own = target.endswith(".toml")
    if not own and target not in names:
        raise ValueError(f"target {target!r}: known are {', '.join(names)}, or a .toml file like theirs")
    try:
        entries = tomllib.loads((Path(target) if own else folder / f"{target}.toml").read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"target {target}: {getattr(error, 'strerror', None) or error}") from None
    missing = [name for name in ENTRIES if name not in entries]
    if missing:
        raise ValueError(f"target {target}: {', '.join(missing)} missing; as in solver/plan/targets/h200.toml")
    return entries
