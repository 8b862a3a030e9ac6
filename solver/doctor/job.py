"""The job as all checks see it, how its processes exchange their measurements, and the result of a check."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import jax

from solver.cluster import Agreement, Launch

Verdict = Literal["ok", "warn", "FAIL"]
Facts = dict[str, Any]  # measurements of one process: numbers, strings, lists and tables, since they travel as JSON
SHOWN = 4


@dataclass(frozen=True)
class Check:
    """A line of the doctor's output.

    Args:
        name: name of the thing that was checked.
        verdict: `ok`; `warn` for what works, but not well; `FAIL` for what does not work.
        text: the result and, if the verdict is not `ok`, what to do.
    """

    name: str
    verdict: Verdict
    text: str

    def __str__(self) -> str:
        return f"{self.verdict:<4}  {self.name:<10}  {self.text}"


def listed(things: Iterable[object]) -> str:
    """Text such as `n1, n2, n3, n4 and 12 more`."""
    words = list(dict.fromkeys(map(str, things)))
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return ", ".join(words[:SHOWN]) + more


def counted(number: int, noun: str, plural: str = "") -> str:
    """Text such as `1 host`, `2 hosts`, `2 processes`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def by_host(everyone: Sequence[Facts]) -> dict[str, list[Facts]]:
    """Facts of all processes, by host, in the order of the processes."""
    hosts: dict[str, list[Facts]] = {}
    for facts in everyone:
        hosts.setdefault(facts["host"], []).append(facts)
    return hosts


STALL_SECONDS = 60.0  # longest time of any part of a check
PATIENCE = 45.0  # seconds to wait for the other processes; less than the watchdog's limit, so that it names them


class Leftovers:
    """Files that are removed when this process ends, in any way but by SIGKILL."""

    def __init__(self) -> None:
        self._paths: list[Path] = []

    def add(self, path: Path) -> Path:
        """Remember a file that is about to be written."""
        self._paths.append(path)
        return path

    def remove(self) -> None:
        """Remove the files; skip those that cannot be removed."""
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
        directory: the directory whose file system is examined.
        environment: environment of this process, from before it joined: joining removes proxies.
        programs: folder of compiled programs; None without one.
        host: name of this host.
        hosts: names of the hosts of all processes.
        token: the same on all processes, different for each call of the doctor.
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
    def first_of_host(self) -> bool:
        """True if this is the first process of its host."""
        return self.hosts.index(self.host) == self.process


_agreement = Agreement("doctor")


def gather(facts: Facts) -> list[Facts]:
    """The facts of all processes, on the first process; an empty list on the others."""
    return [json.loads(text) for text in _agreement.gather(json.dumps(facts), PATIENCE)]


def tell(value: Any) -> Any:
    """The first process's value, on all processes."""
    return json.loads(_agreement.tell(json.dumps(value), PATIENCE))


def wait_for_all() -> None:
    """Wait until every process has called this; no device takes part."""
    gather({})
    tell(None)
