"""`--jobs N --job I`: one of the jobs that share the members of an ensemble."""

from __future__ import annotations

import argparse

from solver.config import Config, ConfigError, Share


def add_share(parser: argparse.ArgumentParser) -> None:
    """Options of commands that carry out a part of an ensemble."""
    group = parser.add_argument_group("one of several jobs that share the members of an ensemble")
    group.add_argument("--jobs", type=int, metavar="N", help="number of jobs that share the members")
    group.add_argument("--job", type=int, metavar="I", help="index of this job, from 0")


def share_of(options: argparse.Namespace, config: Config) -> Share | None:
    """The part of the ensemble that this job carries out; None if it carries out everything.

    Raises:
        ConfigError: there is no such job, or no ensemble that jobs could share.
    """
    job, jobs = options.job, options.jobs
    if job is None and jobs is None:
        return None
    if job is None or jobs is None:
        given = f"--jobs {jobs}" if job is None else f"--job {job}"
        raise ConfigError(f"{given}: --jobs N and --job I are needed together, such as --jobs 4 --job 0")
    check_jobs(config, jobs)
    if not 0 <= job < jobs:
        raise ConfigError(f"--job {job}: a number from 0 to {jobs - 1} is needed, since there are --jobs {jobs}")
    return Share(job, jobs)


def check_jobs(config: Config, jobs: int) -> None:
    """Raises ConfigError if so many jobs cannot share the members."""
    if jobs < 1:
        raise ConfigError(f"--jobs {jobs}: 1 or more is needed")
    if config.ensemble is None:
        raise ConfigError(f"--jobs {jobs}: the run file has no members that jobs could share; [ensemble] is needed")
    most, together = config.ensemble.max_jobs, config.ensemble.together
    if jobs > most:
        count = f"{config.ensemble.count} members"
        batches = "" if together in (1, "auto") else f" in batches of ensemble.together = {together}"
        raise ConfigError(f"--jobs {jobs}: {count}{batches} are enough for {most} at most")
