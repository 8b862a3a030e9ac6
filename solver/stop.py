"""Requests to stop early: SIGTERM, SIGINT and SIGUSR1 set a flag that the run looks at between chunks.

Imports nothing else of the package, so that signals can be remembered before JAX is imported.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
_remembered: list[str] = []
_listening: list[StopRequest] = []


def remember_signals() -> None:
    """From now on SIGTERM and SIGUSR1 are remembered until a run listens to them, instead of ending the process."""
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda number, frame: _remembered.append(signal.Signals(number).name))


def listening() -> StopRequest | None:
    """The innermost request that listens to signals now."""
    return _listening[-1] if _listening else None


class StopRequest:
    """Remembers the first signal; a second SIGINT (Ctrl-C twice) interrupts at once.

    As a context manager it listens inside, in the main thread, and gives back the handlers that were there.
    """

    def __init__(self) -> None:
        self.received: str | None = _remembered[0] if _remembered else None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequest:
        _listening.append(self)
        if threading.current_thread() is threading.main_thread():  # others cannot have handlers
            self._before = {number: signal.getsignal(number) for number in STOPPING}
            self.listen()
        return self

    def __exit__(self, *error: object) -> None:
        _listening.remove(self)
        for number, handler in self._before.items():
            if handler is not None:  # None: it was installed from C, and cannot be given back
                signal.signal(number, handler)

    def shield(self) -> None:
        """Ignore SIGTERM until this process ends: it is leaving on purpose, with an exit code of its own.

        The first process of a Slurm step that leaves with a code other than 0 makes `srun --kill-on-bad-exit` send
        SIGTERM to the others, which may be slower to leave; killed by it they would make a failure of the step.
        """
        self._before[signal.SIGTERM] = signal.SIG_IGN

    def listen(self) -> None:
        """Install the handlers; after joining, since joining replaces them."""
        for number in STOPPING:
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = signal.Signals(number).name
