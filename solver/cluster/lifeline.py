"""Each process holds a connection to the first one: the kernel closes it when either dies, and the other knows at once.

A collective need not fail when a process that takes part in it is killed, and heartbeats are slow. A host that vanishes
closes nothing: there the kernel asks every few seconds whether the other end still answers.
"""

from __future__ import annotations

import resource
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import jax

from solver.cluster.addresses import listening_address
from solver.cluster.log import LOGGER

KEY = "slabwave/lifeline"
GOODBYE = b"bye\n"
CONNECT_SECONDS = 30.0
HEAR_SECONDS = 1.5  # for a message to come from the one that left: it says more than its silence
FILES = 256  # that the first process may need besides connections

_connections: list[socket.socket] = []


def hold(client: Any, coordinator: str, died: Callable[[str], None]) -> None:
    """Connect this process to the first one, or let the others connect.

    Args:
        client: of the coordination service.
        coordinator: `host:port` where the processes met; the first process listens at its address, at a free port.
        died: called, in a thread, with a line that says which process died without a word.
    """
    if jax.process_index() == 0:
        server = _listen(coordinator)
        token = secrets.token_hex(16)
        where = "" if server is None else f"{server.getsockname()[0]} {server.getsockname()[1]} {token}"
        client.key_value_set(KEY, where)
        if server is not None:
            _start(lambda: _serve(server, token, died))
        return
    where = client.blocking_key_value_get(KEY, int(1000 * CONNECT_SECONDS))
    if where:
        _connect(where, died)


def let_go() -> None:
    """This process leaves in order: nobody is to take it for dead."""
    for connection in list(_connections):
        try:
            connection.sendall(GOODBYE)
        except OSError:
            continue  # the other end has left already


def _listen(coordinator: str) -> socket.socket | None:
    """None where there are more processes than this one may have files open, or no address of its own to listen at."""
    needed = jax.process_count() + FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            return None
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    address = listening_address(coordinator)
    if address is None:
        return None
    host = address.rpartition(":")[0].strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, 0), family=family, backlog=128)
    except OSError:
        return None


def _connect(where: str, died: Callable[[str], None]) -> None:
    host, port, token = where.split()
    try:
        connection = socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS)
        connection.settimeout(None)
        _ask_whether_alive(connection)
        connection.sendall(f"{token} {jax.process_index():8d}\n".encode())
    except OSError as error:
        LOGGER.debug("no connection to the first process: %s", error)
        return
    _connections.append(connection)
    _start(lambda: _wait_for_first(connection, died))


def _wait_for_first(connection: socket.socket, died: Callable[[str], None]) -> None:
    if _ended_in_order(connection):
        return
    time.sleep(HEAR_SECONDS)
    died("process 0 died without a word")


def _serve(server: socket.socket, token: str, died: Callable[[str], None]) -> None:
    """Take connections, and report the first one that ends without a goodbye."""
    hello = len(f"{token} {0:8d}\n")
    with selectors.DefaultSelector() as selector:
        selector.register(server, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is server:
                    process, connection = _accept(server, token, hello)
                    if connection is not None:
                        _connections.append(connection)
                        selector.register(connection, selectors.EVENT_READ, process)
                    continue
                connection = key.fileobj  # type: ignore[assignment]
                selector.unregister(connection)  # type: ignore[arg-type]
                if not _ended_in_order(connection):  # type: ignore[arg-type]
                    time.sleep(HEAR_SECONDS)
                    died(f"process {key.data} died without a word")


def _accept(server: socket.socket, token: str, hello: int) -> tuple[int, socket.socket | None]:
    """Number and connection of a process; no connection for whoever does not know the token."""
    try:
        connection, _ = server.accept()
    except OSError:
        return -1, None
    try:
        connection.settimeout(5.0)
        said = b""
        while len(said) < hello and (more := connection.recv(hello - len(said))):
            said += more
        given, _, process = said.decode(errors="replace").partition(" ")
        if not secrets.compare_digest(given.encode(), token.encode()):
            connection.close()
            return -1, None
        connection.settimeout(None)
        _ask_whether_alive(connection)
        return int(process), connection
    except (OSError, ValueError):
        connection.close()
        return -1, None


def _ended_in_order(connection: socket.socket) -> bool:
    """Wait for the other end to say goodbye, or to end without."""
    try:
        return connection.recv(len(GOODBYE)) == GOODBYE
    except OSError:
        return False
    finally:
        if connection in _connections:
            _connections.remove(connection)
        connection.close()


def _ask_whether_alive(connection: socket.socket) -> None:
    """Have the kernel find out within half a minute that the other host is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="slabwave-lifeline", daemon=True).start()
