"""One thread that writes while stepping goes on.

What is to be written is copied to the host first, as the loop reuses the buffers of a state. There is one set of
copies at a time: the next pause with something to write waits until that of the pause before is on the disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from queue import SimpleQueue

from solver.cluster import Agreement

Job = Callable[[Agreement], object]


class Writer:
    """Writes jobs in the order in which they were given, in a thread of its own, on every process alike.

    A job that fails is the last one: its error is raised by the next call of any method here, and jobs after it are
    dropped, so that nothing is written that builds on what is missing.
    """

    def __init__(self) -> None:
        self.held_up = 0.0  # seconds for which stepping had to wait, copying included
        self.slowest = 0.0  # seconds from the first copy of a pause until all of it was on the disk
        self.checkpoint = 0.0  # seconds that the slowest checkpoint took, from its copy until it was on the disk
        self.abandoned = False  # nothing more may be written: the directory is another run's
        self.while_waiting: Callable[[], AbstractContextManager[object]] = nullcontext  # what may take its time
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        self._failure: Exception | None = None
        self._thread: threading.Thread | None = None
        self._pending, self._count = 0, threading.Lock()
        self._began = 0.0
        self._pause_over = True

    @property
    def failed(self) -> bool:
        """Whether a job failed."""
        return self._failure is not None

    @property
    def busy(self) -> bool:
        """Whether something is being written."""
        return not self._idle.is_set()

    def submit(self, prepare: Callable[[], Job]) -> None:
        """Write something.

        Args:
            prepare: makes the copies that are to be written, and returns what writes them. Called here and now, when
                the copies of the pause before have gone.

        Raises:
            Exception: what a job before failed with.
        """
        began = time.monotonic()
        if self._pause_over:
            self.wait()
            self._pause_over, self._began = False, time.monotonic()
        self._raise()
        job = prepare()
        with self._count:
            self._pending += 1
            self._idle.clear()
        self._start()
        self._jobs.put(job)
        self.held_up += time.monotonic() - began

    def end_pause(self) -> None:
        """Whatever comes from now on belongs to another state."""
        self._pause_over = True

    def wait(self) -> None:
        """Until everything is on the disk.

        Raises:
            Exception: what a job failed with.
        """
        with self.while_waiting():
            self._idle.wait()
        self._raise()

    def close(self, patience: float | None = None) -> None:
        """Wait, and end the thread. Raises nothing: whoever must know has asked before.

        Args:
            patience: seconds after which it is left alone; it may be waiting for a process that has died.
        """
        with self.while_waiting():
            done = self._idle.wait(patience)
        if done and self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _start(self) -> None:
        if self._thread is None:
            # a daemon: an interpreter that must end while a disk hangs is not held up
            self._thread = threading.Thread(target=self._work, name="slabwave-writer", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        agreement = Agreement("writer")
        while (job := self._jobs.get()) is not None:
            try:
                if self._failure is None and not self.abandoned:
                    job(agreement)
            except Exception as error:
                self._failure = error
            del job
            with self._count:
                self._pending -= 1
                if not self._pending:
                    self.slowest = max(self.slowest, time.monotonic() - self._began)
                    self._idle.set()
