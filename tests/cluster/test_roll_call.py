"""Processes that wait for each other before JAX joins them."""

import signal
import socket
import threading
import time

import pytest

from solver.cluster import Launch, LaunchError, NotAllThere, StoppedWaiting, roll_call
from solver.cluster.addresses import free_port
from solver.cluster.roll_call import call_the_roll
from solver.stop import StopRequest


@pytest.fixture(autouse=True)
def short_farewells(monkeypatch):
    monkeypatch.setattr(roll_call, "LEAVE_SECONDS", 0.6)


@pytest.fixture
def place():
    address = f"127.0.0.1:{free_port()}"
    return lambda process, processes=3, limit=20.0: Launch("test", processes, process, address, join_limit=limit)


def in_thread(launch, name=None, then=lambda: None):
    """A process of the job; what it raised, once it is through."""
    raised = []

    def work():
        try:
            call_the_roll(launch)
            then()
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=work, name=name)
    thread.start()
    return thread, raised


def test_all_go_on_together_whatever_else_comes_to_the_port(place):
    started = [in_thread(place(process)) for process in (1, 0)]
    address = place(0).coordinator.split(":")
    while True:
        try:
            stranger = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            pass
    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
    stranger.close()
    assert all(thread.is_alive() for thread, _ in started), "process 2 is not there yet"
    started.append(in_thread(place(2)))
    for thread, raised in started:
        thread.join(10)
        assert not thread.is_alive()
        assert raised == []


def test_it_says_who_is_missing_and_ends_at_the_limit(place, monkeypatch, caplog):
    monkeypatch.setattr(roll_call, "LINE_SECONDS", 0.2)
    monkeypatch.setattr(roll_call.LOGGER, "propagate", True)
    thread, raised = in_thread(place(1, limit=1.2))
    missing = r"process 2 of 3 to come to 127\.0\.0\.1"
    with pytest.raises(NotAllThere, match=rf"waited 0\.5 s \(--join-limit\) for {missing}"):
        call_the_roll(place(0, limit=0.5))
    assert "waiting since 0 s for process 2 of 3 to come to" in caplog.text
    thread.join(10)
    assert "process 0 has left: waited 0.5 s" in str(raised[0])


@pytest.mark.slow
@pytest.mark.parametrize("stopped", [0, 1, 2])
def test_a_signal_to_any_one_stops_all_of_them(place, monkeypatch, stopped):
    requests = [StopRequest() for _ in range(3)]
    monkeypatch.setattr(roll_call, "listening", lambda: requests[int(threading.current_thread().name)])
    started = [in_thread(place(process, processes=4), name=str(process)) for process in range(3)]
    time.sleep(0.5)
    requests[stopped].received = "SIGUSR1"
    for process, (thread, raised) in enumerate(started):
        thread.join(10)
        assert isinstance(raised[0], StoppedWaiting)
        assert raised[0].signal == signal.SIGUSR1
        assert ("process 0 has left" in str(raised[0])) == (process not in (0, stopped))
        assert "nothing was done yet" in str(raised[0])


@pytest.mark.parametrize("stopped", [0, 2])
def test_a_signal_that_comes_once_some_went_on_is_left_to_the_run(place, monkeypatch, stopped):
    requests = [StopRequest() for _ in range(3)]
    monkeypatch.setattr(roll_call, "listening", lambda: requests[int(threading.current_thread().name)])
    went_on = threading.Event()
    monkeypatch.setattr(roll_call, "ASK_SECONDS", (0.4, 0.4))
    started = [in_thread(place(process), name=str(process)) for process in (0, 2)]
    time.sleep(0.1)
    started.append(in_thread(place(1), name="1", then=went_on.set))
    assert went_on.wait(10)
    requests[stopped].received = "SIGUSR1"
    for thread, raised in started:
        thread.join(10)
        assert raised == []


@pytest.mark.slow
def test_other_numbers_of_processes_are_told(place):
    thread, _ = in_thread(place(0, limit=0.7))
    with pytest.raises(LaunchError, match="process 0 expects 3 processes, not 4; all need the same"):
        call_the_roll(place(1, processes=4))
    thread.join(10)


@pytest.mark.slow
def test_a_second_first_process_is_told(place):
    with socket.create_server(("127.0.0.1", int(place(0).coordinator.split(":")[1]))):
        with pytest.raises(LaunchError, match=r"cannot listen at .*: Address already in use; another process 0"):
            call_the_roll(place(0))
        with pytest.raises(NotAllThere, match="does not wait for processes: a job that has begun, or another program"):
            call_the_roll(place(1, limit=0.01))


def test_names_that_lead_nowhere_wait_in_kubernetes_alone(monkeypatch):
    nowhere = Launch("test", 2, 1, "no-such-host.invalid:80", join_limit=0.01)
    with pytest.raises(LaunchError, match=r"the host name no-such-host\.invalid leads to no address here"):
        call_the_roll(nowhere)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(NotAllThere):
        call_the_roll(nowhere)
