"""The client of JAX's coordination service, which has no public name in JAX."""

from __future__ import annotations

from typing import Any


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
