"""Start a run, or with --resume continue it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from solver import assemble
from solver.cli import jax_for
from solver.cli.arguments import add_address
from solver.cli.shares import add_share, share_of
from solver.config import Config, ConfigError
from solver.io import RunDirectory, list_checkpoints, newest_time

OVERRIDES = True
STOPS_EARLY = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`FILE [--resume] [--profile N]`, the address of a job, and its share of an ensemble."""
    parser.add_argument("file", help="run file (TOML)")
    parser.add_argument("--resume", action="store_true", help="continue from the newest valid checkpoint, if any")
    parser.add_argument("--profile", type=int, metavar="N", help="leave a trace of N steps in the run's directory")
    add_address(parser)
    add_share(parser)


def run(options: argparse.Namespace) -> int:
    """Start or continue the run; returns the exit code."""
    config = assemble.read_run_file(
        options.file,
        options.overrides,
        continues=lambda config: options.resume and _has_checkpoints(config),
        prepare=jax_for("auto"),
    )
    share = share_of(options, config)
    if share is not None and not options.resume:
        raise ConfigError(f"--jobs {share.jobs}: --resume is needed too, since other jobs may have begun the ensemble")
    from solver.cli.data_sets import continued_data_set
    from solver.cli.job import refuse_another_run, run_job
    from solver.cli.one_run import refuse_blow_up_again
    from solver.simulation import refuse_occupied

    directory = RunDirectory(Path(config.directory))
    if not options.resume:
        refuse_occupied(directory, config.known_outputs)
    elif directory.run_file.exists():
        config = continued_data_set(config, directory, share)
        refuse_another_run(directory, config, share)
        refuse_blow_up_again(directory, config)
    return run_job(config, directory, options, share, _profile(config, directory, options.profile))


def _profile(config: Config, directory: RunDirectory, steps: int | None) -> Any:
    """The `solver.simulation.Profile` of the command line; None without one."""
    if steps is None:
        return None
    if steps < 1:
        raise ConfigError(f"--profile {steps}: 1 or more steps are needed")
    if config.members:
        raise ConfigError(f"--profile {steps}: it traces one run; leave [ensemble] out of the run file for it")
    from solver.simulation import Profile

    profile, time = Profile(directory.path, steps), config.time
    profile.refuse_too_many(time.end, time.step, newest_time(directory.checkpoints) or 0.0)
    return profile


def _has_checkpoints(config: Config) -> bool:
    return bool(list_checkpoints(RunDirectory(Path(config.directory)).checkpoints))
