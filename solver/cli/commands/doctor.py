"""Examine the job that this is started in: launcher, binding, exchanges, memory, disk, hosts."""

from __future__ import annotations

import argparse
import contextlib
import os
from pathlib import Path
from typing import Any

from solver.cli import FAILED, FINISHED
from solver.cli.arguments import add_address
from solver.config import ConfigError
from solver.stop import StopRequest

STALL_SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[DIRECTORY] [--json FILE]`, the devices, and the address of a job."""
    parser.add_argument("directory", nargs="?", default=".", help="a folder on the file system to examine (default: .)")
    parser.add_argument("--json", metavar="FILE", help="file to write (default: doctor.json in the directory)")
    parser.add_argument("--platform", default="auto", choices=("auto", "cpu", "gpu", "tpu"), help="as devices.platform")
    parser.add_argument("--devices", type=int, metavar="N", help="virtual devices of a process on the CPU")
    add_address(parser)


def run(options: argparse.Namespace) -> int:
    """Examine the job; returns 1 if a check failed or the launcher made a mistake."""
    if options.devices is not None and options.devices < 1:
        raise ConfigError(f"--devices {options.devices}: one or more are needed")
    from solver.cluster import LOGGER, LaunchError, find_launch, start_log
    from solver.doctor import Check, examine

    before = dict(os.environ)
    directory = Path(options.directory)
    with contextlib.suppress(OSError):  # the check of the disk reports the reason
        directory.mkdir(parents=True, exist_ok=True)
    report = Path(options.json) if options.json else directory / "doctor.json"
    try:
        address = (options.coordinator, options.processes, options.process)
        launch = find_launch(os.environ, *address, join_limit=options.join_limit)
        start_log(quiet=launch.process != 0)
        programs = _join(launch, options)
    except LaunchError as error:
        if options.coordinator or options.processes is not None or options.process is not None:
            raise
        start_log(quiet=False)
        LOGGER.info("%s", Check("launch", "FAIL", str(error)))
        return FAILED
    healthy = examine(launch, directory, report, before, programs)
    if not healthy and launch.processes > 1:
        with StopRequest() as stop:
            stop.shield()  # the first process that leaves makes srun send SIGTERM to the others
    return FINISHED if healthy else FAILED


def _join(launch: Any, options: argparse.Namespace) -> Path | None:
    """Choose devices as `run` does, and meet the other processes. Returns the folder of compiled programs."""
    from solver.cluster import (
        LOGGER,
        available_cores,
        forced_cpu_devices,
        keep_compiled_programs,
        keep_freed_memory,
        meet,
        set_up_jax,
    )

    forced = forced_cpu_devices(os.environ)
    wanted = options.devices or available_cores(os.environ, launch)
    if forced is not None and options.devices is not None:
        LOGGER.info("devices: %s fixes %d on the CPU; --devices %d is ignored", forced[1], forced[0], options.devices)
    if not set_up_jax(options.platform, None if forced else wanted) and options.devices is not None:
        LOGGER.info("devices: this process has its devices already; --devices %d is ignored", options.devices)
    keep_freed_memory()
    programs = keep_compiled_programs(os.environ)
    meet(launch, STALL_SECONDS)
    return programs
