"""Continue a run, or an ensemble, from its directory alone; with --branch in a new one, with other physics."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from solver import assemble
from solver.cli import jax_for
from solver.cli.arguments import add_address
from solver.cli.directory import open_any
from solver.cli.shares import add_share, share_of
from solver.config import ConfigError
from solver.config.toml import apply_override, keys_of
from solver.io import RunDirectory, list_checkpoints, newest_healthy, step_of
from solver.reading import refuse_ensemble, run_status

OVERRIDES = True
STOPS_EARLY = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR [--branch NEW [--from-step N]]`, the address of a job, and its share of an ensemble."""
    parser.add_argument("directory", help="a run's directory")
    parser.add_argument(
        "--branch",
        metavar="NEW",
        help="continue in a new directory, with another step, stepper, parameter, resolution or new scalars",
    )
    parser.add_argument("--from-step", type=int, metavar="N", help="step of the checkpoint that a branch starts from")
    add_address(parser)
    add_share(parser)


def run(options: argparse.Namespace) -> int:
    """Continue the run; returns the exit code."""
    directory = open_any(options.directory)
    if options.branch is not None:
        refuse_ensemble(directory)
        return _branch(directory, options)
    if options.from_step is not None:
        raise ConfigError(f"--from-step {options.from_step}: it chooses where a branch starts; --branch NEW is needed")
    there = bool(list_checkpoints(directory.checkpoints))
    config = assemble.read_run_file(
        directory.run_file, options.overrides, continues=lambda config: there, prepare=jax_for("auto")
    )
    share = share_of(options, config)
    from solver.cli.data_sets import continued_data_set
    from solver.cli.job import refuse_another_run, run_job

    # the directory may have been moved: the run continues in the one that the command names
    config = continued_data_set(replace(config, directory=str(directory.path)), directory, share)
    refuse_another_run(directory, config, share)
    return run_job(config, directory, options, share)


def _branch(directory: RunDirectory, options: argparse.Namespace) -> int:
    """A new run whose fields, time and forcing come from a checkpoint."""
    config = assemble.read_run_file(
        directory.run_file, [*options.overrides, *_start(directory, options)], prepare=jax_for("auto")
    )
    share_of(options, config)
    from solver.cli.job import run_job
    from solver.simulation import refuse_occupied

    new = RunDirectory(Path(config.directory))
    refuse_occupied(new, config.known_outputs)
    options.resume = False
    return run_job(config, new, options)


def _start(directory: RunDirectory, options: argparse.Namespace) -> list[str]:
    """Overrides that every branch needs: its start, with the starts of new scalars, and its directory."""
    given: dict[str, Any] = {}
    for override in options.overrides:
        if override.startswith("scalars"):
            apply_override(given, override)
    own = {("initial", name) for name in ("shift_to_walls", *given.get("scalars", ()))}
    starts = [override for override in options.overrides if keys_of(override.partition("=")[0])[:2] in own]
    for override in options.overrides:
        if override.startswith(("initial", "output.directory")) and override not in starts:
            raise ConfigError(f"{override!r}: a branch starts where {directory.path} stood, in {options.branch}")
    steps = [step_of(path) for path in list_checkpoints(directory.checkpoints)]
    if not steps:
        raise ConfigError(f"{directory.path} has no checkpoint that a branch could start from")
    step = _newest_to_branch_from(directory) if options.from_step is None else options.from_step
    place = json.dumps(str(directory.path.resolve()), ensure_ascii=False)
    start = f"initial={{ name = 'run', path = {place}, step = {step}, keep_time = true }}"
    return [start, *starts, f"output.directory={json.dumps(options.branch, ensure_ascii=False)}"]


def _newest_to_branch_from(directory: RunDirectory) -> int:
    """Step of the newest checkpoint; after a blow-up of the newest healthy one.

    Raises:
        ConfigError: the run blew up and none is healthy.
    """
    paths = list_checkpoints(directory.checkpoints)
    if run_status(directory).status != "blown up":
        return step_of(paths[-1])
    healthy = newest_healthy(paths)
    if healthy is None:
        known = ", ".join(str(step_of(path)) for path in paths)
        raise ConfigError(f"{directory.path} blew up, and no checkpoint is healthy; choose one by --from-step: {known}")
    return step_of(healthy)
