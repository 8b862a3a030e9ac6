"""Decisions that all processes of a job must take alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import jax
import numpy as np
from jax.experimental import multihost_utils

from solver.cluster.service import service_client

PATIENCE = 10**9  # milliseconds; heartbeats and the watchdog notice a missing process, not this


class Disagreement(RuntimeError):
    """Processes of one job were given different things to do."""


class FailedElsewhere(RuntimeError):
    """Another process of the job failed, and prints the reason itself."""


def is_first() -> bool:
    """True on process 0, which writes everything that is written once."""
    return jax.process_index() == 0


def largest(values: Sequence[float]) -> list[float]:
    """For each entry the largest value over all processes. One small collective: every process must call it."""
    if jax.process_count() == 1:
        return [float(v) for v in values]
    everyone = multihost_utils.process_allgather(np.asarray(values, np.float64))
    return [float(v) for v in np.max(everyone, axis=0)]


def any_process(flag: bool) -> bool:
    """Whether the flag is set on any process."""
    return largest([float(flag)])[0] > 0


def barrier(name: str) -> None:
    """Wait until every process has called this."""
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


class Agreement:
    """Processes wait for each other through the coordination service. Any thread may, since no device takes part.

    Every process calls the same methods in the same order.

    Args:
        name: unique to the thread that uses it.
    """

    _rounds: ClassVar[Counter[str]] = Counter()  # of each name, since a key of the service can be used once

    def __init__(self, name: str) -> None:
        self.name = name

    @contextmanager
    def together(self) -> Iterator[None]:
        """If the block fails on one process, it fails on all. No process continues before all have left the block.

        Raises:
            FailedElsewhere: on the processes on which the block itself did not fail.
        """
        failure: Exception | None = None
        try:
            yield
        except Exception as error:
            failure = error
        elsewhere = self._first_failure(failure)
        if failure is not None:
            raise failure
        if elsewhere is not None:
            raise FailedElsewhere(elsewhere)

    def gather(self, text: str, seconds: float) -> list[str]:
        """The texts of all processes, in their order, on the first process; an empty list on the others.

        Raises:
            TimeoutError: names the first process whose text did not come within `seconds`.
        """
        client, round_ = service_client(), self._next_round()
        if client is None:
            return [text]
        if not is_first():
            client.key_value_set(f"{round_}/{jax.process_index()}", text)
            return []
        others = [self._wait_for(client, round_, process, seconds) for process in range(1, jax.process_count())]
        return [text, *others]

    def tell(self, text: str, seconds: float = PATIENCE / 1000) -> str:
        """Send the first process's text to all processes: what each reads for itself, say in a directory, may be older.

        Raises:
            TimeoutError: it did not come within `seconds`.
        """
        client, round_ = service_client(), self._next_round()
        if client is None:
            return text
        if not is_first():
            return self._wait_for(client, round_, 0, seconds, delete=False)
        client.key_value_set(f"{round_}/0", text)
        return text

    def _wait_for(self, client: Any, round_: str, process: int, seconds: float, delete: bool = True) -> str:
        key = f"{round_}/{process}"
        try:
            text = client.blocking_key_value_get(key, int(1000 * seconds))
        except Exception as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
            raise TimeoutError(f"process {process} has not answered for {seconds:g} s") from error
        if delete:
            client.key_value_delete(key)
        return str(text)

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """The processes run the block one after another, in their order."""
        client, round_ = service_client(), self._next_round()
        me = jax.process_index()
        if client is not None and me > 0:
            client.blocking_key_value_get(f"{round_}/{me - 1}", PATIENCE)
            client.key_value_delete(f"{round_}/{me - 1}")
        try:
            yield
        finally:
            if client is not None and me + 1 < jax.process_count():
                client.key_value_set(f"{round_}/{me}", "done")

    def _first_failure(self, mine: Exception | None) -> str | None:
        client, round_ = service_client(), self._next_round()
        if client is None:
            return None
        if mine is not None:
            client.key_value_set(f"{round_}/{jax.process_index():06d}", f"{type(mine).__name__}: {mine}")
        client.wait_at_barrier(f"{round_}/barrier", PATIENCE)
        failures = sorted(client.key_value_dir_get(f"{round_}/"))
        if not failures:
            return None
        process, text = failures[0]
        return f"process {int(process.rpartition('/')[2])}: {text}"

    def _next_round(self) -> str:
        self._rounds[self.name] += 1
        return f"slabwave/{self.name}/{self._rounds[self.name]}"
