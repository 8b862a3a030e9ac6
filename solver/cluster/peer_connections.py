"""Each process holds a connection to process 0. When either process dies, the kernel closes the connection at once.

A collective need not fail when a process that takes part in it is killed, and heartbeats are slow. A host that loses
power or network closes nothing, so the kernel of the other host probes every few seconds whether it still answers.
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

KEY = "slabwave/peer-connections"
GOODBYE = b"bye\n"
CONNECT_SECONDS = 30.0
HEAR_SECONDS = 1.5  # wait for the failure message of the process that left: it says more than a closed connection
FILES = 256  # open files that the first process may need besides its connections

_connections: list[socket.socket] = []


def connect(client: Any, coordinator: str, on_death: Callable[[str], None]) -> None:
    """Connect this process to process 0; process 0 listens for the others.

    Args:
        client: client of the coordination service.
        coordinator: `host:port` where the processes met. Process 0 listens at this host, at a free port.
        on_death: called in a thread, with a line that names the process that died without a message.
    """
    if jax.process_index() == 0:
        server = _listen(coordinator)
        token = secrets.token_hex(16)
        address = "" if server is None else f"{server.getsockname()[0]} {server.getsockname()[1]} {token}"
        client.key_value_set(KEY, address)
        if server is not None:
            _start(lambda: _serve(server, token, on_death))
        return
    address = client.blocking_key_value_get(KEY, int(1000 * CONNECT_SECONDS))
    if address:
        _connect(address, on_death)


def say_goodbye() -> None:
    """Tell the connected processes that this one ends in order, so that they do not report its death."""
    for connection in list(_connections):
        try:
            connection.sendall(GOODBYE)
        except OSError:
            continue  # the other end has left already


def _listen(coordinator: str) -> socket.socket | None:
    """A listening socket; None if the limit of open files is too low or this host has no address to listen at."""
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


def _connect(address: str, on_death: Callable[[str], None]) -> None:
    host, port, token = address.split()
    try:
        connection = socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS)
        connection.settimeout(None)
        _enable_keepalive(connection)
        connection.sendall(f"{token} {jax.process_index():8d}\n".encode())
    except OSError as error:
        LOGGER.debug("no connection to the first process: %s", error)
        return
    _connections.append(connection)
    _start(lambda: _wait_for_first(connection, on_death))


def _wait_for_first(connection: socket.socket, on_death: Callable[[str], None]) -> None:
    if _ended_in_order(connection):
        return
    time.sleep(HEAR_SECONDS)
    on_death("process 0 died without a word")


def _serve(server: socket.socket, token: str, on_death: Callable[[str], None]) -> None:
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
                    on_death(f"process {key.data} died without a word")


def _accept(server: socket.socket, token: str, hello: int) -> tuple[int, socket.socket | None]:
    """Number and connection of a process; no connection if it does not send the token."""
    try:
        connection, _ = server.accept()
    except OSError:
        return -1, None
    try:
        connection.settimeout(5.0)
        received = b""
        while len(received) < hello and (more := connection.recv(hello - len(received))):
            received += more
        given, _, process = received.decode(errors="replace").partition(" ")
        if not secrets.compare_digest(given.encode(), token.encode()):
            connection.close()
            return -1, None
        connection.settimeout(None)
        _enable_keepalive(connection)
        return int(process), connection
    except (OSError, ValueError):
        connection.close()
        return -1, None


def _ended_in_order(connection: socket.socket) -> bool:
    """Wait until the connection ends; True if the other process said goodbye first."""
    try:
        return connection.recv(len(GOODBYE)) == GOODBYE
    except OSError:
        return False
    finally:
        if connection in _connections:
            _connections.remove(connection)
        connection.close()


def _enable_keepalive(connection: socket.socket) -> None:
    """Let the kernel close the connection within half a minute after the other host is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="slabwave-peer-connections", daemon=True).start()
