"""When one process fails, all of them end, within seconds and with its message.

JAX's own shutdown waits for processes that will never come. So a failing process leaves its message for each of the
others with the coordination service, where a thread of theirs waits for it, and then ends at once, without cleaning
up. A process that leaves in order releases its own thread first: a thread still waiting in C++ when the interpreter
ends would abort it.
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
NOTICE_SECONDS = 1.0  # so long a failing process stays, for the others to read its message


_leaving = threading.Event()  # this process is ending, in order or for a failure
_on_ending: list[Callable[[int], object]] = []


def on_ending(do: Callable[[int], object]) -> Callable[[], None]:
    """What this process does last when another one's failure ends it; it is given the exit code.

    Returns:
        What takes it back.
    """
    _on_ending.append(do)
    return lambda: _on_ending.remove(do)


def watch(coordinator: str | None) -> None:
    """Start what ends this process when another one reports a failure, or dies.

    Args:
        coordinator: `host:port` where the processes met; None where JAX found them.
    """
    client = service_client()
    if client is None:
        return
    if coordinator is not None:
        peer_connections.connect(client, coordinator, _end_for_the_dead)
    mine = KEY.format(jax.process_index())
    thread = threading.Thread(target=_wait_for_failure, args=(client, mine), name="slabwave-failure", daemon=True)
    thread.start()
    atexit.register(_release, client, mine, thread)


def _wait_for_failure(client: Any, mine: str) -> None:
    try:
        message = client.blocking_key_value_get(mine, WAIT_MILLISECONDS)
    except Exception:
        return  # the service is gone: the job is over, or JAX's own heartbeat ends this process
    if message == LEAVE:
        return
    _leaving.set()
    peer_connections.say_goodbye()
    code, process, text = message.split(" ", 2)
    if jax.process_index() == (0 if process != "0" else 1):  # one of thousands says it
        print(f"slabwave: process {process} failed: {text}", file=sys.stderr, flush=True)
    for do in list(_on_ending):
        do(int(code))
    if jax.process_index() == 0:
        # the service lives in this process, and JAX aborts those that find it gone: leave last
        time.sleep(2 * NOTICE_SECONDS)
    os._exit(int(code))


def _end_for_the_dead(message: str) -> None:
    if not _leaving.is_set():
        print(f"slabwave: error: {message}", file=sys.stderr, flush=True)
        end_all(DIED, message)


def _release(client: Any, mine: str, thread: threading.Thread) -> None:
    _leaving.set()
    peer_connections.say_goodbye()
    try:
        client.key_value_set(mine, LEAVE)
    except Exception:
        return  # a failure was reported just now: the thread is ending this process
    thread.join(timeout=10)


def end_all(code: int, message: str) -> None:
    """Tell the other processes, if there are any, and end this one at once, from any thread.

    Its own message is already printed. Nothing is cleaned up.
    """
    client = service_client()
    if client is not None:
        _leaving.set()
        peer_connections.say_goodbye()
        text = f"{code} {jax.process_index()} {' '.join(message.split())}"
        # in a thread: the service's own process may be the one that hangs
        threading.Thread(target=_tell_others, args=(client, text), daemon=True).start()
        time.sleep(NOTICE_SECONDS)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _tell_others(client: Any, text: str) -> None:
    for process in range(jax.process_count()):
        if process != jax.process_index():
            _tell(client, process, text)


def _tell(client: Any, process: int, text: str) -> None:
    try:
        client.key_value_set(KEY.format(process), text)
    except Exception:
        return  # it has left already, or heard of another failure first
