"""Device hours that a run used, from the times in its log."""

from __future__ import annotations

import re
from datetime import datetime

from solver.io import RunDirectory, log_of_run

LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d+ [DIWEC] (.*)")
START = "processes: "  # the first line of each start
DEVICES = re.compile(r"devices: (\d+) in use of \d+, (\w+)")


def device_hours(directory: RunDirectory) -> tuple[float, str]:
    """Hours of all devices over all starts of a run, and their platform.

    Each start counts from its first line in the log to its last one: waiting and compiling are included, imports are
    not.

    Returns:
        0 and an empty platform if the log has no such lines.
    """
    hours, platform, count = 0.0, "", 0
    began: datetime | None = None
    last: datetime | None = None
    for time, text in _lines(directory):
        if text.startswith(START):
            hours += count * _hours(began, last)
            began, count = time, 0
        elif count == 0 and (match := DEVICES.match(text)):
            count, platform = int(match[1]), match[2]
        last = time
    return hours + count * _hours(began, last), platform


def _lines(directory: RunDirectory) -> list[tuple[datetime, str]]:
    matches = (LINE.match(line) for line in log_of_run(directory))
    return [(datetime.fromisoformat(match[1]), match[2]) for match in matches if match]


def _hours(began: datetime | None, last: datetime | None) -> float:
    return 0.0 if began is None or last is None else max(0.0, (last - began).total_seconds() / 3600)
