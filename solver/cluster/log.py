"""The run's log: lines on standard output and, once there is a directory, in its log.txt; on the first process."""

from __future__ import annotations

import logging
import os
import sys
import time as clock
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

LOGGER = logging.getLogger("slabwave")
_run: ContextVar[str] = ContextVar("run", default="")  # of several in turn, the one that goes on now


def start_log(quiet: bool, times: bool = False) -> None:
    """Send the log to standard output; `quiet` (every process but the first) keeps only errors.

    `times` puts the time before each line: for the output of batch jobs.
    """
    LOGGER.setLevel(logging.ERROR if quiet else logging.INFO)
    LOGGER.propagate = False
    logging.raiseExceptions = False  # a log that cannot be written must not end the run
    for handler in list(LOGGER.handlers):
        LOGGER.removeHandler(handler)
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_Plain("%Y-%m-%d %H:%M:%S " if times else ""))
    handler.addFilter(_is_for_all)
    LOGGER.addHandler(handler)
    logging.captureWarnings(True)
    warnings.simplefilter("default")


def keep_output_to_python() -> None:
    """Drop what C++ libraries print to standard output from now on; Python's output is kept.

    Gloo prints two lines for each group of devices that exchange, about a hundred in a job with 16 devices, and no
    setting turns them off. Call this before `start_log`. Standard error is not changed.
    """
    sys.stdout.flush()
    own = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout = os.fdopen(own, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)


@contextmanager
def log_of(run: str) -> Iterator[None]:
    """In the context one of several runs continues, which stand side by side.

    What it logs goes to the files that it opened in such a context itself. Others get its warnings and errors alone,
    with its name.
    """
    token = _run.set(run)
    try:
        yield
    finally:
        _run.reset(token)


@contextmanager
def log_to(path: Path, runs: Collection[str] = ()) -> Iterator[None]:
    """Also append the log to a file during the context, with the time of each line.

    Args:
        path: path of the file.
        runs: several runs, by name, that share the file: it has what they log, each line with the name of its run.

    Raises:
        OSError: the file cannot be opened, or is a symbolic link. A link is refused because anyone who can write to
            the directory could otherwise make other users append to any of their own files.
    """
    handler = logging.StreamHandler(open_log(path))
    own = _run.get()
    handler.setFormatter(_Dated("%(asctime)s %(levelname).1s %(message)s", own))
    if runs:
        handler.addFilter(lambda record: _run.get() in runs)
    else:
        handler.addFilter((lambda record: _run.get() == own) if own else _is_for_all)
    LOGGER.addHandler(handler)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        handler.close()
        handler.stream.close()


def open_log(path: Path) -> TextIO:
    """Open a log to append to; symbolic links are not followed."""
    return open(path, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666))


def _is_for_all(record: logging.LogRecord) -> bool:
    """True if a message belongs to no single run of several, or is a warning of one."""
    return not _run.get() or record.levelno >= logging.WARNING


class _Dated(logging.Formatter):
    def __init__(self, line: str, own: str) -> None:
        super().__init__(line)
        self._own = own

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message if self._own else _with_run(record.message)
        return super().formatMessage(record)


class _Plain(logging.Formatter):
    def __init__(self, time: str) -> None:
        super().__init__()
        self._time = time

    def format(self, record: logging.LogRecord) -> str:
        time = clock.strftime(self._time, clock.localtime(record.created)) if self._time else ""
        prefix = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        return time + prefix + _with_run(record.getMessage())


def _with_run(message: str) -> str:
    """A message after the name of the run that it is of, one of several."""
    run = _run.get()
    return f"{run}: {message}" if run else message
