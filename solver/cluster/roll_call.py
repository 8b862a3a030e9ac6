"""Processes wait until all processes of their job are present, before JAX joins them.

JAX's own waiting is silent for minutes, names no missing process, ignores signals and ends in an abort; and a second
process with the same number ends the job. So the first process itself listens at the meeting address. Each other
process sends its number there, again and again, until the answer is that all are present. Then the first process
closes the port, and JAX takes it over. A signal to any process stops all of them, as it does in a run: the process that
gets it tells the first one before it ends. Nothing here is secret: anyone who can reach the port can disturb a job.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext

from solver.cluster.addresses import host_and_port, listening_address, refuse_unknown_name
from solver.cluster.launch import Launch, LaunchError, NotAllThere, StoppedWaiting
from solver.cluster.log import LOGGER
from solver.stop import StopRequest, listening

LINE_SECONDS = 10.0  # between two lines that name missing processes
ASK_SECONDS = (0.05, 0.5)  # between two questions whether all are there: at first, and later
LEAVE_SECONDS = 3.0  # a process that gives up tries this long to tell the others
REPLY_SECONDS = 2.0  # for the other end to send its line
CHECK_SECONDS = 0.1  # between two checks for a signal
MAX_LINE = 1000  # bytes
MAX_REPORTERS = 4  # processes besides the first that print what they wait for; a job may have thousands
FINAL = ("no: ", "left: ", "stopped: ")  # beginnings of answers after which a process asks no more
MAX_NAMED = 8  # missing processes that a line names


def call_the_roll(launch: Launch) -> None:
    """Return when every process of the job has called this.

    Args:
        launch: this process's place in the job, with the address where the processes meet.

    Raises:
        LaunchError: the host name has no address; the first process cannot listen there; another process has the
            same number.
        NotAllThere: some did not come within `launch.join_limit`; the message names them.
        StoppedWaiting: a signal came before that, to this process or to another one that could report it.
    """
    assert launch.coordinator is not None
    refuse_unknown_name(launch.coordinator, os.environ)
    if launch.process == 0:
        _wait_for_others(launch)
    else:
        _report_to_first(launch)


class _Wait:
    """Checks for signals and the time limit, and prints every ten seconds which processes are missing."""

    def __init__(self, launch: Launch, request: StopRequest, write_line: Callable[[str], None]) -> None:
        self.launch, self.request, self.write_line = launch, request, write_line
        self._began = self._last_line = time.monotonic()

    def check(self, missing: Callable[[], str], all_came: bool = False) -> None:
        """Return to wait longer, or raise an error that names the missing processes.

        Once all processes came (`all_came`), signals are left to the run.
        """
        now = time.monotonic()
        if self.request.received is not None and not all_came:
            number = signal.Signals[self.request.received]
            raise StoppedWaiting(
                f"stopped by {number.name} while waiting for {missing()}; nothing was done yet", number
            )
        if now - self._began > self.launch.join_limit:
            raise NotAllThere(f"waited {self.launch.join_limit:g} s (--join-limit) for {missing()}")
        if now - self._last_line >= LINE_SECONDS:
            self._last_line = now
            self.write_line(f"waiting since {now - self._began:.0f} s for {missing()}")


def _signals() -> nullcontext[StopRequest] | StopRequest:
    """The request to stop that is installed already, or a new one."""
    installed = listening()
    return StopRequest() if installed is None else nullcontext(installed)


# ---- the first process ------------------------------------------------------------------------------------------


def _wait_for_others(launch: Launch) -> None:
    informed: set[int | None] = set()
    present: dict[int, dict[str, str]] = {}
    others = set(range(1, launch.processes))
    missing = lambda: _missing(launch, others - set(present) or {*others} - informed)  # noqa: E731

    def answer() -> str:
        if not informed:  # otherwise some processes have joined already, and the run obeys the signal
            _stop_if_another_was(present)
        return "all" if len(present) == len(others) else "wait"

    with _listen(launch) as server, _signals() as request:
        wait = _Wait(launch, request, lambda text: LOGGER.warning("%s", text))
        server.settimeout(CHECK_SECONDS)
        try:
            while informed != others:
                wait.check(missing, all_came=bool(informed))
                informed |= {_reply(server, launch, present, answer)} - {None}
        except (NotAllThere, StoppedWaiting) as error:
            informed_of_end, text = set[int | None](), _farewell(error)
            ends = time.monotonic() + LEAVE_SECONDS
            while time.monotonic() < ends and not informed_of_end >= others:
                informed_of_end.add(_reply(server, launch, present, lambda: text))
            raise


def _stop_if_another_was(present: dict[int, dict[str, str]]) -> None:
    """Stop waiting if a signal has come to another process."""
    for number, who in present.items():
        if "stopped" in who:
            text = f"process {number} was stopped by {who['stopped']} while all were waited for; nothing was done yet"
            raise StoppedWaiting(text, signal.Signals[who["stopped"]])


def _farewell(error: NotAllThere | StoppedWaiting) -> str:
    return f"stopped: {error.signal.name} {error}" if isinstance(error, StoppedWaiting) else f"left: {error}"


def _reply(
    server: socket.socket, launch: Launch, present: dict[int, dict[str, str]], answer: Callable[[], str]
) -> int | None:
    """Wait a moment for a process to ask, and answer it; its number if it confirmed a final answer."""
    try:
        connection, _ = server.accept()
    except TimeoutError:
        return None
    with connection:
        number = _register(connection, launch, present)
        return number if number is not None and _send_line(connection, answer()) else None


def _listen(launch: Launch) -> socket.socket:
    assert launch.coordinator is not None
    address = listening_address(launch.coordinator)
    host, port = host_and_port(address or launch.coordinator)
    try:
        if address is None:  # the name is not of this host: it may be a load balancer's
            return socket.create_server(("", port), backlog=1024)
        return socket.create_server((host, port), family=_family(host), backlog=1024)
    except OSError as error:
        raise LaunchError(
            f"process 0 cannot listen at {launch.coordinator}: {os.strerror(error.errno or 0)}; another process 0 of "
            "this job, or another program, may be there: give each process its own --process, or another --coordinator"
        ) from None


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _register(connection: socket.socket, launch: Launch, present: dict[int, dict[str, str]]) -> int | None:
    """Note a process as present and return its number. If it is not of this job, tell it why and return None."""
    try:
        who = json.loads(_read_line(connection))
        number, count = int(who["process"]), int(who["processes"])
        stopped = {"stopped": signal.Signals[who["stopped"]].name} if "stopped" in who else {}
        who = {key: str(who[key])[:100] for key in ("token", "host", "pid")} | stopped
    except (ValueError, TypeError, KeyError):
        return None
    if count != launch.processes or not 0 <= number < count:
        _send_line(
            connection, f"no: process 0 expects {launch.processes} processes, not {count}; all need the same number"
        )
        return None
    known = {**present, 0: _myself(launch)}.get(number, who)
    if known["token"] != who["token"]:
        other = f"process {known['pid']} of {known['host']}"
        LOGGER.warning(
            "process %d was started twice: %s, and on %s; the second is sent away", number, other, who["host"]
        )
        _send_line(connection, f"no: {other} has that number already; each process needs its own")
        return None
    present[number] = who
    return number


def _missing(launch: Launch, numbers: set[int]) -> str:
    first = sorted(numbers)[:MAX_NAMED]
    more = f" and {len(numbers) - len(first)} more" if len(numbers) > len(first) else ""
    named = f"process{'es' if len(numbers) > 1 else ''} {', '.join(map(str, first))}{more} of {launch.processes}"
    assert launch.coordinator is not None
    elsewhere = "" if listening_address(launch.coordinator) else ", which is no address of this host"
    return f"{named} to come to {launch.coordinator}{elsewhere}"


# ---- the others -------------------------------------------------------------------------------------------------


def _report_to_first(launch: Launch) -> None:
    assert launch.coordinator is not None
    pause, longest = ASK_SECONDS[0], max(ASK_SECONDS[1], launch.processes / 4000)
    with _signals() as request:
        wait = _Wait(launch, request, _print if launch.process <= MAX_REPORTERS else lambda text: None)
        while (state := _ask(launch.coordinator, _myself(launch))) != "all":
            if state.startswith(FINAL):
                raise _refusal(launch, state)
            others = "other processes, which process 0 names" if state == "wait" else f"process 0: {state}"
            deadline = time.monotonic() + pause
            while time.monotonic() < deadline:
                try:
                    wait.check(lambda others=others: f"{others} ({launch.coordinator})")  # type: ignore[misc]
                except StoppedWaiting as error:
                    if _all_went_on(launch, error.signal):
                        return
                    raise
                time.sleep(min(pause, CHECK_SECONDS))
            pause = min(1.5 * pause, longest)


def _refusal(launch: Launch, state: str) -> Exception:
    """The error for an answer that begins with one of `FINAL`."""
    kind, _, text = state.partition(": ")
    if kind == "stopped":
        name, _, text = text.partition(" ")
        return StoppedWaiting(f"process 0 has left: {text}", signal.Signals[name])
    if kind == "left":
        return NotAllThere(f"process 0 has left: {text}")
    return LaunchError(f"process {launch.process} at {launch.coordinator}: {text}")


def _all_went_on(launch: Launch, number: signal.Signals) -> bool:
    """Tell the first process that a signal came to this one; True if it is too late because all are present."""
    assert launch.coordinator is not None
    ends = time.monotonic() + LEAVE_SECONDS
    while time.monotonic() < ends:
        answer = _ask(launch.coordinator, _myself(launch) | {"stopped": number.name})
        if answer == "all" or answer.startswith(FINAL):
            return answer == "all"
        time.sleep(CHECK_SECONDS)
    return False


def _ask(coordinator: str, me: dict[str, str]) -> str:
    """Answer of the first process, or the reason why it gave no answer."""
    try:
        with socket.create_connection(host_and_port(coordinator), timeout=REPLY_SECONDS) as connection:
            connection.sendall(json.dumps(me).encode() + b"\n")
            answer = _read_line(connection)
            if answer == "all" or answer.startswith(FINAL):
                connection.sendall(b"ok\n")
    except OSError as error:
        return (error.strerror or str(error) or "no answer").lower()
    if answer in ("all", "wait") or answer.startswith(FINAL):
        return answer
    return "who answers there does not wait for processes: a job that has begun, or another program"


def _myself(launch: Launch) -> dict[str, str]:
    return {
        "token": _TOKEN,
        "process": str(launch.process),
        "processes": str(launch.processes),
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
    }


_TOKEN = secrets.token_hex(8)  # distinguishes two processes with one number from one process that asks again


def _print(text: str) -> None:
    print(f"slabwave: {text}", file=sys.stderr, flush=True)


# ---- lines ------------------------------------------------------------------------------------------------------


def _read_line(connection: socket.socket) -> str:
    """A line from the other end; empty if none comes in time."""
    connection.settimeout(REPLY_SECONDS)
    received = b""
    try:
        while not received.endswith(b"\n") and len(received) < MAX_LINE and (more := connection.recv(MAX_LINE)):
            received += more
    except OSError:
        return ""
    return received.decode(errors="replace").strip()


def _send_line(connection: socket.socket, text: str) -> bool:
    """Send a line; True if the other end confirmed it. The other end closes first, so that the port is free at once."""
    try:
        connection.sendall(f"{text}\n".encode())
        return _read_line(connection) == "ok"
    except OSError:
        return False
