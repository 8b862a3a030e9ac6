"""When one process fails, all of them end, within seconds and with its message.

JAX's own shutdown waits for processes that will never come. So a failing process leaves its message for each of the
others with the coordination service, where a thread of each of them waits for it, and then ends at once, without
cleaning up. A process that ends in order first releases its own thread: if the thread still waited in C++ when the
interpreter ends, it would abort the process.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import jax

from solver.cluster import peer_connections
from solver.cluster.service import service_client

KEY = "slabwave/failure/{}"
LEAVE = "leave"
WAIT_MILLISECONDS = 1_000_000_000
DIED = 1  # the exit code when another process died
NOTICE_SECONDS = 1.0  # a failing process stays this long, so that the others can read its message


_leaving = threading.Event()  # this process is ending, in order or for a failure
_on_ending: list[Callable[[int], object]] = []


def on_ending(do: Callable[[int], object]) -> Callable[[], None]:
    """Call `do` with the exit code before the failure of another process ends this one.

    Returns:
        A function that removes the callback.
    """
    _on_ending.append(do)
    return lambda: _on_ending.remove(do)


def watch(coordinator: str | None) -> None:
    """Start the threads that end this process when another one reports a failure, or dies.

    Args:
        coordinator: `host:port` where the processes met; None if JAX found the address itself.
    """
    client = service_client()
    if client is None:
        return
    if coordinator is not None:
        peer_connections.connect(client, coordinator, _end_after_death)
    key = KEY.format(jax.process_index())
    thread = threading.Thread(target=_wait_for_failure, args=(client, key), name="slabwave-failure", daemon=True)
    thread.start()
    atexit.register(_release, client, key, thread)


def _wait_for_failure(client: Any, key: str) -> None:
    try:
        message = client.blocking_key_value_get(key, WAIT_MILLISECONDS)
    except Exception:
        return  # the service is gone: the job is over, or JAX's own heartbeat ends this process
    if message == LEAVE:
        return
    _leaving.set()
    peer_connections.say_goodbye()
    code, process, text = message.split(" ", 2)
    if jax.process_index() == (0 if process != "0" else 1):  # one process prints it, not thousands
        print(f"slabwave: process {process} failed: {text}", file=sys.stderr, flush=True)
    for do in list(_on_ending):
        do(int(code))
    if jax.process_index() == 0:
        # this process hosts the service, and JAX aborts processes that find it gone: leave last
        time.sleep(2 * NOTICE_SECONDS)
    os._exit(int(code))


def _end_after_death(message: str) -> None:
    if not _leaving.is_set():
        print(f"slabwave: error: {message}", file=sys.stderr, flush=True)
        end_all(DIED, message)


def _release(client: Any, key: str, thread: threading.Thread) -> None:
    _leaving.set()
    peer_connections.say_goodbye()
    try:
        client.key_value_set(key, LEAVE)
    except Exception:
        return  # a failure was reported just now: the thread is ending this process
    thread.join(timeout=10)


def end_all(code: int, message: str) -> None:
    """Send code and message to the other processes and end this one at once; may be called from any thread.

    The caller has already printed the message. Nothing is cleaned up.
    """
    client = service_client()
    if client is not None:
        _leaving.set()
        peer_connections.say_goodbye()
        text = f"{code} {jax.process_index()} {' '.join(message.split())}"
        # in a thread, since the process that hosts the service may hang
        threading.Thread(target=_send_to_others, args=(client, text), daemon=True).start()
        time.sleep(NOTICE_SECONDS)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _send_to_others(client: Any, text: str) -> None:
    for process in range(jax.process_count()):
        if process != jax.process_index():
            _send(client, process, text)


def _send(client: Any, process: int, text: str) -> None:
    try:
        client.key_value_set(KEY.format(process), text)
    except Exception:
        return  # that process has left already, or another failure reached it first
