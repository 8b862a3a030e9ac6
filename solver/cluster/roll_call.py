"""Processes wait until all of their job are there, before JAX joins them.

JAX's own waiting says nothing for minutes, names nobody, hears no signal, and ends in an abort; and whoever connects to
its service with a number that is taken ends the job. So the first process listens at the meeting place itself. Each
other one says its number there, again and again, until it hears that everyone has. Then the first process stops to
listen, and JAX takes over the port. A signal to any one of them stops all, as it does in a run: whoever gets it says so
before it leaves. Nothing here is secret: who can reach the port can still disturb a job.
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

LINE_SECONDS = 10.0  # between two lines that say who is missing
ASK_SECONDS = (0.05, 0.5)  # between two questions whether all are there: at first, and later
LEAVE_SECONDS = 3.0  # so long a process that leaves tries to tell the others
REPLY_SECONDS = 2.0  # for the other end to say its line
LOOK_SECONDS = 0.1  # a signal is obeyed after so long
LONGEST = 1000  # bytes of a line
TALKERS = 4  # processes beside the first that say what they wait for, of jobs with thousands
FINAL = ("no: ", "left: ", "stopped: ")  # how answers begin after which there is nothing to ask
NAMED = 8  # missing processes that a line names


def call_the_roll(launch: Launch) -> None:
    """Return when every process of the job is at this call.

    Args:
        launch: this process's place, with the address where they meet.

    Raises:
        LaunchError: a host name that leads nowhere; the first process cannot listen there; this process's number is
            that of another one.
        NotAllThere: some did not come within `launch.join_limit`; the message names them.
        StoppedWaiting: a signal came first, to this process or to another one that could say so.
    """
    assert launch.coordinator is not None
    refuse_unknown_name(launch.coordinator, os.environ)
    if launch.process == 0:
        _call(launch)
    else:
        _answer(launch)


class _Wait:
    """Keeps the time, obeys signals, and says every ten seconds what is waited for."""

    def __init__(self, launch: Launch, request: StopRequest, say: Callable[[str], None]) -> None:
        self.launch, self.request, self.say = launch, request, say
        self._began = self._said = time.monotonic()

    def check(self, missing: Callable[[], str], all_came: bool = False) -> None:
        """Go on waiting, or raise with what is missing; once all came, a signal is left to the run."""
        now = time.monotonic()
        if self.request.received is not None and not all_came:
            number = signal.Signals[self.request.received]
            raise StoppedWaiting(
                f"stopped by {number.name} while waiting for {missing()}; nothing was done yet", number
            )
        if now - self._began > self.launch.join_limit:
            raise NotAllThere(f"waited {self.launch.join_limit:g} s (--join-limit) for {missing()}")
        if now - self._said >= LINE_SECONDS:
            self._said = now
            self.say(f"waiting since {now - self._began:.0f} s for {missing()}")


def _signals() -> nullcontext[StopRequest] | StopRequest:
    """The request to stop that listens already, or one of its own."""
    already = listening()
    return StopRequest() if already is None else nullcontext(already)


# ---- the first process ------------------------------------------------------------------------------------------


def _call(launch: Launch) -> None:
    told: set[int | None] = set()
    there: dict[int, dict[str, str]] = {}
    others = set(range(1, launch.processes))
    missing = lambda: _missing(launch, others - set(there) or {*others} - told)  # noqa: E731

    def answer() -> str:
        if not told:  # else some have gone on, and the run obeys the signal
            _obey_others(there)
        return "all" if len(there) == len(others) else "wait"

    with _listen(launch) as server, _signals() as request:
        wait = _Wait(launch, request, lambda text: LOGGER.warning("%s", text))
        server.settimeout(LOOK_SECONDS)
        try:
            while told != others:
                wait.check(missing, all_came=bool(told))
                told |= {_reply(server, launch, there, answer)} - {None}
        except (NotAllThere, StoppedWaiting) as error:
            heard, text = set[int | None](), _farewell(error)
            ends = time.monotonic() + LEAVE_SECONDS
            while time.monotonic() < ends and not heard >= others:
                heard.add(_reply(server, launch, there, lambda: text))
            raise


def _obey_others(there: dict[int, dict[str, str]]) -> None:
    """Stop waiting if a signal has come to another process."""
    for number, who in there.items():
        if "stopped" in who:
            text = f"process {number} was stopped by {who['stopped']} while all were waited for; nothing was done yet"
            raise StoppedWaiting(text, signal.Signals[who["stopped"]])


def _farewell(error: NotAllThere | StoppedWaiting) -> str:
    return f"stopped: {error.signal.name} {error}" if isinstance(error, StoppedWaiting) else f"left: {error}"


def _reply(
    server: socket.socket, launch: Launch, there: dict[int, dict[str, str]], answer: Callable[[], str]
) -> int | None:
    """Answer whoever asks next, if anyone does for a moment; the number of a process that has heard it and goes on."""
    try:
        connection, _ = server.accept()
    except TimeoutError:
        return None
    with connection:
        number = _hear(connection, launch, there)
        return number if number is not None and _say(connection, answer()) else None


def _listen(launch: Launch) -> socket.socket:
    assert launch.coordinator is not None
    address = listening_address(launch.coordinator)
    host, port = host_and_port(address or launch.coordinator)
    try:
        if address is None:  # no name of this host: a balancing service may stand in front
            return socket.create_server(("", port), backlog=1024)
        return socket.create_server((host, port), family=_family(host), backlog=1024)
    except OSError as error:
        raise LaunchError(
            f"process 0 cannot listen at {launch.coordinator}: {os.strerror(error.errno or 0)}; another process 0 of "
            "this job, or another program, may be there: give each process its own --process, or another --coordinator"
        ) from None


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _hear(connection: socket.socket, launch: Launch, there: dict[int, dict[str, str]]) -> int | None:
    """Note who is there, and return its number; None for whoever is none of this job, which is told why."""
    said = _line(connection)
    try:
        who = json.loads(said)
        number, count = int(who["process"]), int(who["processes"])
        stopped = {"stopped": signal.Signals[who["stopped"]].name} if "stopped" in who else {}
        who = {key: str(who[key])[:100] for key in ("token", "host", "pid")} | stopped
    except (ValueError, TypeError, KeyError):
        return None
    if count != launch.processes or not 0 <= number < count:
        _say(
            connection, f"no: process 0 was told of {launch.processes} processes, not {count}; all need the same number"
        )
        return None
    known = {**there, 0: _myself(launch)}.get(number, who)
    if known["token"] != who["token"]:
        where = f"process {known['pid']} of {known['host']}"
        LOGGER.warning(
            "process %d was started twice: %s, and on %s; the second is sent away", number, where, who["host"]
        )
        _say(connection, f"no: {where} has that number already; each process needs its own")
        return None
    there[number] = who
    return number


def _missing(launch: Launch, numbers: set[int]) -> str:
    first = sorted(numbers)[:NAMED]
    more = f" and {len(numbers) - len(first)} more" if len(numbers) > len(first) else ""
    named = f"process{'es' if len(numbers) > 1 else ''} {', '.join(map(str, first))}{more} of {launch.processes}"
    assert launch.coordinator is not None
    elsewhere = "" if listening_address(launch.coordinator) else ", which is no address of this host"
    return f"{named} to come to {launch.coordinator}{elsewhere}"


# ---- the others -------------------------------------------------------------------------------------------------


def _answer(launch: Launch) -> None:
    assert launch.coordinator is not None
    pause, longest = ASK_SECONDS[0], max(ASK_SECONDS[1], launch.processes / 4000)
    with _signals() as request:
        wait = _Wait(launch, request, _print if launch.process <= TALKERS else lambda text: None)
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
                time.sleep(min(pause, LOOK_SECONDS))
            pause = min(1.5 * pause, longest)


def _refusal(launch: Launch, state: str) -> Exception:
    """The error of an answer after which there is nothing to ask."""
    kind, _, text = state.partition(": ")
    if kind == "stopped":
        name, _, text = text.partition(" ")
        return StoppedWaiting(f"process 0 has left: {text}", signal.Signals[name])
    if kind == "left":
        return NotAllThere(f"process 0 has left: {text}")
    return LaunchError(f"process {launch.process} at {launch.coordinator}: {text}")


def _all_went_on(launch: Launch, number: signal.Signals) -> bool:
    """Tell the first process that a signal came to this one; whether it is too late, since some wait no longer."""
    assert launch.coordinator is not None
    ends = time.monotonic() + LEAVE_SECONDS
    while time.monotonic() < ends:
        said = _ask(launch.coordinator, _myself(launch) | {"stopped": number.name})
        if said == "all" or said.startswith(FINAL):
            return said == "all"
        time.sleep(LOOK_SECONDS)
    return False


def _ask(coordinator: str, me: dict[str, str]) -> str:
    """What the first process says, or why nothing can be heard of it."""
    try:
        with socket.create_connection(host_and_port(coordinator), timeout=REPLY_SECONDS) as connection:
            connection.sendall(json.dumps(me).encode() + b"\n")
            said = _line(connection)
            if said == "all" or said.startswith(FINAL):
                connection.sendall(b"ok\n")
    except OSError as error:
        return (error.strerror or str(error) or "no answer").lower()
    if said in ("all", "wait") or said.startswith(FINAL):
        return said
    return "who answers there does not wait for processes: a job that has begun, or another program"


def _myself(launch: Launch) -> dict[str, str]:
    return {
        "token": _TOKEN,
        "process": str(launch.process),
        "processes": str(launch.processes),
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
    }


_TOKEN = secrets.token_hex(8)  # tells two processes with one number from one that asks again


def _print(text: str) -> None:
    print(f"slabwave: {text}", file=sys.stderr, flush=True)


# ---- lines ------------------------------------------------------------------------------------------------------


def _line(connection: socket.socket) -> str:
    """What the other end says up to the end of the line; empty if it says nothing in time."""
    connection.settimeout(REPLY_SECONDS)
    said = b""
    try:
        while not said.endswith(b"\n") and len(said) < LONGEST and (more := connection.recv(LONGEST)):
            said += more
    except OSError:
        return ""
    return said.decode(errors="replace").strip()


def _say(connection: socket.socket, text: str) -> bool:
    """Say a line; whether it was surely heard. The other end closes first, so that the port is free at once."""
    try:
        connection.sendall(f"{text}\n".encode())
        return _line(connection) == "ok"
    except OSError:
        return False
