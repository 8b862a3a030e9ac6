"""Validate a run file and print its plan; runs nothing."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from solver import assemble
from solver.cli import jax_for
from solver.cli.directory import is_of_a_run
from solver.config import Config, ConfigError

OVERRIDES = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`FILE [--devices N] [--target NAME [--hosts N] [--measured FILE]]`."""
    parser.add_argument("file", help="run file (TOML)")
    parser.add_argument("--resolved", action="store_true", help="print the run file too, with every default")
    parser.add_argument("--devices", type=int, metavar="N", help="plan for so many devices")
    parser.add_argument("--target", metavar="NAME", help="compile for GPUs that are not here: h200, a100, …, or a file")
    parser.add_argument("--hosts", type=int, metavar="N", help="that the target's devices are spread over evenly")
    parser.add_argument("--measured", metavar="FILE", help="a doctor.json whose bandwidths replace published ones")


def run(options: argparse.Namespace) -> int:
    """Print the plan for the given devices, or for the CPU devices that a run on this machine would use."""
    has_target = options.target is not None
    # a target's plug-in looks for its GPUs unless another platform is asked for
    set_up, copies_only = jax_for("cpu" if has_target else "auto"), is_of_a_run(Path(options.file))
    config = assemble.read_run_file(options.file, options.overrides, copies_only=copies_only, prepare=set_up)
    from solver.cli.estimate_lines import derivation_lines, estimate_lines, length_lines, memory_lines, steps_of
    from solver.plan import disk_use, make_estimate

    if not has_target and (options.hosts is not None or options.measured is not None):
        raise ConfigError("--hosts and --measured: they describe a target; --target is needed, such as --target h200")
    devices = options.devices
    if devices is None:
        devices = 1 if has_target else _devices_here(config)
    elif devices < 1:
        raise ConfigError(f"--devices {devices}: one or more are needed")
    if config.devices.groups is not None:
        if has_target:
            raise ConfigError("--target with devices.groups: a target is planned for one group; leave groups out")
        devices = assemble.devices_that_step(config, devices)
    assemble.check_device_count(config, devices)
    target = _target(options, devices) if has_target else None
    run = assemble.abstract_assembly(config, devices)
    estimate = make_estimate(run.equation, run.stepper, assemble.dry_run(config, devices))
    _check_modes(run)
    if target is None:
        more = memory_lines(estimate, devices, _analysis(run))
    else:
        from solver.cli.target_report import target_report

        more = target_report(run, estimate, target)
    uses = disk_use(run.outputs.all, run.equation, run.state_shapes(), config.time.end, steps_of(config))
    more = [*more, *length_lines(config, uses)]
    notes = [*_notes(config, devices, has_target), *_warnings(run)]
    for line in [*notes, *estimate_lines(estimate), *more, *derivation_lines(run.equation)]:
        print(line)
    if options.resolved:
        print(f"\n{config.to_toml()}")
    return 0


def _notes(config: Config, devices: int, has_target: bool) -> list[str]:
    """Lines on where the run file comes from, and on the members and the data set that it makes."""
    notes = [f"# source:       {line}" for line in config.imported]
    notes += [f"# run file:     {line}" for line in config.dropped]
    if config.members:
        first, last = config.members[0].directory, Path(config.members[-1].directory).name
        sizes = assemble.planned_sizes(config, devices, has_target)
        together = "one after the other" if max(sizes) == 1 else f"up to {max(sizes)} stepped by one program"
        notes.append(f"# ensemble:     {len(config.members)} members, {together}: {first} to {last}")
    if config.members and "well" in config.outputs:
        from solver.dataset import data_set_of

        notes.append(f"# data set:     {data_set_of(config, Path(config.directory)).summary}")
    return notes


def _check_modes(run: assemble.Assembly) -> None:
    """Refuse an equation whose faults at the modes of its grid a run would refuse at its start."""
    from solver.dynamics.faults import refuse_faults_of_few_modes

    try:
        refuse_faults_of_few_modes(run.equation)
    except ValueError as error:
        raise ConfigError(f"equation: {error}") from None


def _warnings(run: assemble.Assembly) -> list[str]:
    """Lines on what a run would warn of, as far as it is known before the first state."""
    from solver.loop import rounded_time

    time = run.config.time
    step = run.control.size if run.control.size is not None else time.max_step
    line = "" if step is None else rounded_time(run.equation, 0.0, time.end, step)
    return [f"# warning:      {line}"] if line else []


def _analysis(run: assemble.Assembly) -> Any:
    """The `solver.plan.AnalysisEstimate` of the devices that analyse; None without such devices."""
    from solver.plan import estimate_analysis

    if run.analyse is None:
        return None
    there = assemble.Assembly(run.config, run.analyse)
    return estimate_analysis(there.equation, there.outputs.all, there.state_shapes())


def _target(options: argparse.Namespace, devices: int) -> Any:
    """The `solver.plan.Target` that the options describe."""
    from solver.doctor import read_report
    from solver.plan import Target

    measured = None if options.measured is None else read_report(Path(options.measured))
    try:
        return Target.of(options.target, devices, options.hosts, measured)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _devices_here(config: Config) -> int:
    from solver.cluster import Launch, available_cores, forced_cpu_devices

    section = config.devices
    if section.use:
        return len(section.use)
    forced = forced_cpu_devices(os.environ)
    if forced is not None:
        return forced[0]
    if section.virtual != "auto":
        return int(section.virtual)
    return assemble.preferred_device_count(config, available_cores(os.environ, Launch("check")))
