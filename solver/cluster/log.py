"""The run's log: lines on standard output and, once there is a directory, in its log.txt; on the first process."""

from __future__ import annotations

import logging
import os
import sys
import time as clock
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

LOGGER = logging.getLogger("slabwave")


def start_log(quiet: bool, times: bool = False) -> None:
    """Send the log to standard output; `quiet` (every process but the first) keeps only errors.

    `times` puts the time before each line: for the output of batch jobs.
    """
    LOGGER.setLevel(logging.ERROR if quiet else logging.INFO)
    LOGGER.propagate = False
    logging.raiseExceptions = False  # a log that cannot be written must not end what is logged
    for handler in list(LOGGER.handlers):
        LOGGER.removeHandler(handler)
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_Plain("%Y-%m-%d %H:%M:%S " if times else ""))
    LOGGER.addHandler(handler)
    logging.captureWarnings(True)
    warnings.simplefilter("default")


def keep_output_to_python() -> None:
    """From now on only Python writes to standard output; what C++ libraries print there is dropped.

    Gloo prints two lines for each group of devices that exchange, which no setting turns off: on 16 devices of a job
    some hundred. It must come before `start_log`. Standard error stays as it is.
    """
    sys.stdout.flush()
    own = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout = os.fdopen(own, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)


@contextmanager
def log_to(path: Path) -> Iterator[None]:
    """Also append the log to a file, with the time of each line, as long as the context lasts.

    Raises:
        OSError: it cannot be opened, or is a symbolic link: whoever wrote into the directory could have others append
            to any file of theirs.
    """
    handler = logging.StreamHandler(open_log(path))
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname).1s %(message)s"))
    LOGGER.addHandler(handler)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        handler.close()
        handler.stream.close()


def open_log(path: Path) -> TextIO:
    """A log to append to; links are not followed."""
    return open(path, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666))


class _Plain(logging.Formatter):
    def __init__(self, time: str) -> None:
        super().__init__()
        self._time = time

    def format(self, record: logging.LogRecord) -> str:
        time = clock.strftime(self._time, clock.localtime(record.created)) if self._time else ""
        prefix = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        return time + prefix + record.getMessage()
