"""Only one live run at a time uses a run's directory, whatever host it runs on.

The kernel locks the file `.lock` in it while the process lives. That is certain on one host, and on several if the file
system passes locks on. Some file systems do not, and some keep the locks of dead hosts for a while. So the holder also
writes its host, its process and the status of its run into the file, again every few seconds. A second run that is in
doubt watches the file for a while: a holder that is alive changes it.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

BEAT_SECONDS = 4.0
DEAD_SECONDS = 15.0  # without a beat
LEASE_SECONDS = 150.0  # a server may keep the lock of a dead host this long
RECORD = 4096  # bytes of the file, which is overwritten in place so that no reader finds it empty
MESSAGE = 500  # characters of a message, of at most six bytes each: the record has room for them
STATUS = "status.json"


class TakenError(RuntimeError):
    """Another live run uses the directory; the message names it."""


@runtime_checkable
class RunLock(Protocol):
    """Lock that keeps other runs from a run's files, and writes the status of the run."""

    @property
    def lost(self) -> bool:
        """True if another run took the files because this one seemed dead. This one must not write any more."""

    @property
    def state(self) -> str:
        """The latest state given to `update_status`; `running` at first."""

    def update_status(self, **status: float | str) -> None:
        """Change entries of the status."""

    def release(self) -> None:
        """Let others in."""


@dataclass(frozen=True)
class DeviceHours:
    """Hours of a run's devices: hours of the starts before, and hours of this start since the object was made.

    Args:
        before: hours of the starts before.
        platform: platform of their devices.
    """

    before: float
    platform: str
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def after(cls, status: Mapping[str, Any]) -> DeviceHours:
        """Hours of a run with the status that its last start has left."""
        return cls(float(status.get("device_hours", 0.0)), str(status.get("platform", "")))

    def now(self, status: Mapping[str, Any]) -> dict[str, Any]:
        """Entries of a status with the number and the platform of the `devices` of this start, if they are known."""
        if not self.before and "devices" not in status:
            return {}
        hours = status.get("devices", 0) * (time.monotonic() - self.began) / 3600
        return {"device_hours": self.before + hours, "platform": status.get("platform", self.platform)}


class DirectoryLock:
    """Locks a directory until `release`; a thread rewrites the lock file every few seconds.

    Args:
        folder: an existing directory.
        environment: environment variables of this process; they identify a requeued job.

    Raises:
        TakenError: another run uses the directory.
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
        self._hours = DeviceHours.after(read_lock(self.path))  # not before: the holder may have written
        self._status = _open_status(folder / STATUS)
        self._beat()
        self._thread = threading.Thread(target=self._keep_beating, name="slabwave-lock", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> bool:
        """True if another run took the directory because this one seemed dead. This one must not write any more."""
        return self._lost

    def update_status(self, **status: float | str) -> None:
        """Change entries of the status; they are written the next time the file is rewritten."""
        if "message" in status:
            status["message"] = str(status["message"])[:MESSAGE]
        self._content = {**self._content, **status}

    @property
    def state(self) -> str:
        """The latest state given to `update_status`; `running` at first."""
        return str(self._content["state"])

    def release(self) -> None:
        """Unlock the directory."""
        self._over.set()
        self._thread.join()
        if not self._lost:
            self.update_status(released=True)
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
                raise TakenError(_describe(before))
        except TakenError:
            os.close(descriptor)
            raise
        return descriptor

    def _lock(self, descriptor: int, before: dict[str, Any]) -> bool:
        """Let the kernel lock the file; False if the file system has no locks.

        Raises:
            TakenError: the file is locked by a process of this host, or by a live one of another host.
        """
        deadline = time.monotonic() + LEASE_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                here = before.get("host") in (None, self._content["host"])
                if here or _changes(self.path, DEAD_SECONDS) or time.monotonic() > deadline:
                    raise TakenError(_describe(before)) from None
            except OSError:
                return False

    def _may_live(self, before: dict[str, Any], by_kernel: bool) -> bool:
        """True if the previous holder may be alive although the kernel let this process lock the file."""
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
        content = {**self._content, **self._hours.now(self._content), "time": time.time()}
        public = {name: value for name, value in content.items() if name not in ("token", "released", "restarts")}
        try:
            _write_record(self._descriptor, json.dumps(content))
            os.fdatasync(self._descriptor)
            if self._status is not None:
                _write_record(self._status, json.dumps(public))
        except OSError:
            pass  # on a full disk, writing outputs and checkpoints fails too, and is reported there


def _open_status(path: Path) -> int | None:
    """Open the status file, for programs that monitor runs; None if it cannot be made or is a symbolic link."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError:
        return None


def _write_record(descriptor: int, text: str) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text.encode().ljust(RECORD - 1) + b"\n")


def read_lock(path: Path) -> dict[str, Any]:
    """Holder of a directory and status of its run, or of the last ones; empty if the file cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def live_holder(folder: Path) -> dict[str, Any]:
    """Record of the live process that holds a directory's lock, empty otherwise. Does not take the lock."""
    holder = read_lock(folder / ".lock")
    return holder if is_alive(holder) else {}


def is_alive(holder: Mapping[str, Any]) -> bool:
    """True if the process of a lock's record may still run.

    A process on this host is dead when it is gone, one on another host when it was silent for `DEAD_SECONDS`.
    """
    if not holder or holder.get("released") or time.time() - holder.get("time", 0) > DEAD_SECONDS:
        return False
    return holder.get("host") != platform.node() or _is_there(holder.get("pid"))


def _is_there(process: Any) -> bool:
    """True if a process with this number exists on this host, or may exist."""
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, TypeError, ValueError):  # it belongs to another user, or the record is damaged
        return True
    return True


def _changes(path: Path, seconds: float) -> bool:
    """True if the file changes within `seconds`, in which a live holder would rewrite it."""
    read = lambda: (read_lock(path), path.stat().st_mtime_ns)  # noqa: E731
    first, deadline = read(), time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(min(0.5, seconds / 10))
        if read() != first:
            return True
    return False


def _describe(holder: dict[str, Any]) -> str:
    if "host" not in holder:
        return "another process is writing this run"
    job = f", Slurm job {holder['job']}" if holder.get("job") else ""
    return f"process {holder.get('pid')} on {holder['host']}{job} is writing this run"
