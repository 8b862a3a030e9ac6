"""Continue a run from its directory alone."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from solver import assemble
from solver.cli.arguments import add_address
from solver.cli.job import carry_out, refuse_other_physics
from solver.cluster import set_up_jax
from solver.config import ConfigError
from solver.io import RunDirectory, list_checkpoints
from solver.simulation import refuse_earlier_end

OVERRIDES = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`, and the address of a job."""
    parser.add_argument("directory", help="a run's directory")
    add_address(parser)


def run(options: argparse.Namespace) -> int:
    """Continue it; returns the exit code."""
    set_up_jax("auto", None)
    directory = RunDirectory(Path(options.directory))
    if not directory.run_file.exists():
        raise ConfigError(f"{directory.path} holds no run: {directory.run_file} does not exist")
    from_start = not list_checkpoints(directory.checkpoints)
    config = assemble.read_run_file(directory.run_file, options.overrides, from_start=from_start)
    # the directory may have been moved since: what was named now is where the run goes on
    config = replace(config, directory=str(directory.path))
    refuse_other_physics(directory, config)
    refuse_earlier_end(directory, config.time.end)
    return carry_out(config, directory, options)
