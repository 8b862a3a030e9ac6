"""Faults in the long form, with counts: kills, full disks, processes that stand still, requests to stop, growth.

    python benchmarks/faults.py [--kills 50] [--crash-points 60] [--full-disks 40] [--stuck 8] [--requeues 10]
                                [--checkpoints 500] [--seed 0] [--processes 1 2]

Prints a table for benchmarks/faults.md. The short forms of the same are tests (tests/faults, tests/io, tests/outputs).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import jax
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "faults"), str(ROOT / "tests")]

from campaign import STEPS, Campaign  # noqa: E402
from zygote import Zygote  # noqa: E402

from solver.io import list_checkpoints, step_of  # noqa: E402

INTERVAL = 5  # steps between two checkpoints
Row = tuple[str, int, str]


def stands_at(directory: Path) -> int:
    found = list_checkpoints(directory / "checkpoints")
    return step_of(found[-1]) if found else 0


def last_row(directory: Path) -> int:
    """Step of the last row of the series: how far the run had come."""
    try:
        return int((directory / "series.csv").read_text().splitlines()[-1].split(",")[0])
    except (OSError, ValueError, IndexError):
        return 0


def finish(campaign: Campaign, directory: Path) -> None:
    codes = campaign.run(directory)
    assert codes == [0] * campaign.processes, campaign.said(directory)
    campaign.assert_as_undisturbed(directory)
    campaign.clear(directory)


def random_kills(campaign: Campaign, count: int, rng: np.random.Generator) -> list[Row]:
    """SIGKILL to one process at a random moment of a run; each run is then continued and compared.

    Of several processes, after they have met.
    """
    campaign.reference()
    kills, lost = 0, 0
    while kills < count:
        directory = campaign.folder / f"random-{kills}"
        started = campaign.start(directory, "time.stall_limit=5")
        if campaign.processes > 1:  # who waits to join the dead is ended by the launcher, which is not here
            while not (directory / "log.txt").exists():
                time.sleep(0.02)
        time.sleep(rng.uniform(0.2, 2.5) if campaign.processes == 1 else rng.uniform(0, 2))
        with contextlib.suppress(ProcessLookupError):
            started[rng.integers(campaign.processes)].send_signal(signal.SIGKILL)
        codes = [campaign.wait(process) for process in started]
        if -signal.SIGKILL not in codes:  # it had finished
            campaign.clear(directory)
            continue
        kills += 1
        lost = max(lost, last_row(directory) - stands_at(directory))
        campaign.assert_sound(directory)
        finish(campaign, directory)
    result = f"all ended with the bits of the undisturbed run; at most {lost} steps lost, checkpoints every {INTERVAL}"
    return [(f"SIGKILL at a random moment, {campaign.processes} process(es)", kills, result)]


def crash_points(campaign: Campaign, count: int, rng: np.random.Generator) -> list[Row]:
    """SIGKILL before, within and after a chosen write, fsync or rename, on each rank."""
    campaign.reference()
    calls = campaign.calls(campaign.folder / "whole")
    number = 0
    while number < count:
        process, when = number % campaign.processes, ("before", "within", "after")[number % 3]
        at = int(rng.integers(1, calls[process]))
        directory = campaign.folder / f"crash-{number}"
        others = {"process": process} if campaign.processes > 1 else {}
        codes = campaign.run(directory, "time.stall_limit=5", at=at, when=when, **others)
        if codes[process] == 0:  # this run made fewer calls: how often the lock beats is a matter of time
            campaign.clear(directory)
            continue
        assert codes[process] == -signal.SIGKILL, (codes, campaign.said(directory))
        campaign.assert_sound(directory)
        finish(campaign, directory)
        number += 1
    what = f"SIGKILL before, within or after a write, fsync or rename, {campaign.processes} process(es)"
    return [(what, count, f"of {calls} such calls; all continued to the bits of the undisturbed run")]


def full_disks(campaign: Campaign, count: int, rng: np.random.Generator) -> list[Row]:
    """ENOSPC, EDQUOT and EIO at a chosen call, and small file systems of many sizes."""
    campaign.reference()
    calls = campaign.calls(campaign.folder / "whole")
    for number in range(count):
        process = number % campaign.processes
        directory = campaign.folder / f"full-{number}"
        inject = {"at": int(rng.integers(1, calls[process])), "do": ("ENOSPC", "EDQUOT", "EIO")[number % 3]}
        codes = campaign.run(directory, **inject, **({"process": process} if campaign.processes > 1 else {}))
        if codes == [0] * campaign.processes and "could not be deleted" in campaign.said(directory):
            campaign.clear(directory)  # an old checkpoint stayed, which is no reason to end
            continue
        assert codes == [1] * campaign.processes, (codes, inject, campaign.said(directory))
        assert campaign.said(directory).count("slabwave: error:") == 1, campaign.said(directory)
        campaign.assert_sound(directory)
        assert not list(directory.rglob(".*.partial"))
        finish(campaign, directory)
    rows = [(f"ENOSPC, EDQUOT or EIO at a write, fsync or rename, {campaign.processes} process(es)", count,
             "exit 1 with one line, nothing half written; all continued to the same bits")]  # fmt: skip
    sizes = range(60, 320, 20) if os.geteuid() == 0 else ()
    for size in sizes:
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", place], check=True)
            try:
                directory = Path(place) / "run"
                codes = campaign.run(directory)
                assert codes == [1] * campaign.processes, (size, codes, campaign.said(directory))
                campaign.assert_sound(directory)
                subprocess.run(["mount", "-o", "remount,size=4m", place], check=True)
                finish(campaign, directory)
            finally:
                subprocess.run(["umount", place], check=True)
    return [
        *rows,
        (f"a tmpfs of 60 to 300 KiB, {campaign.processes} process(es)", len(sizes), "the same"),
    ]


def stuck(campaign: Campaign, count: int, rng: np.random.Generator) -> list[Row]:
    """SIGSTOP to one of two processes at a random moment."""
    longest, limit = 0.0, 4
    for number in range(count):
        directory, process = campaign.folder / f"stuck-{number}", number % 2
        started = campaign.start(directory, f"time.stall_limit={limit}", "time.end=60")
        while stands_at(directory) < 10:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.1))  # its checkpoints must not lie beyond the end of the undisturbed run
        started[process].send_signal(signal.SIGSTOP)
        began = time.monotonic()
        code = campaign.wait(started[1 - process])
        longest = max(longest, time.monotonic() - began)
        started[process].send_signal(signal.SIGKILL)
        campaign.wait(started[process])
        assert code == 70, campaign.said(directory)
        assert "Python stacks" in (directory / "log.txt").read_text()
        campaign.assert_sound(directory)
        finish(campaign, directory)
    result = f"exit 70 with stacks in the log, after {longest:.1f} s at most; all continued to the same bits"
    return [(f"SIGSTOP to one of two processes, stall limit {limit} s", count, result)]


def requeues(campaign: Campaign, count: int, rng: np.random.Generator) -> list[Row]:
    """A signal to one process at a random moment from the very start on, again and again, until the run is through."""
    directory, stops = campaign.folder / "requeued", 0
    while stops < count:
        started = campaign.start(directory)
        time.sleep(rng.uniform(0, 2.5))
        with contextlib.suppress(ProcessLookupError):
            started[rng.integers(campaign.processes)].send_signal(rng.choice([signal.SIGUSR1, signal.SIGTERM]))
        codes = [campaign.wait(process) for process in started]
        assert codes in ([75] * campaign.processes, [0] * campaign.processes), (codes, campaign.said(directory))
        stops += codes[0] == 75
        campaign.assert_sound(directory)
        if codes[0] == 0:
            campaign.assert_as_undisturbed(directory)
            campaign.clear(directory)
    if directory.exists():
        finish(campaign, directory)
    return [(f"SIGUSR1 or SIGTERM to one of {campaign.processes} process(es) at a random moment", stops,
             "all processes exit 75 at the same step; no row missing or double, same bits")]  # fmt: skip


def growth(count: int) -> list[Row]:
    """Many checkpoints in one process."""
    words = ["-m", "pytest", "-q", "tests/outputs/test_writing.py", "-k", "many_checkpoints"]
    environment = {**os.environ, "SLABWAVE_CHECKPOINTS": str(count)}
    subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return [("checkpoints in one process", count, "no growth of memory, descriptors, threads or files")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    counts = {"kills": 50, "crash-points": 60, "full-disks": 40, "stuck": 8, "requeues": 10, "checkpoints": 500}
    for name, default in {**counts, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--processes", type=int, nargs="+", choices=(1, 2), default=[1, 2])
    asked = vars(parser.parse_args())
    processes = asked.pop("processes")
    rng = np.random.default_rng(asked["seed"])
    print(f"Python {platform.python_version()}, jax {jax.__version__}, h5py {h5py.__version__}; {STEPS} steps of a")
    print(
        "16×12×8 Taylor–Green vortex, two virtual devices in each process\n\n| fault | count | result |\n|---|---|---|"
    )
    half = {name: -(-count // 2) for name, count in asked.items()}
    with Zygote() as zygote, tempfile.TemporaryDirectory() as folder:
        alone = Campaign(zygote, Path(folder) / "alone")
        pair = Campaign(zygote, Path(folder) / "pair", processes=2)
        alone.folder.mkdir()
        pair.folder.mkdir()
        parts: list[Callable[[], list[Row]]] = [lambda: growth(asked["checkpoints"])]
        for campaign in [c for c in (alone, pair) if c.processes in processes]:
            parts += [
                lambda c=campaign: random_kills(c, half["kills"], rng),
                lambda c=campaign: crash_points(c, half["crash_points"], rng),
                lambda c=campaign: full_disks(c, half["full_disks"], rng),
                lambda c=campaign: requeues(c, half["requeues"], rng),
            ]
        if 2 in processes:
            parts.append(lambda: stuck(pair, asked["stuck"], rng))
        for part in parts:
            with contextlib.redirect_stdout(io.StringIO()):
                rows = part()
            for what, count, result in rows:
                print(f"| {what} | {count} | {result} |", flush=True)


if __name__ == "__main__":
    main()
