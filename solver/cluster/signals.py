"""Requests to stop early: SIGTERM, SIGINT and SIGUSR1 set a flag that the run looks at between chunks."""

from __future__ import annotations

import signal
from types import FrameType

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


class StopRequest:
    """Remembers the first signal; a second SIGINT (Ctrl-C twice) interrupts at once."""

    def __init__(self) -> None:
        self.received: str | None = None

    def listen(self) -> None:
        """Install the handlers; after joining, since joining replaces them."""
        for number in STOPPING:
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = signal.Signals(number).name
