"""The connections by which processes notice that another one died; here between threads of one process."""

import socket
import threading
import time

import pytest

from solver.cluster import peer_connections


class Service:
    """Keys and values, as the coordination service keeps them."""

    def __init__(self):
        self.values = {}

    def key_value_set(self, key, value):
        self.values[key] = value

    def blocking_key_value_get(self, key, milliseconds):
        return self.values[key]


@pytest.fixture
def first(monkeypatch):
    """The first process, and the deaths that it reports."""
    monkeypatch.setattr(peer_connections, "HEAR_SECONDS", 0.05)
    monkeypatch.setattr(peer_connections, "_connections", [])
    monkeypatch.setattr("jax.process_index", lambda: 0)
    monkeypatch.setattr("jax.process_count", lambda: 3)
    service, messages = Service(), []
    peer_connections.connect(service, "127.0.0.1:1", messages.append)
    return service.values[peer_connections.KEY], messages


def connect(address, process, token=None):
    host, port, known = address.split()
    connection = socket.create_connection((host, int(port)))
    connection.sendall(f"{token or known} {process:8d}\n".encode())
    return connection


def wait_for(messages, seconds=3):
    deadline = time.monotonic() + seconds
    while not messages and time.monotonic() < deadline:
        time.sleep(0.01)
    return messages


def test_who_dies_is_named_and_who_leaves_is_not(first):
    address, messages = first
    leaving, dying = connect(address, 1), connect(address, 2)
    time.sleep(0.1)
    leaving.sendall(peer_connections.GOODBYE)
    leaving.close()
    time.sleep(0.3)
    assert messages == []
    dying.close()
    assert wait_for(messages) == ["process 2 died without a word"]


def test_a_stranger_is_not_listened_to(first):
    address, messages = first
    stranger = connect(address, 1, token="0" * 32)
    time.sleep(0.1)
    stranger.close()
    garbage = socket.create_connection((address.split()[0], int(address.split()[1])))
    garbage.sendall(b"GET / HTTP/1.1\r\n\r\n")
    garbage.close()
    time.sleep(0.3)
    assert messages == []
    known = connect(address, 2)
    time.sleep(0.1)
    known.close()
    assert wait_for(messages) == ["process 2 died without a word"]


@pytest.mark.parametrize("in_order", [True, False])
def test_the_death_of_the_first_is_noticed(monkeypatch, in_order):
    monkeypatch.setattr(peer_connections, "HEAR_SECONDS", 0.05)
    monkeypatch.setattr(peer_connections, "_connections", [])
    monkeypatch.setattr("jax.process_index", lambda: 1)
    server = socket.create_server(("127.0.0.1", 0))
    service, messages = Service(), []
    service.values[peer_connections.KEY] = f"127.0.0.1 {server.getsockname()[1]} abc"
    threading.Thread(target=lambda: peer_connections.connect(service, "127.0.0.1:1", messages.append)).start()
    connection, _ = server.accept()
    assert connection.recv(100) == b"abc        1\n"
    if in_order:
        connection.sendall(peer_connections.GOODBYE)
    connection.close()
    server.close()
    wait_for(messages, 0.5)
    assert messages == ([] if in_order else ["process 0 died without a word"])


def test_more_processes_than_files_go_without(monkeypatch):
    monkeypatch.setattr("jax.process_count", lambda: 10**9)
    monkeypatch.setattr("resource.getrlimit", lambda what: (1024, 4096))
    assert peer_connections._listen("127.0.0.1:1") is None
