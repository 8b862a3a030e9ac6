"""A run's directory belongs to one live run at a time, on whatever host that lives.

The file `.lock` in it is held by the kernel as long as the process lives, which is at once certain on one host and
wherever the file system passes locks on. Not every one does, and some pass on those of dead hosts for a while. So the
holder also writes into the file who it is and how its run stands, again every few seconds, and whoever is in doubt
watches the file for a while: a holder that is alive changes it.
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
from typing import Any

BEAT_SECONDS = 4.0
DEAD_SECONDS = 15.0  # without a beat
LEASE_SECONDS = 150.0  # so long a server may hold the lock of a host that died
RECORD = 4096  # bytes of the file: written in place, so that no reader finds it empty
STATUS = "status.json"


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
            "restarts": int(environment.get("SLURM_RESTART_COUNT") or 0),
            "released": False,
            "state": "running",
        }
        self._lost = False
        self._over = threading.Event()
        self._descriptor = self._take()
        self._status = _open_status(folder / STATUS)
        self._beat()
        self._thread = threading.Thread(target=self._keep_beating, name="slabwave-lock", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> bool:
        """Whether another run has taken the directory: this one was thought dead, and must not write any more."""
        return self._lost

    def say(self, **standing: float | str) -> None:
        """What the file is to tell about the run from the next beat on."""
        self._content = {**self._content, **standing}

    @property
    def state(self) -> str:
        """How the run stands, as it was said last: `running` at first."""
        return str(self._content["state"])

    def release(self) -> None:
        """Leave the directory to others."""
        self._over.set()
        self._thread.join()
        if not self._lost:
            self.say(released=True)
            self._beat()
        os.close(self._descriptor)
        if self._status is not None:
            os.close(self._status)

    def _take(self) -> int:
        existed = self.path.exists()
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        before = read_lock(self.path)
        try:
            by_kernel = self._lock(descriptor, before)
            if existed and self._may_live(before, by_kernel) and _changes(self.path, DEAD_SECONDS):
                raise TakenError(_who(before))
        except TakenError:
            os.close(descriptor)
            raise
        return descriptor

    def _lock(self, descriptor: int, before: dict[str, Any]) -> bool:
        """Have the kernel hold the file; False where the file system has no locks.

        Raises:
            TakenError: it holds it for a process of this host, or for one elsewhere that is alive.
        """
        deadline = time.monotonic() + LEASE_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                here = before.get("host") in (None, self._content["host"])
                if here or _changes(self.path, DEAD_SECONDS) or time.monotonic() > deadline:
                    raise TakenError(_who(before)) from None
            except OSError:
                return False

    def _may_live(self, before: dict[str, Any], by_kernel: bool) -> bool:
        """Whether the holder before may live although the kernel lets us have the file."""
        if before.get("released") or (by_kernel and before.get("host") == self._content["host"]):
            return False
        mine = (self._content["job"], self._content["restarts"])
        requeued = mine[0] is not None and before.get("job") == mine[0] and before.get("restarts", 0) < mine[1]
        return not requeued

    def _keep_beating(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            if read_lock(self.path).get("token", self._token) != self._token:
                self._lost = True
                return
            self._beat()

    def _beat(self) -> None:
        content = {**self._content, "time": time.time()}
        public = {name: value for name, value in content.items() if name not in ("token", "released", "restarts")}
        try:
            _write_record(self._descriptor, json.dumps(content))
            os.fdatasync(self._descriptor)
            if self._status is not None:
                _write_record(self._status, json.dumps(public))
        except OSError:
            pass  # a full disk is noticed by those that write what counts


def _open_status(path: Path) -> int | None:
    """The file for those who monitor runs; None where it cannot be made, or is a link to somewhere else."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError:
        return None


def _write_record(descriptor: int, text: str) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text.encode().ljust(RECORD - 1) + b"\n")


def read_lock(path: Path) -> dict[str, Any]:
    """Who holds, or held, a directory, and how its run stands; empty if nothing can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _changes(path: Path, seconds: float) -> bool:
    """Whether the file changes within a time in which a live holder beats."""
    look = lambda: (read_lock(path), path.stat().st_mtime_ns)  # noqa: E731
    first, deadline = look(), time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(min(0.5, seconds / 10))
        if look() != first:
            return True
    return False


def _who(holder: dict[str, Any]) -> str:
    if "host" not in holder:
        return "another process is writing this run"
    job = f", Slurm job {holder['job']}" if holder.get("job") else ""
    return f"process {holder.get('pid')} on {holder['host']}{job} is writing this run"
