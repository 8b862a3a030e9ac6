"""JAX's coordination service: the one place where its client, which has no public name, is found."""

from __future__ import annotations

from typing import Any


def service_client() -> Any:
    """The client of the service in a job of several processes, or None outside one.

    Its methods serve any thread, and no device takes part.
    """
    try:
        from jax._src import distributed

        return distributed.global_state.client
    except (ImportError, AttributeError):
        return None
