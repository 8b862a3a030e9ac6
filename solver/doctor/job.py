"""What every check knows of the job, and how its processes exchange what they found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax

from solver.cluster import Agreement, Launch
from solver.doctor.verdict import Facts

STALL_SECONDS = 60.0  # within which every part of every check ends
PATIENCE = 45.0  # seconds that the others are waited for: sooner said than that nothing moves


class Leftovers:
    """Files that are removed at the end, however this process ends short of a SIGKILL."""

    def __init__(self) -> None:
        self._paths: list[Path] = []

    def add(self, path: Path) -> Path:
        """Remember a file that is about to be written."""
        self._paths.append(path)
        return path

    def remove(self) -> None:
        """Remove the files; what cannot be removed stays."""
        for path in self._paths:
            try:
                path.unlink(missing_ok=True)
            except OSError:
                continue
        self._paths.clear()


@dataclass(frozen=True)
class Job:
    """A job whose processes have met.

    Args:
        launch: this process's place in it.
        directory: whose file system is examined.
        environment: of this process before it joined, which drops proxies.
        programs: folder of compiled programs; None if there is none.
        host: name of this host.
        hosts: names of the hosts of all processes.
        token: the same on all processes, and another for each time the doctor is called.
        leftovers: files to remove at the end.
    """

    launch: Launch
    directory: Path
    environment: Mapping[str, str]
    programs: Path | None
    host: str
    hosts: tuple[str, ...]
    token: str
    leftovers: Leftovers = field(default_factory=Leftovers)

    @property
    def process(self) -> int:
        """Number of this process."""
        return jax.process_index()

    @property
    def host_names(self) -> list[str]:
        """Every host once, in the order of its first process."""
        return list(dict.fromkeys(self.hosts))

    @property
    def first_of_host(self) -> bool:
        """Whether this is the first process of its host."""
        return self.hosts.index(self.host) == self.process


_talk = Agreement("doctor")


def gather(facts: Facts) -> list[Facts]:
    """The facts of all processes, on the first process; nothing on the others."""
    return [json.loads(text) for text in _talk.gather(json.dumps(facts), PATIENCE)]


def tell(value: Any) -> Any:
    """The first process's value, on all processes."""
    return json.loads(_talk.tell(json.dumps(value), PATIENCE))


def wait_for_all() -> None:
    """Every process waits here for the others; no device takes part."""
    gather({})
    tell(None)
