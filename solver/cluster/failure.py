"""When one process fails, all of them end, within seconds and with its message.

JAX's own shutdown waits for processes that will never come. So a failing process leaves its message with the
coordination service, where a thread of each other process waits for it, and then ends at once, without cleaning up.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

import jax

KEY = "slabwave/failure"
WAIT_MILLISECONDS = 1_000_000_000
NOTICE_SECONDS = 1.0  # the coordinator lives in process 0: it stays until the others have read its message


def _client() -> Any:
    """The coordination service's client, or None outside a job of several processes."""
    try:
        from jax._src import distributed  # the key-value store has no public name

        return distributed.global_state.client
    except (ImportError, AttributeError):
        return None


def watch() -> None:
    """Start the thread that ends this process when another one reports a failure."""
    client = _client()
    if client is not None:
        threading.Thread(target=_wait_for_failure, args=(client,), name="slabwave-failure", daemon=True).start()


def _wait_for_failure(client: Any) -> None:
    try:
        message = client.blocking_key_value_get(KEY, WAIT_MILLISECONDS)
    except Exception:
        return  # the service is gone: the job is over, or JAX's own heartbeat ends this process
    code, process, text = message.split(" ", 2)
    if int(process) == jax.process_index():
        return
    print(f"slabwave: process {process} failed: {text}", file=sys.stderr, flush=True)
    os._exit(int(code))


def end_all(code: int, message: str) -> None:
    """Tell the other processes, if there are any, and end this one; its own message is already printed."""
    client = _client()
    if client is None:
        sys.exit(code)
    one_line = " ".join(message.split())
    try:
        client.key_value_set(KEY, f"{code} {jax.process_index()} {one_line}")
        time.sleep(NOTICE_SECONDS)
    except Exception as error:
        # another process was first; its message is the one that counts
        print(f"slabwave: {str(error).splitlines()[0]}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
