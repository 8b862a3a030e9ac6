"""doctor.json: checks and measurements of a job, for later planning."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from solver.config import ConfigError
from solver.doctor import exchange
from solver.doctor.disk import total
from solver.doctor.host import clock_offset
from solver.doctor.job import Check, Facts, by_host
from solver.doctor.memory import slowest
from solver.io import write_text

PACKAGES = ("slabwave", "jax", "jaxlib", "numpy")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Bandwidth(_Part):
    """Bytes per second; null where it was not measured."""

    within_host: float | None = Field(None, description="that leave one device for the others of its host, all at once")
    across_hosts: float | None = Field(None, description="that leave one device for other hosts, all devices at once")
    memory: float | None = Field(None, description="read and written in the memory of one device, the slowest")
    disk_write: float | None = Field(None, description="speed of all processes together, on the disk (fsync)")
    disk_read: float | None = Field(None, description="speed of all processes together")


class AllToAll(_Part):
    """All-to-alls of one size in one scope."""

    scope: Literal["within_host", "across_hosts", "all"]
    devices: int = Field(description="that exchange with each other")
    bytes: int = Field(description="that each device sends in one exchange, its part to itself included")
    seconds: float = Field(description="time of one exchange: the median of a process, the slowest process")
    bandwidth: float = Field(description="bytes per second that leave one device for others")
    wrong_words: int = Field(description="words of 4 bytes that arrived wrong in all calls on all devices")


class Device(_Part):
    """Place and kind of a device."""

    id: int
    process: int
    host: str
    platform: str
    hardware: str | None = Field(None, description="UUID or PCI bus id of a GPU")


class Host(_Part):
    """Name, processes, addresses and clock of a host."""

    name: str
    processes: list[int]
    addresses: list[str]
    clock_offset: float = Field(description="seconds ahead of the first host")


class Process(_Part):
    """Host, cores, libraries and memory bandwidth of a process."""

    process: int
    host: str
    cores: list[int]
    libraries: dict[str, str] = Field(description="loaded libraries of communication: name to path")
    memory_bandwidth: float


class Report(_Part):
    """The whole file. Later versions may add entries; `format` changes if an entry changes its meaning."""

    format: Literal[1] = 1
    time: str
    launcher: str
    coordinator: str | None = None
    platform: str
    directory: str
    versions: dict[str, str]
    collectives: str = Field(description="NCCL 2.27.3, gloo, …, as on the line `transport`")
    bandwidth: Bandwidth
    all_to_all: list[AllToAll]
    hosts: list[Host]
    processes: list[Process]
    devices: list[Device]
    checks: list[Check]


def make_report(measured: Mapping[str, Sequence[Facts]], checks: Sequence[Check]) -> Report:
    """The report of a job.

    Args:
        measured: facts of all processes, by check.
        checks: the lines of the doctor's output.
    """
    first = measured["launch"][0]
    rows = exchange.table(measured["exchange"])
    return Report(
        time=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        launcher=first["by"],
        coordinator=first["coordinator"],
        platform=first["platform"],
        directory=measured["disk"][0]["directory"],
        versions={name: metadata.version(name) for name in PACKAGES},
        collectives=next(check.text for check in checks if check.name == "transport"),
        bandwidth=Bandwidth(
            within_host=exchange.best(rows, "within_host"),
            across_hosts=exchange.best(rows, "across_hosts"),
            memory=slowest(measured["memory"]),
            disk_write=total(measured["disk"], "written", "write_seconds"),
            disk_read=total(measured["disk"], "read", "read_seconds"),
        ),
        all_to_all=[AllToAll(**{name: row[name] for name in AllToAll.model_fields}) for row in rows],
        hosts=_hosts(measured["host"]),
        processes=_processes(measured),
        devices=[
            Device(process=facts["process"], host=facts["host"], platform=facts["platform"], **device)
            for facts in measured["binding"]
            for device in facts["devices"]
        ],
        checks=list(checks),
    )


def _hosts(everyone: Sequence[Facts]) -> list[Host]:
    return [
        Host(
            name=name,
            processes=[facts["process"] for facts in each],
            addresses=each[0]["addresses"],
            clock_offset=clock_offset(each[0], everyone[0]),
        )
        for name, each in by_host(everyone).items()
    ]


def _processes(measured: Mapping[str, Sequence[Facts]]) -> list[Process]:
    together = zip(measured["binding"], measured["libraries"], measured["memory"], strict=True)
    return [
        Process(
            process=binding["process"],
            host=binding["host"],
            cores=binding["cores"],
            libraries=libraries["loaded"],
            memory_bandwidth=memory["bandwidth"],
        )
        for binding, libraries, memory in together
    ]


def write_report(path: Path, report: Report) -> None:
    """Write the report; the file is replaced as a whole.

    Raises:
        DiskError: the file cannot be written.
    """
    write_text(path, report.model_dump_json(indent=1) + "\n")


def read_report(path: Path) -> Report:
    """Read a report that `slabwave doctor` wrote.

    Raises:
        ConfigError: the file cannot be read, or is not a report of format 1.
    """
    try:
        return Report.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigError(f"{path} is no doctor.json of format 1: {key}: {first['msg']}") from None
