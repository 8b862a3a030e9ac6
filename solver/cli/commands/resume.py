"""Continue a run from its directory alone."""

from __future__ import annotations

import argparse
from dataclasses import replace

from solver import assemble
from solver.cli.arguments import add_address
from solver.cli.directory import open_run
from solver.cli.settings import jax_for
from solver.io import list_checkpoints

OVERRIDES = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`, and the address of a job."""
    parser.add_argument("directory", help="a run's directory")
    add_address(parser)


def run(options: argparse.Namespace) -> int:
    """Continue it; returns the exit code."""
    directory = open_run(options.directory)
    there = bool(list_checkpoints(directory.checkpoints))
    config = assemble.read_run_file(
        directory.run_file, options.overrides, continues=lambda config: there, prepare=jax_for("auto")
    )
    from solver.cli.job import carry_out, refuse_another_run

    # the directory may have been moved since: what was named now is where the run goes on
    config = replace(config, directory=str(directory.path))
    refuse_another_run(directory, config)
    return carry_out(config, directory, options)
