"""A run's directory belongs to one live run at a time, on whatever host that lives.

The file `.lock` in it is held by the kernel as long as the process lives, which is at once certain on one host and
wherever the file system passes locks on. Not every one does. So the holder also writes into the file who it is and how
its run stands, again every few seconds, and whoever finds the file of another host free watches it for a while before
taking it: a holder that is alive changes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

BEAT_SECONDS = 4.0
DEAD_SECONDS = 15.0  # without a beat


class TakenError(RuntimeError):
    """Another live run holds the directory; the message says which."""


class DirectoryLock:
    """Holds a directory from its making until `release`; beats in a thread of its own.

    Args:
        folder: which exists.
        environment: of this process; a requeued job is known by it.

    Raises:
        TakenError: another run holds it.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.path = folder / ".lock"
        self._token = uuid.uuid4().hex
        self._content: dict[str, Any] = {
            "token": self._token,
            "host": platform.node(),
            "pid": os.getpid(),
            "job": environment.get("SLURM_JOB_ID"),
            "released": False,
        }
        self._lost = False
        self._over = threading.Event()
        self._handle = self._take()
        self._beat()
        self._thread = threading.Thread(target=self._keep_beating, name="slabwave-lock", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> bool:
        """Whether another run has taken the directory: this one was thought dead, and must not write any more."""
        return self._lost

    def say(self, **standing: float) -> None:
        """What the file is to tell about the run from the next beat on."""
        self._content = {**self._content, **standing}

    def release(self) -> None:
        """Leave the directory to others."""
        self._over.set()
        self._thread.join()
        if not self._lost:
            self.say(released=True)
            self._beat()
        self._handle.close()

    def _take(self) -> IO[str]:
        handle = self.path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.close()
            raise TakenError(_who(read_lock(self.path))) from None
        except OSError:
            pass  # a file system without locks: the beats must do
        before = read_lock(self.path)
        if self._may_live(before) and _changes(self.path):
            handle.close()
            raise TakenError(_who(before))
        return handle

    def _may_live(self, before: dict[str, Any]) -> bool:
        """Whether a holder that the kernel does not know of may live: on another host, and not an earlier self."""
        if not before or before.get("released") or before.get("host") == self._content["host"]:
            return False
        return before.get("job") is None or before["job"] != self._content["job"]

    def _keep_beating(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            if read_lock(self.path).get("token", self._token) != self._token:
                self._lost = True
                return
            self._beat()

    def _beat(self) -> None:
        text = json.dumps({**self._content, "time": time.time()})
        try:
            self._handle.seek(0)
            self._handle.truncate()
            self._handle.write(text)
            self._handle.flush()
        except OSError:
            pass  # a full disk is noticed by those that write what counts


def read_lock(path: Path) -> dict[str, Any]:
    """Who holds, or held, a directory, and how its run stands; empty if nothing can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _changes(path: Path) -> bool:
    """Whether the file changes within the time in which a live holder beats."""
    look = lambda: (read_lock(path), path.stat().st_mtime_ns)  # noqa: E731
    first, deadline = look(), time.monotonic() + DEAD_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.5)
        if look() != first:
            return True
    return False


def _who(holder: dict[str, Any]) -> str:
    if "host" not in holder:
        return "another process is writing this run"
    job = f", Slurm job {holder['job']}" if holder.get("job") else ""
    return f"process {holder.get('pid')} on {holder['host']}{job} is writing this run"
