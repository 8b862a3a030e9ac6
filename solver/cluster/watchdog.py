"""Ends a run that has stalled, with the Python stacks of every process that can still run.

A process that waits for another in a collective cannot notice that the other is stuck. So a thread in each process
checks how long ago its main thread last reported progress. Compiling, reading and writing may take much longer than a
chunk of steps: the main thread reports them to the watchdog, other processes report them through the coordination
service, and a longer limit applies to them.
"""

from __future__ import annotations

import faulthandler
import math
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

from solver.cluster.failure import end_all, on_ending
from solver.cluster.log import open_log
from solver.cluster.service import service_client

STALLED = 70  # the exit code
CHECK_SECONDS = 0.5
PULSE_SECONDS = 0.5  # between two pulses of a process that compiles, reads or writes
BUSY_FACTOR = 10  # compiling, reading or writing may take this many times the limit
BUSY_SECONDS = 1800.0  # or this long, if that is more
SLOW_FACTOR = 5  # a chunk may take this many times as long as the longest one so far
COMPILING = "compiling"
RESTING = "waiting for work"
ASLEEP_SECONDS = 3.0  # if a check comes so much too late, the whole process was stopped in between
WRITE_STACKS_SECONDS = 3.0  # for the stacks to reach the log
ATTEMPTS = 3  # requests to the service before it counts as gone
PULSES = "slabwave/pulse/"
# JAX's events after a program was lowered (compiling it comes next) and after it was compiled
COMPILE_BEGINS = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILE_ENDS = "/jax/core/compile/backend_compile_duration"


