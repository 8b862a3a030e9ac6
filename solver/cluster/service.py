"""The client of JAX's coordination service, which has no public name in JAX, and short texts that are left there."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, ClassVar

PATIENCE = 10**9  # milliseconds; heartbeats and the watchdog notice a missing process, not this


def service_client() -> Any:
    """The client of the service in a job of several processes, or None outside one.

    Its methods may be called from any thread; no device takes part.
    """
    try:
        from jax._src import distributed

        return distributed.global_state.client
    except (ImportError, AttributeError):
        return None


def where_processes_met() -> str:
    """`host:port` of the coordination service; an empty string outside a job of several processes."""
    try:
        from jax._src import distributed

        return str(distributed.global_state.coordinator_address or "")
    except (ImportError, AttributeError):
        return ""


class Messages:
    """Messages between two groups of a job's processes. Any thread may use them, since no device takes part.

    Every process of both groups makes one for the same purpose, in the same order.

    Args:
        name: purpose of the messages, part of their keys.
    """

    _made: ClassVar[Counter[str]] = Counter()

    def __init__(self, name: str) -> None:
        self._made[name] += 1
        self._place = f"slabwave/messages/{name}/{self._made[name]}"

    def leave(self, key: str, message: Any, *, again: bool = False) -> None:
        """Leave a message, of what JSON can hold: once for each key, unless it may be left `again`."""
        service_client().key_value_set(f"{self._place}/{key}", json.dumps(message), allow_overwrite=again)

    def wait_for(self, key: str) -> Any:
        """A message, once it is there. Any number of processes may call this."""
        return json.loads(service_client().blocking_key_value_get(f"{self._place}/{key}", PATIENCE))

    def remove(self, key: str) -> None:
        """Remove a message that every process has read, since the service keeps all of them in memory."""
        service_client().key_value_delete(f"{self._place}/{key}")
