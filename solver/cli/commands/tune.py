"""Try ways to split the grid and to exchange on the devices at hand, and print the fastest `[devices]`."""

from __future__ import annotations

import argparse
import os

from solver import assemble
from solver.cli import FAILED, FINISHED, jax_for
from solver.cli.arguments import add_address
from solver.config import ConfigError

OVERRIDES = True
STEPS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`FILE [--steps N]`, and the address of a job."""
    parser.add_argument("file", help="run file (TOML)")
    parser.add_argument(
        "--steps", type=int, default=STEPS, metavar="N", help=f"steps that are timed at a turn (default: {STEPS})"
    )
    add_address(parser)


def run(options: argparse.Namespace) -> int:
    """Try them, and print a table and the lines for the run file; returns 1 if nothing could be timed."""
    if options.steps < 1:
        raise ConfigError(f"--steps {options.steps}: 1 or more are needed")
    config = assemble.read_run_file(options.file, options.overrides, prepare=jax_for("auto"))
    if config.devices.groups is not None:
        raise ConfigError(
            f"devices.groups = {config.devices.groups}: tune takes all devices for steps; leave groups out"
        )
    if not config.time.end > 0:
        raise ConfigError(f"time.end = {config.time.end:g}: a run without steps cannot be timed")
    address = (options.coordinator, options.processes, options.process)
    from solver.cli.job import join_job
    from solver.cluster import LOGGER, find_launch, report, start_log
    from solver.tune import lines_of, run_file_lines, tune

    launch = find_launch(os.environ, *address, join_limit=options.join_limit)
    start_log(quiet=launch.process != 0)
    assembly, notes = join_job(config, launch, keep_programs=False)
    for line in [*report(launch, list(assembly.mesh.devices.flat)), *notes]:
        LOGGER.info(line)
    tuning = tune(config, assembly.mesh, steps=options.steps, stall_limit=config.time.stall_limit)
    for line in lines_of(tuning):
        LOGGER.info(line)
    if tuning.winner is not None:
        LOGGER.info("in the run file:\n\n%s", run_file_lines(tuning.winner.candidate))
    return FINISHED if tuning.winner is not None or tuning.own_trial.usable else FAILED
