"""Runs all checks of a job: every process measures, the first one judges and prints."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from solver.cluster import LOGGER, Launch, Watchdog, end_all, on_ending
from solver.doctor import binding, disk, exchange, host, launch, libraries, memory, shared
from solver.doctor.job import STALL_SECONDS, Check, Facts, Job, Leftovers, gather, tell
from solver.doctor.report import make_report, write_report
from solver.io import DiskError

Measure = Callable[[Job], Facts]
Judge = Callable[[Sequence[Facts]], list[Check]]


def examine(
    place: Launch, directory: Path, report: Path, environment: Mapping[str, str], programs: Path | None
) -> bool:
    """Examine a job whose processes have met. Every process calls this; the first one prints and writes the report.

    Args:
        place: this process's place in the job.
        directory: the directory whose file system is examined.
        report: the file to write, doctor.json.
        environment: environment of this process, from before it joined.
        programs: folder of compiled programs.

    Returns:
        Whether no check failed; the same on all processes.
    """
    leftovers = Leftovers()
    remove_callback = on_ending(lambda code: leftovers.remove())
    try:
        with Watchdog(STALL_SECONDS, Path("/dev/stderr"), end=partial(_end, leftovers)) as watchdog:

            def begin(what: str) -> None:
                watchdog.doing = what
                watchdog.moved()

            begin("gathering the names of hosts")
            name = socket.gethostname()
            hosts, token = tell([[facts["host"] for facts in gather({"host": name})], uuid.uuid4().hex])
            job = Job(place, directory, environment, programs, name, tuple(hosts), token, leftovers)
            return _examine(job, report, begin)
    finally:
        leftovers.remove()
        remove_callback()


def _end(leftovers: Leftovers, code: int, message: str) -> None:
    leftovers.remove()
    end_all(code, message)


def _stages(begin: Callable[[str], None]) -> dict[str, tuple[Measure, Judge]]:
    """Checks in their order. Libraries come after an exchange, which loads them."""
    return {
        "launch": (launch.measure, launch.judge),
        "binding": (binding.measure, binding.judge),
        "host": (host.measure, host.judge),
        "shared": (shared.measure, shared.judge),
        "disk": (disk.measure, disk.judge),
        "memory": (memory.measure, memory.judge),
        "exchange": (lambda job: exchange.measure(job, begin), exchange.judge),
        "libraries": (libraries.measure, libraries.judge),
    }


def _examine(job: Job, report: Path, begin: Callable[[str], None]) -> bool:
    measured: dict[str, Sequence[Facts]] = {}
    checks: list[Check] = []
    for name, (measure, judge) in _stages(begin).items():
        begin(f"examining: {name}")
        try:
            measured[name] = gather(measure(job))
        except TimeoutError as error:
            _print([Check(name, "FAIL", str(error))])
            raise
        checks += _print(judge(measured[name]) if job.process == 0 else [])
    if job.process == 0:
        checks += _print([_write(report, measured, checks)])
    return bool(tell(all(check.verdict != "FAIL" for check in checks)))


def _print(lines: Sequence[Check]) -> Sequence[Check]:
    for line in lines:
        LOGGER.info("%s", line)
    return lines


def _write(path: Path, measured: Mapping[str, Sequence[Facts]], checks: Sequence[Check]) -> Check:
    try:
        write_report(path, make_report(measured, checks))
    except DiskError as error:
        return Check("report", "FAIL", f"{error}; give --json FILE")
    return Check("report", "ok", f"{path} has all of this")
