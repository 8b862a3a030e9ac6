"""A run in which nothing moves any more is ended, with the Python stacks of every process that can still run.

A process that waits for another in a collective cannot notice that the other is stuck. So a thread in each process
looks at how long ago its own main thread last said that it was moving. Compiling, reading and writing take as long as
they take: they are told to the watchdog, those of other processes through the coordination service, and have a limit
of their own.
"""

from __future__ import annotations

import faulthandler
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
LOOK_SECONDS = 0.5
PULSE_SECONDS = 0.5  # between two signs of life of a process that compiles, reads or writes
BUSY_FACTOR = 10  # such work may take this many times the limit, and at least
BUSY_SECONDS = 1800.0
SLOW_FACTOR = 5  # chunks that took long so far may take this many times longer
COMPILING = "compiling"
ASLEEP_SECONDS = 3.0  # two looks that lie so much further apart: the process was stopped between them
NOTING_SECONDS = 3.0  # for the stacks to reach the log
ASKED = 3  # times, before an answer that does not come means that nobody is there to give it
PULSES = "slabwave/pulse/"
# what JAX reports when a program is lowered, and so is compiled next, and when it is compiled
COMPILE_BEGINS = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILE_ENDS = "/jax/core/compile/backend_compile_duration"


class Watchdog:
    """Ends the job with exit code 70 when this process has not moved for a limit.

    Args:
        limit: seconds.
        log: file to which the stacks go.
        end: ends all processes, given the exit code and the message; by default at once.

    Attributes:
        doing: what the main thread does under the limit, for the message.
    """

    def __init__(self, limit: float, log: Path, end: Callable[[int, str], Any] = end_all) -> None:
        self.limit, self.log, self._end = limit, log, end
        self.doing = "stepping"
        self._moved = time.monotonic()
        self._longest = 0.0
        self._compiled = 0.0  # seconds, since the main thread last got on
        self._busy: str | None = "starting"
        self._over = threading.Event()
        self._pulse = 0

    def __enter__(self) -> Watchdog:
        self._outer = _listen_to([self])
        self._take_back = on_ending(self._note_stacks)
        self._moved = time.monotonic()
        for work in (self._watch, self._tell):
            threading.Thread(target=work, name=f"slabwave-watchdog{work.__name__}", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._take_back()
        _listen_to(self._outer)

    def moved(self, seconds: float = 0.0, *, first: bool = False) -> None:
        """The main thread got on; it took `seconds` over the last chunk of steps, compilation included.

        What processes wait for each other in the `first` chunk says nothing of the next; it counts where the limit is
        too short for it.
        """
        ran, self._compiled = seconds - self._compiled, 0.0
        if not first or ran > self.limit:
            self._longest = max(self._longest, ran)
        self._busy = None
        self._moved = time.monotonic()

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """The main thread does something that takes as long as it takes, such as writing."""
        before, self._busy, self._moved = self._busy, what, time.monotonic()
        try:
            yield
        finally:
            self._busy, self._moved = before, time.monotonic()

    def compiling(self, begins: bool) -> None:
        """JAX begins, or ends, to compile a program."""
        if begins and self._busy is None:
            self._busy = COMPILING
        elif not begins and self._busy == COMPILING:
            self._busy = None
            self._compiled += self._still()
        self._moved = time.monotonic()

    def _still(self) -> float:
        return time.monotonic() - self._moved

    def _allowed(self) -> float:
        """Seconds without a sign of life."""
        if self._busy is not None:
            return max(BUSY_FACTOR * self.limit, BUSY_SECONDS)
        return max(self.limit, SLOW_FACTOR * self._longest)

    def _watch(self) -> None:
        looked = time.monotonic()
        while not self._over.wait(LOOK_SECONDS):
            slept = time.monotonic() - looked - LOOK_SECONDS
            if slept > ASLEEP_SECONDS:
                self._moved += slept  # the whole process was stopped, and goes on now
            looked = time.monotonic()
            if self._still() <= self._allowed() or self._another_is_busy() or self._over.is_set():
                continue
            looked = time.monotonic()
            if self._still() > self._allowed():  # it may have moved while the others were asked
                still, doing = self._still(), self._busy or self.doing
                self._bark(f"stalled: nothing has moved for {still:.0f} s while {doing}; stacks are in {self.log}")

    def _bark(self, message: str) -> None:
        print(f"slabwave: error: {message}", file=sys.stderr, flush=True)
        self._note_stacks(STALLED)
        self._over.set()
        self._end(STALLED, message)

    def _note_stacks(self, code: int) -> None:
        """Append what every thread of this process is doing to the log."""
        if code == STALLED:
            # in a thread: the log may lie on the disk that hangs
            noting = threading.Thread(target=self._write_stacks, name="slabwave-stacks", daemon=True)
            noting.start()
            noting.join(NOTING_SECONDS)

    def _write_stacks(self) -> None:
        where = f"process {jax.process_index()} ({os.getpid()} on {socket.gethostname()})"
        try:
            with open_log(self.log) as file:
                file.write(f"{where} is ended; Python stacks of its threads:\n")
                file.flush()
                faulthandler.dump_traceback(file, all_threads=True)
        except OSError:
            faulthandler.dump_traceback(sys.stderr, all_threads=True)

    # ---- of other processes ---------------------------------------------------------------------------------------

    def _tell(self) -> None:
        """Give signs of life while this process is busy."""
        client = service_client()
        while client is not None and not self._over.wait(PULSE_SECONDS):
            if self._busy is not None and self._still() <= self._allowed():
                self._pulse += 1
                try:
                    client.key_value_set(f"{PULSES}{jax.process_index()}", str(self._pulse), allow_overwrite=True)
                except Exception:
                    return  # the service is gone, and with it the job

    def _another_is_busy(self) -> bool:
        """Whether some process gives signs of life of one that compiles, reads or writes."""
        client = service_client()
        if client is None:
            return False
        before = _in_time(lambda: client.key_value_dir_get(PULSES))
        if before is None:
            return False
        time.sleep(2 * PULSE_SECONDS)
        after = _in_time(lambda: client.key_value_dir_get(PULSES))
        mine = f"{PULSES}{jax.process_index()}"
        return any(key != mine for key, _ in set(after or ()) - set(before))


def _in_time(ask: Callable[[], Any]) -> Any:
    """An answer of the service; None where it does not come, because the process it lives in is stuck."""
    found: list[Any] = []
    for _ in range(ASKED):
        thread = threading.Thread(target=lambda: found.append(ask()), daemon=True)
        thread.start()
        thread.join(PULSE_SECONDS)
        if found:
            return found[0]
    return None


# ---- compilation --------------------------------------------------------------------------------------------------

_listening: list[Watchdog] = []
_registered: list[bool] = []


def _listen_to(watchdogs: list[Watchdog]) -> list[Watchdog]:
    """JAX keeps its listeners for good: one is registered, and told which watchdog there is. Returns those before."""
    before, _listening[:] = list(_listening), watchdogs
    if not _registered:
        jax.monitoring.register_event_duration_secs_listener(_heard)
        _registered.append(True)
    return before


def _heard(event: str, seconds: float, **details: Any) -> None:
    for watchdog in _listening:
        if event in (COMPILE_BEGINS, COMPILE_ENDS):
            watchdog.compiling(begins=event == COMPILE_BEGINS)
