"""The connections by which processes notice that another one died; here between threads of one process."""

import socket
import threading
import time

import pytest

from solver.cluster import lifeline


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
    """The first process, and what it says of the dead."""
    monkeypatch.setattr(lifeline, "HEAR_SECONDS", 0.05)
    monkeypatch.setattr(lifeline, "_connections", [])
    monkeypatch.setattr("jax.process_index", lambda: 0)
    monkeypatch.setattr("jax.process_count", lambda: 3)
    service, said = Service(), []
    lifeline.hold(service, "127.0.0.1:1", said.append)
    return service.values[lifeline.KEY], said


def another(where, process, token=None):
    host, port, known = where.split()
    connection = socket.create_connection((host, int(port)))
    connection.sendall(f"{token or known} {process:8d}\n".encode())
    return connection


def wait_for(said, seconds=3):
    deadline = time.monotonic() + seconds
    while not said and time.monotonic() < deadline:
        time.sleep(0.01)
    return said


def test_who_dies_is_named_and_who_leaves_is_not(first):
    where, said = first
    leaving, dying = another(where, 1), another(where, 2)
    time.sleep(0.1)
    leaving.sendall(lifeline.GOODBYE)
    leaving.close()
    time.sleep(0.3)
    assert said == []
    dying.close()
    assert wait_for(said) == ["process 2 died without a word"]


def test_a_stranger_is_not_listened_to(first):
    where, said = first
    stranger = another(where, 1, token="0" * 32)
    time.sleep(0.1)
    stranger.close()
    garbage = socket.create_connection((where.split()[0], int(where.split()[1])))
    garbage.sendall(b"GET / HTTP/1.1\r\n\r\n")
    garbage.close()
    time.sleep(0.3)
    assert said == []
    known = another(where, 2)
    time.sleep(0.1)
    known.close()
    assert wait_for(said) == ["process 2 died without a word"]


@pytest.mark.parametrize("in_order", [True, False])
def test_the_death_of_the_first_is_noticed(monkeypatch, in_order):
    monkeypatch.setattr(lifeline, "HEAR_SECONDS", 0.05)
    monkeypatch.setattr(lifeline, "_connections", [])
    monkeypatch.setattr("jax.process_index", lambda: 1)
    server = socket.create_server(("127.0.0.1", 0))
    service, said = Service(), []
    service.values[lifeline.KEY] = f"127.0.0.1 {server.getsockname()[1]} abc"
    threading.Thread(target=lambda: lifeline.hold(service, "127.0.0.1:1", said.append)).start()
    connection, _ = server.accept()
    assert connection.recv(100) == b"abc        1\n"
    if in_order:
        connection.sendall(lifeline.GOODBYE)
    connection.close()
    server.close()
    wait_for(said, 0.5)
    assert said == ([] if in_order else ["process 0 died without a word"])


def test_more_processes_than_files_go_without(monkeypatch):
    monkeypatch.setattr("jax.process_count", lambda: 10**9)
    monkeypatch.setattr("resource.getrlimit", lambda what: (1024, 4096))
    assert lifeline._listen("127.0.0.1:1") is None
