"""The result of a check: a name, a verdict, and a line of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
