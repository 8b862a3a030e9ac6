"""Writing so that a kill at any moment leaves the old file or the new one, never half of either."""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path
from typing import IO

PARTIAL = ".partial"


def sync(path: Path) -> None:
    """Bring a file, or a folder's list of names, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def publish(partial: Path, final: Path) -> None:
    """Rename what was written beside to its name, and bring the folder to the disk."""
    os.replace(partial, final)
    sync(final.parent)


def partial_path(final: Path) -> Path:
    """Where a file or folder is written before it has its name."""
    return final.with_name(f".{final.name}{PARTIAL}")


def write_text(path: Path, text: str) -> None:
    """Replace a file's text as a whole."""
    partial = partial_path(path)
    partial.write_text(text, encoding="utf-8")
    sync(partial)
    publish(partial, path)


def checksum(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def lock(folder: Path) -> IO[str] | None:
    """Hold the folder for this process until the handle closes; None if another process holds it.

    The kernel drops the lock with the process, however it ends.
    """
    handle = (folder / ".lock").open("w")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        return None
    except OSError:
        pass  # a file system without locks: nothing can be held there
    return handle
