"""Writes files so that a kill or a full disk at any moment leaves the old file or the new one, never half a file."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PARTIAL = ".partial"
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


class DiskError(OSError):
    """A file could not be written; the message gives its name, the bytes that it needs, and the free bytes."""


def disk_error(path: Path, error: OSError, needed: int | None = None) -> DiskError:
    """Error of a failed write, in one line.

    Args:
        path: path of the file.
        error: the error of the system.
        needed: size of the whole file in bytes, if known.
    """
    reason = error.strerror or str(error)
    try:
        disk = os.statvfs(path.parent)
        written = path.stat().st_size if path.is_file() else 0
        free = f", {in_words(disk.f_bavail * disk.f_frsize + written)} free"
    except OSError:
        free = ""
    space = "" if needed is None else f": {in_words(needed)} needed{free}"
    named = path.with_name(path.name.removeprefix(".").removesuffix(PARTIAL)) if path.name.endswith(PARTIAL) else path
    return DiskError(f"{named}: {reason}{space}")


def in_words(size: float) -> str:
    """A number of bytes as text such as `3.2 MiB`."""
    for unit in UNITS:
        if size < 999.5 or unit == UNITS[-1]:  # above, three digits would be written as 1.01e+03
            break
        size /= 1024
    return f"{size:.3g} {unit}"


def make_folder(path: Path) -> None:
    """Make a folder, and the folders above it, if they do not exist.

    Raises:
        DiskError: the folder cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(path, error) from error


def sync(path: Path) -> None:
    """Sync a file, or a folder's list of names, to the disk.

    Raises:
        DiskError: the sync failed.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        raise disk_error(path, error) from error
    finally:
        os.close(handle)


def publish(partial: Path, final: Path) -> None:
    """Rename a partial file or folder to its final name, and sync the folder above it.

    Raises:
        DiskError: renaming or syncing failed.
    """
    try:
        os.replace(partial, final)
    except OSError as error:
        raise disk_error(final, error) from error
    sync(final.parent)


def partial_path(final: Path) -> Path:
    """The hidden path at which a file or folder is written before it gets its final name."""
    return final.with_name(f".{final.name}{PARTIAL}")


def write_text(path: Path, text: str | bytes) -> None:
    """Replace a file's contents as a whole.

    Raises:
        DiskError: writing failed; the file is unchanged.
    """
    content = text.encode() if isinstance(text, str) else text
    partial = partial_path(path)
    try:
        partial.write_bytes(content)
        sync(partial)
        publish(partial, path)
    except OSError as error:
        failure = error if isinstance(error, DiskError) else disk_error(path, error, len(content))
        with contextlib.suppress(OSError):  # without the folder there is nothing to remove
            partial.unlink(missing_ok=True)
        raise failure from error


def append_line(path: Path, line: str, *, to_disk: bool = True) -> None:
    """Add a line to a text file and, if `to_disk`, sync the file.

    Raises:
        DiskError: writing failed; the file is unchanged.
    """
    before = path.stat().st_size if path.exists() else 0
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            if to_disk:
                os.fsync(file.fileno())
    except OSError as error:
        if path.exists():
            os.truncate(path, before)
        raise disk_error(path, error, len(line) + 1) from error


def duration(seconds: float) -> str:
    """Seconds as text such as `41 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
