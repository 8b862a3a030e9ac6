"""The file system of a directory: bandwidth, free space, locks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from solver.doctor.exchange import speed
from solver.doctor.job import Check, Facts, Job, by_host, listed, wait_for_all
from solver.io import in_words

CHUNK = 2**20
SIZE_OF_HOST = 64 * 2**20  # bytes that all processes of a host write together
LEAST_SIZE = 4 * 2**20
WRITE_SECONDS = 4.0  # a slow disk gets fewer bytes
FREE_BYTES, FREE_FILES = 2**30, 1000
NAME = ".slabwave-doctor-{}-{}"
# a program that tries to lock a file that is locked already: exit code 0 if the lock is refused, as it must be
ASK = """
import fcntl, sys
with open(sys.argv[1]) as file:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(0)
sys.exit(3)
"""


def measure(job: Job) -> Facts:
    """Write, read and lock a file of this process. Every process calls this; a failure is returned, not raised."""
    facts: Facts = {"process": job.process, "host": job.host, "directory": str(job.directory), "error": None}
    mine = job.directory / NAME.format(job.token, job.process)
    bytes_ = max(LEAST_SIZE, SIZE_OF_HOST // job.hosts.count(job.host))
    wait_for_all()
    facts.update(_try(lambda: write(job.leftovers.add(mine), bytes_)))
    wait_for_all()
    # read the file of a process on another host, if there is one, since this host has not cached it
    other = job.directory / NAME.format(job.token, _reads_from(job))
    if facts["error"] is None:
        facts.update(_try(lambda: read(other if other.exists() else mine)))
    if job.first_of_host and facts["error"] is None:
        facts.update(_try(lambda: {"lock": lock(mine)}))
    facts.update(_try(lambda: room(job.directory)) if facts["error"] is None else {})
    wait_for_all()
    job.leftovers.remove()
    return facts


def _try(do: Callable[[], Facts]) -> Facts:
    try:
        return do()
    except OSError as error:
        return {"error": error.strerror or str(error)}


def _reads_from(job: Job) -> int:
    """The next process on another host; this process if all are on one host."""
    count = len(job.hosts)
    following = [(job.process + i) % count for i in range(count)]
    return next((process for process in following if job.hosts[process] != job.host), job.process)


def write(path: Path, size: int) -> Facts:
    """Write up to `size` bytes, fewer on a slow disk, and sync them."""
    chunk = os.urandom(CHUNK)  # random, so that no file system compresses it
    written, began = 0, time.perf_counter()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        while written < size and time.perf_counter() - began < WRITE_SECONDS:
            written += os.write(handle, chunk)
        os.fsync(handle)
        seconds = time.perf_counter() - began
        _forget(handle)
    finally:
        os.close(handle)
    return {"written": written, "write_seconds": seconds}


def read(path: Path) -> Facts:
    """Read a file whole."""
    handle = os.open(path, os.O_RDONLY)
    try:
        _forget(handle)
        began, size = time.perf_counter(), 0
        while chunk := os.read(handle, CHUNK):
            size += len(chunk)
        return {"read": size, "read_seconds": time.perf_counter() - began}
    finally:
        os.close(handle)


def _forget(handle: int) -> None:
    """Ask the system to drop a file from its cache, if it has such a call."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)


def lock(path: Path) -> str:
    """`held` if a lock keeps another process of this host out; `ignored`; or why there are no locks."""
    import fcntl

    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.strerror or str(error)
        # a new program, since JAX's threads do not survive a fork
        code = subprocess.run([sys.executable, "-I", "-S", "-c", ASK, str(path)], capture_output=True).returncode
    return {0: "held", 3: "ignored"}.get(code, f"the other process failed with code {code}")


def room(directory: Path) -> Facts:
    """Free bytes, and free files if the file system counts them."""
    disk = os.statvfs(directory)
    return {"free_bytes": disk.f_bavail * disk.f_frsize, "free_files": disk.f_favail if disk.f_files else None}


# ---- verdicts ---------------------------------------------------------------------------------------------------


def judge(everyone: Sequence[Facts]) -> list[Check]:
    """Lines `disk`, `room` and `locks`."""
    directory = everyone[0]["directory"]
    failed = [facts for facts in everyone if facts["error"] is not None]
    if failed:
        which = listed(f"process {facts['process']} on {facts['host']}" for facts in failed)
        return [
            Check(
                "disk",
                "FAIL",
                f"{directory}: {failed[0]['error']} ({which}); give a directory on a file system that all hosts see, "
                "with room and the right to write",
            )
        ]
    wrote, got = total(everyone, "written", "write_seconds") or 0, total(everyone, "read", "read_seconds") or 0
    bytes_ = in_words(sum(facts["written"] for facts in everyone))
    speeds = f"{speed(wrote)} written to the disk, {speed(got)} read, by {len(everyone)} at once ({bytes_})"
    return [Check("disk", "ok", f"{directory}: {speeds}"), _room(everyone), _locks(everyone)]


def total(everyone: Sequence[Facts], bytes_: str, seconds: str) -> float | None:
    """Bytes per second of all processes together, by the time of the slowest; None if it was not measured."""
    if any(facts["error"] is not None for facts in everyone):
        return None
    return sum(facts[bytes_] for facts in everyone) / max(max(facts[seconds] for facts in everyone), 1e-9)


def _room(everyone: Sequence[Facts]) -> Check:
    free = min(facts["free_bytes"] for facts in everyone)
    files = min((facts["free_files"] for facts in everyone if facts["free_files"] is not None), default=None)
    text = f"{in_words(free)}" + ("" if files is None else f" and {files} files") + " free"
    if free < FREE_BYTES or (files is not None and files < FREE_FILES):
        return Check("room", "warn", f"{text}; a run's checkpoints may not fit: remove files or use another directory")
    return Check("room", "ok", text)


def _locks(everyone: Sequence[Facts]) -> Check:
    bad = {host: each[0]["lock"] for host, each in by_host(everyone).items() if each[0]["lock"] != "held"}
    if bad:
        failures = listed(f"{text} on {host}" for host, text in bad.items())
        return Check(
            "locks",
            "warn",
            f"flock: {failures}; two runs in one directory notice each other by its .lock file alone, after 15 s",
        )
    return Check("locks", "ok", "flock keeps a second process of a host out")
