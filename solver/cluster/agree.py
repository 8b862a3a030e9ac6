"""Decisions that all processes of a job must take alike."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from jax.experimental import multihost_utils


class Disagreement(RuntimeError):
    """Processes of one job were given different things to do."""


def is_first() -> bool:
    """True on the process that writes what is written once."""
    return jax.process_index() == 0


def largest(values: Sequence[float]) -> list[float]:
    """Entry by entry the largest value over all processes: one small collective, a point all of them reach."""
    if jax.process_count() == 1:
        return [float(v) for v in values]
    everyone = multihost_utils.process_allgather(np.asarray(values, np.float64))
    return [float(v) for v in np.max(everyone, axis=0)]


def any_process(flag: bool) -> bool:
    """Whether the flag is set on any process."""
    return largest([float(flag)])[0] > 0


def barrier(name: str) -> None:
    """Wait until every process is here."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(name)


def require_same(text: str, what: str) -> None:
    """Check that every process holds the same text.

    Raises:
        Disagreement: names the first line that differs from process 0's.
    """
    if jax.process_count() == 1:
        return
    mine = np.frombuffer(text.encode(), np.uint8)
    length = int(largest([len(mine)])[0])
    padded: np.ndarray = np.zeros(length, np.uint8)
    padded[: len(mine)] = mine
    everyone = np.asarray(multihost_utils.process_allgather(padded)).reshape(-1, length)
    texts = [bytes(row).rstrip(b"\0").decode() for row in everyone]
    for process, other in enumerate(texts):
        if other != texts[0]:
            raise Disagreement(
                f"process {process} was given another {what} than process 0: {_differs(texts[0], other)}"
            )


def _differs(first: str, other: str) -> str:
    for a, b in zip(first.splitlines(), other.splitlines(), strict=False):
        if a != b:
            return f"{b!r} instead of {a!r}"
    return "one is longer"
