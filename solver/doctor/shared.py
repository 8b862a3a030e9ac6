"""Checks that all hosts share the examined directory and the folder of compiled programs."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from solver.doctor.job import Check, Facts, Job, listed, tell, wait_for_all

WAIT_SECONDS = 5.0  # file systems over a network may take a while to show a new file
NAME = ".slabwave-doctor-{}-seen"
SHARE = "set JAX_COMPILATION_CACHE_DIR to a folder that all hosts share"


def measure(job: Job) -> Facts:
    """The first process makes a file in each folder; all processes look for it."""
    folders = {"directory": job.directory, "programs": job.programs}
    left = tell({name: job.process == 0 and _leave(job, folder) for name, folder in folders.items()})
    deadline = time.monotonic() + WAIT_SECONDS
    seen = {name: left[name] and _sees(job, folder, deadline) for name, folder in folders.items()}
    wait_for_all()
    job.leftovers.remove()
    return {
        "process": job.process,
        "host": job.host,
        "folder": str(job.programs) if job.programs else None,
        **{f"sees_{name}": is_seen for name, is_seen in seen.items()},
    }


def _leave(job: Job, folder: Path | None) -> bool:
    if folder is None:
        return False
    try:
        job.leftovers.add(folder / NAME.format(job.token)).touch()
    except OSError:
        return False  # then no process sees a file, and the check of the disk gives the reason
    return True


def _sees(job: Job, folder: Path | None, deadline: float) -> bool:
    while folder is not None:
        try:
            # listing the folder makes network file systems refresh their view of it
            if NAME.format(job.token) in os.listdir(folder):
                return True
        except OSError:
            return False
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return False


def judge(everyone: Sequence[Facts]) -> list[Check]:
    """Lines `shared`, in a job of several hosts, and `programs`."""
    several = len({facts["host"] for facts in everyone}) > 1
    return [*([_directory(everyone)] if several else []), _programs(everyone)]


def _directory(everyone: Sequence[Facts]) -> Check:
    blind = [facts["host"] for facts in everyone if not facts["sees_directory"]]
    if blind:
        return Check(
            "shared",
            "FAIL",
            f"a file that {everyone[0]['host']} made is not seen on {listed(blind)} after {WAIT_SECONDS:g} s; "
            "give a directory on a file system that all hosts share",
        )
    return Check("shared", "ok", f"a file that {everyone[0]['host']} made is seen on all hosts")


def _programs(everyone: Sequence[Facts]) -> Check:
    folder = everyone[0]["folder"]
    if folder is None:
        return Check(
            "programs", "warn", f"no folder for compiled programs can be written: each start compiles anew; {SHARE}"
        )
    others = [facts for facts in everyone if facts["folder"] != folder]
    if others and others[0]["folder"] is not None and Path(others[0]["folder"]).parent == Path(folder).parent:
        text = f"{Path(folder).name} on {everyone[0]['host']}, {Path(others[0]['folder']).name} on {others[0]['host']}"
        return Check(
            "programs",
            "warn",
            f"hosts look for compiled programs in different folders, since their processors differ ({text}); only the "
            "first process stores any, so the others compile anew at each start",
        )
    blind = [facts["host"] for facts in everyone if not facts["sees_programs"]]
    if blind:
        return Check(
            "programs",
            "warn",
            f"{folder} of {everyone[0]['host']} is not seen on {listed(blind)}: only the first process stores compiled "
            f"programs, so the others compile anew at each start; {SHARE}",
        )
    return Check(
        "programs", "ok", f"compiled ones are kept in {folder}" + (", seen by all" if len(everyone) > 1 else "")
    )
