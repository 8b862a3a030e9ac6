"""Standard streams of the command: opened where they are closed, and named where they cannot be written."""

from __future__ import annotations

import io
import os
import sys


class OutputError(Exception):
    """Standard output could not be written; the message names it. Not an `OSError`, which would look like a file's."""


class _StandardOutput(io.TextIOWrapper):
    """Standard output whose errors name it."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise _named(error) from error

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise _named(error) from error


def _named(error: OSError) -> Exception:
    """The error with the name of the stream; for a reader that is gone, the error as it is."""
    return error if isinstance(error, BrokenPipeError) else OutputError(f"standard output: {error.strerror or error}")


def prepare_streams() -> None:
    """Open closed standard streams, and let errors of standard output name it."""
    _open_closed_streams()
    given = sys.stdout
    if given is sys.__stdout__ and isinstance(given, io.TextIOWrapper):  # another one belongs to who put it there
        letters, ways = (given.encoding, given.errors), (given.line_buffering, given.write_through)
        sys.stdout = sys.__stdout__ = _StandardOutput(given.detach(), *letters, None, *ways)  # type: ignore[misc]


def _open_closed_streams() -> None:
    """Open standard streams that whoever started the process has closed, on the null device.

    Python has None for them, and the first file that is opened would take their place: what C++ prints would end in a
    checkpoint. Letters that a stream cannot encode are printed as `?`.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8"))  # noqa: SIM115
        elif number and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="replace")


def flush_or_drop() -> None:
    """Flush the output; on a full disk, drop it, since Python would fail again at exit with an exit code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, OutputError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