class Watchdog:
    """Ends the job with exit code 70 when this process has not moved for a limit.

    Args:
        limit: seconds.
        log: file to which the stacks go.
        end: ends all processes, given the exit code and the message; by default at once.

    Attributes:
        doing: the present work of the main thread, for the message.
    """

    def __init__(self, limit: float, log: Path, end: Callable[[int, str], Any] = end_all) -> None:
        self.limit, self.log, self._end = limit, log, end
        self.doing = "stepping"
        self._moved = time.monotonic()
        self._longest = 0.0
        self._compiled = 0.0  # seconds of compiling since the main thread last reported progress
        self._busy: str | None = "starting"
        self._over = threading.Event()
        self._pulse = 0

    def __enter__(self) -> Watchdog:
        self._outer = _listen_to([self])
        self._remove_callback = on_ending(self._log_stacks)
        self._moved = time.monotonic()
        for work in (self._watch, self._pulse_while_busy):
            threading.Thread(target=work, name=f"slabwave-watchdog{work.__name__}", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._remove_callback()
        _listen_to(self._outer)

    def moved(self, seconds: float = 0.0, *, first: bool = False) -> None:
        """Report progress of the main thread.

        Args:
            seconds: time of the last chunk of steps, compilation included.
            first: True if it was the first chunk. Processes wait for each other there, so its time says nothing about
                later chunks, and is remembered only if it exceeds the limit.
        """
        ran, self._compiled = seconds - self._compiled, 0.0
        if not first or ran > self.limit:
            self._longest = max(self._longest, ran)
        self._busy = None
        self._moved = time.monotonic()

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """The main thread compiles, reads or writes during the context, and the longer limit applies."""
        before, self._busy, self._moved = self._busy, what, time.monotonic()
        try:
            yield
        finally:
            self._busy, self._moved = before, time.monotonic()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """The main thread waits during the context for processes that have their own watchdog: no limit applies."""
        with self.busy(RESTING):
            yield

    def compiling(self, begins: bool) -> None:
        """Report that JAX begins, or has ended, compiling a program."""
        if begins and self._busy is None:
            self._busy = COMPILING
        elif not begins and self._busy == COMPILING:
            self._busy = None
            self._compiled += self._idle()
        self._moved = time.monotonic()

    def _idle(self) -> float:
        return time.monotonic() - self._moved

    def _allowed(self) -> float:
        """Seconds that the main thread may go without progress."""
        if self._busy == RESTING:
            return math.inf
        if self._busy is not None:
            return max(BUSY_FACTOR * self.limit, BUSY_SECONDS)
        return max(self.limit, SLOW_FACTOR * self._longest)

    def _watch(self) -> None:
        checked = time.monotonic()
        while not self._over.wait(CHECK_SECONDS):
            slept = time.monotonic() - checked - CHECK_SECONDS
            if slept > ASLEEP_SECONDS:
                self._moved += slept  # the whole process was stopped and continues now
            checked = time.monotonic()
            if self._idle() <= self._allowed() or self._another_is_busy() or self._over.is_set():
                continue
            checked = time.monotonic()
            if self._idle() > self._allowed():  # it may have made progress while the others were asked
                idle, doing = self._idle(), self._busy or self.doing
                self._end_job(f"stalled: nothing has moved for {idle:.0f} s while {doing}; stacks are in {self.log}")

    def _end_job(self, message: str) -> None:
        print(f"slabwave: error: {message}", file=sys.stderr, flush=True)
        self._log_stacks(STALLED)
        self._over.set()
        self._end(STALLED, message)

    def _log_stacks(self, code: int) -> None:
        """Append the stacks of all threads of this process to the log, if the exit code says that the run stalled."""
        if code == STALLED:
            # in a thread: the log may lie on the disk that hangs
            thread = threading.Thread(target=self._write_stacks, name="slabwave-stacks", daemon=True)
            thread.start()
            thread.join(WRITE_STACKS_SECONDS)

    def _write_stacks(self) -> None:
        process = f"process {jax.process_index()} ({os.getpid()} on {socket.gethostname()})"
        try:
            with open_log(self.log) as file:
                file.write(f"{process} is ended; Python stacks of its threads:\n")
                file.flush()
                faulthandler.dump_traceback(file, all_threads=True)
        except OSError:
            faulthandler.dump_traceback(sys.stderr, all_threads=True)

    # ---- other processes ------------------------------------------------------------------------------------------

    def _pulse_while_busy(self) -> None:
        """Count pulses in the coordination service while this process compiles, reads or writes."""
        client = service_client()
        while client is not None and not self._over.wait(PULSE_SECONDS):
            if self._busy not in (None, RESTING) and self._idle() <= self._allowed():
                self._pulse += 1
                try:
                    client.key_value_set(f"{PULSES}{jax.process_index()}", str(self._pulse), allow_overwrite=True)
                except Exception:
                    return  # the service is gone, so the job has ended

    def _another_is_busy(self) -> bool:
        """True if another process compiles, reads or writes, by its pulses."""
        client = service_client()
        if client is None:
            return False
        before = _ask_service(lambda: client.key_value_dir_get(PULSES))
        if before is None:
            return False
        time.sleep(2 * PULSE_SECONDS)
        after = _ask_service(lambda: client.key_value_dir_get(PULSES))
        mine = f"{PULSES}{jax.process_index()}"
        return any(key != mine for key, _ in set(after or ()) - set(before))


def _ask_service(ask: Callable[[], Any]) -> Any:
    """Result of `ask`; None if the service does not answer because the process that hosts it is stuck."""
    answers: list[Any] = []
    for _ in range(ATTEMPTS):
        thread = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
        thread.start()
        thread.join(PULSE_SECONDS)
        if answers:
            return answers[0]
    return None


# ---- compilation --------------------------------------------------------------------------------------------------

_listening: list[Watchdog] = []
_registered: list[bool] = []


def _listen_to(watchdogs: list[Watchdog]) -> list[Watchdog]:
    """Make these the watchdogs that hear of compilations, and return those before.

    JAX offers no way to remove a listener, so one is registered for the life of the process and looks them up.
    """
    before, _listening[:] = list(_listening), watchdogs
    if not _registered:
        jax.monitoring.register_event_duration_secs_listener(_on_event)
        _registered.append(True)
    return before


def _on_event(event: str, seconds: float, **details: Any) -> None:
    for watchdog in _listening:
        if event in (COMPILE_BEGINS, COMPILE_ENDS):
            watchdog.compiling(begins=event == COMPILE_BEGINS)
