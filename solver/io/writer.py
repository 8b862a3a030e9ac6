"""A thread that writes while the run continues.

Data are copied to the host before they are written, since the loop reuses the buffers of a state. There is one set of
copies at a time: the next pause with something to write waits until the copies of the pause before are on the disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from queue import SimpleQueue

from solver.cluster import Agreement

Job = Callable[[Agreement], object]


class WritingThread:
    """A thread that runs write jobs in their order. Runs that are carried out together may share it.

    Processes that write together agree by its name: each has threads of the same names, with the same jobs.

    Args:
        name: name for agreement, unique among the threads of this process that are in use.
    """

    def __init__(self, name: str = "writer") -> None:
        self._name = name
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, job: Job) -> None:
        """Run a job, which must not raise, after those before it."""
        if self._thread is None:
            # a daemon, so that the interpreter can end while a disk hangs
            self._thread = threading.Thread(target=self._work, name=f"slabwave-{self._name}", daemon=True)
            self._thread.start()
        self._jobs.put(job)

    def close(self) -> None:
        """End the thread after the jobs that it has."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        agreement = Agreement(self._name)
        while (job := self._jobs.get()) is not None:
            job(agreement)
            del job


@contextmanager
def writing_threads(count: int) -> Iterator[list[WritingThread]]:
    """Threads that runs share. If the context ends by an error they are left: they may wait for a dead process."""
    threads = [WritingThread(f"writer {number}") for number in range(count)]
    yield threads
    for thread in threads:
        thread.close()


class Writer:
    """Runs write jobs in their order, in another thread; all processes have the same jobs.

    After a job has failed, later jobs are dropped, since they may need its file, and the next call of any method raises
    its error.

    Args:
        thread: thread shared with other runs; a thread of its own if it is not given.
    """

    def __init__(self, thread: WritingThread | None = None) -> None:
        self.held_up = 0.0  # seconds for which stepping had to wait, including copying
        self.slowest = 0.0  # longest time from the first copy of a pause until all of it was on the disk [s]
        self.checkpoint = 0.0  # longest time from the copy of a checkpoint until it was on the disk [s]
        self.abandoned = False  # nothing more may be written, since another run uses the directory
        self.while_waiting: Callable[[], AbstractContextManager[object]] = nullcontext  # context of long waits
        self._thread, self._is_own = thread or WritingThread(), thread is None
        self._idle = threading.Event()
        self._idle.set()
        self._failure: Exception | None = None
        self._pending, self._count = 0, threading.Lock()
        self._began = 0.0
        self._pause_over = True

    @property
    def failed(self) -> bool:
        """True if a job failed."""
        return self._failure is not None

    @property
    def busy(self) -> bool:
        """True while something is being written."""
        return not self._idle.is_set()

    def submit(self, prepare: Callable[[], Job]) -> None:
        """Write something.

        Args:
            prepare: function that makes the copies and returns the job that writes them. It is called before `submit`
                returns, when the copies of the pause before have been written.

        Raises:
            Exception: the error of an earlier job.
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
        self._thread.put(lambda agreement: self._carry_out(job, agreement))
        self.held_up += time.monotonic() - began

    def end_pause(self) -> None:
        """Declare that later jobs belong to another state."""
        self._pause_over = True

    def wait(self) -> None:
        """Wait until everything is on the disk.

        Raises:
            Exception: the error of a job.
        """
        with self.while_waiting():
            self.wait_in_thread()

    def wait_in_thread(self) -> None:
        """As `wait`, in a thread other than the main one; writing meanwhile does not count as a pause of stepping."""
        self._idle.wait()
        self._raise()

    def close(self, patience: float | None = None) -> None:
        """Wait, and end the thread. Does not raise the error of a job; call `wait` before to get it.

        Args:
            patience: seconds to wait; then the thread is left running, since it may wait for a process that has died.
        """
        with self.while_waiting():
            done = self._idle.wait(patience)
        if done and self._is_own:
            self._thread.close()

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _carry_out(self, job: Job, agreement: Agreement) -> None:
        try:
            if self._failure is None and not self.abandoned:
                job(agreement)
        except Exception as error:
            self._failure = error
        with self._count:
            self._pending -= 1
            if not self._pending:
                self.slowest = max(self.slowest, time.monotonic() - self._began)
                self._idle.set()
