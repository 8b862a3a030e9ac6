"""Validate a run file and print its plan; runs nothing."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path

from solver import assemble
from solver.cli.directory import is_of_a_run
from solver.cli.on_target import target_lines
from solver.cluster import Launch, available_cores, forced_cpu_devices, machine_memory, set_up_jax
from solver.config import Config, ConfigError
from solver.doctor import read_report
from solver.io.files import in_words
from solver.plan import Plan, Target, make_plan

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
    """Print the plan for the devices asked for, or for those a run here would use on the CPU."""
    # a target's plug-in looks for its GPUs unless another platform is asked for
    set_up_jax("auto" if options.target is None else "cpu", None)
    copies_only = is_of_a_run(Path(options.file))
    config = assemble.read_run_file(options.file, options.overrides, copies_only=copies_only)
    on_target = options.target is not None
    if not on_target and (options.hosts is not None or options.measured is not None):
        raise ConfigError("--hosts and --measured: they describe a target; --target is needed, such as --target h200")
    devices = options.devices
    if devices is None:
        devices = 1 if on_target else _devices_here(config)
    elif devices < 1:
        raise ConfigError(f"--devices {devices}: one or more are needed")
    assemble.check_device_count(config, devices)
    target = _target(options, devices) if on_target else None
    run = assemble.abstract_assembly(config, devices)
    plan = make_plan(run.equation, run.stepper, assemble.dry_run(config, devices))
    more = [*memory_lines(plan, devices)] if target is None else target_lines(run, plan, target)
    for line in [*(f"# source:       {line}" for line in config.imported), *plan_lines(plan), *more]:
        print(line)
    if options.resolved:
        print(f"\n{config.to_toml()}")
    return 0


def _target(options: argparse.Namespace, devices: int) -> Target:
    measured = None if options.measured is None else read_report(Path(options.measured))
    try:
        return Target.of(options.target, devices, options.hosts, measured)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _devices_here(config: Config) -> int:
    section = config.devices
    if section.use:
        return len(section.use)
    forced = forced_cpu_devices(os.environ)
    if forced is not None:
        return forced[0]
    if section.virtual != "auto":
        return int(section.virtual)
    return assemble.preferred_device_count(config, available_cores(os.environ, Launch("check")))


def plan_lines(plan: Plan) -> list[str]:
    """The plan in words."""
    per_step = plan.transforms
    ways = {True: "forward", False: "inverse"}
    transforms = ", ".join(f"{n} {ways[way]}" for way, n in sorted(per_step.items()))
    return [
        f"# devices:      {_split(plan)}; possible here: 1 to {plan.max_slabs} slabs",
        f"# physical:     {_shape(plan.physical)} in all, {_shape(plan.physical_block)} per device",
        f"# spectral:     {_shape(plan.spectral)} retained (ky, kz, kx), {_shape(plan.spectral_block)} per device",
        *_idle(plan),
        f"# transforms:   {transforms} per step",
        f"# exchanged:    {plan.exchanged_bytes / 1e6:.6g} MB per step by all devices together",
    ]


def _idle(plan: Plan) -> list[str]:
    """What says that some devices hold no modes, since rows are dealt out in equal numbers."""
    rows, each = plan.spectral[0], plan.spectral_block[0]
    filled = math.ceil(rows / each)
    if plan.pencils > 1 or filled == plan.slabs:
        return []
    return [
        f"# idle:         {plan.slabs - filled} of {plan.slabs} devices hold no modes: {rows} rows of ky, {each} to a "
        f"device, fill {filled}"
    ]


def memory_lines(plan: Plan, devices: int) -> list[str]:
    """Exchanges and memory on CPU devices, and whether this machine would do, were all of them virtual ones on it."""
    lines = [
        f"# exchanges:    {plan.exchanges} per step",
        f"# memory:       {in_words(plan.state_bytes)} of state and about {in_words(plan.peak_bytes)} at the peak of a "
        "step, per device",
        f"# decomposition: {plan.advice}",
    ]
    here = machine_memory()
    if here is None:
        return lines
    needed = plan.peak_bytes * devices
    verdict = "is enough" if needed < here else "is not enough"
    held = f"{in_words(here)}, {verdict} for {in_words(needed)} on virtual devices alone"
    return [*lines, f"# this machine: {held}"]


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))


def _split(plan: Plan) -> str:
    return f"{plan.slabs} slabs" if plan.pencils == 1 else f"{plan.slabs} slabs × {plan.pencils} pencils"
