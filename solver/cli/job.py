"""The common part of `run` and `resume`: join the job, choose devices, lock the directory, and step."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext

import jax

from solver import assemble
from solver.cli import FINISHED, STOPPED_EARLY
from solver.cli.data_sets import makes_data_set, run_members_of_data_set
from solver.cli.member_outputs import output_group_of, write_outputs_of_members
from solver.cli.members import refuse_members, run_members
from solver.cli.one_run import run_one, write_outputs_of_one
from solver.cluster import (
    Launch,
    available_cores,
    find_launch,
    forced_cpu_devices,
    in_group,
    join,
    keep_compiled_programs,
    keep_freed_memory,
    keep_output_to_python,
    machine_memory,
    refuse_double_precision,
    report,
    require_same,
    set_up_jax,
    start_log,
    will_be_cpu,
)
from solver.config import Config, ConfigError, Share
from solver.io import RunDirectory
from solver.simulation import Profile, refuse_earlier_end, refuse_other_physics
from solver.stop import StopRequest


def refuse_another_run(directory: RunDirectory, config: Config, share: Share | None = None) -> None:
    """Raises ConfigError if a run file has other physics than the run in a directory, or an earlier end.

    Of an ensemble the members of a share are compared, all by default: members of other jobs may be changing now.
    """
    before = assemble.parse_run_file(directory.run_file).to_table()
    refuse_other_physics(
        directory,
        before,
        config.to_table(),
        free="the end and the limits of [time], [devices] and output schedules",
        otherwise=f"; slabwave resume {directory.path} --branch NEW key=value … continues with others in NEW",
    )
    refuse_earlier_end(directory, config.time.end)
    refuse_members(config, directory, share)


def run_job(
    config: Config,
    directory: RunDirectory,
    options: argparse.Namespace,
    share: Share | None = None,
    profile: Profile | None = None,
) -> int:
    """Run or continue what a checked run file describes.

    Args:
        config: the run file.
        directory: the run's directory.
        options: options of the command.
        share: the part of an ensemble that is carried out; all of it by default.
        profile: traces some steps.

    Returns:
        The exit code.
    """
    checkpoints = config.outputs.get("checkpoints")
    by_mpi = checkpoints is not None and checkpoints.parameters.get("layout") == "shared"
    address = (options.coordinator, options.processes, options.process)
    launch = find_launch(os.environ, *address, keep_mpi=by_mpi, join_limit=options.join_limit)
    if launch.processes > 1 and will_be_cpu(config.devices.platform):
        keep_output_to_python()
    start_log(quiet=launch.process != 0, times="SLURM_JOB_ID" in os.environ and not sys.stdout.isatty())
    continues = getattr(options, "resume", True)
    with StopRequest() as stop:
        assembly, notes = join_job(config, launch)
        stop.listen()  # again, since joining replaces the signal handlers
        lines = [*report(launch, assembly.devices), *notes]
        with nullcontext() if assembly.group is None else in_group(assembly.group):
            if assembly.group is not None and assembly.group.name == "analyse":
                write = write_outputs_of_members if config.members else write_outputs_of_one
                finished = write(assembly, directory, stop)
            elif config.members:
                with output_group_of(assembly) as output_group:
                    run = run_members_of_data_set if makes_data_set(config) else run_members
                    finished = run(assembly, directory, stop, lines, output_group, continues=continues, share=share)
                    output_group.over(finished)
            else:
                finished = run_one(assembly, directory, stop, lines, continues=continues, profile=profile)
        if not finished:
            stop.shield()
    return FINISHED if finished else STOPPED_EARLY


def join_job(config: Config, launch: Launch, *, keep_programs: bool = True) -> tuple[assemble.Assembly, list[str]]:
    """Join the job's processes. Returns the run's objects on its devices, and lines for the log."""
    notes = _choose_devices(config, launch)
    keep_freed_memory(all_sizes=False)
    if not keep_programs:
        notes.append("programs: compiled ones are not kept")
    elif config.devices.engine == "jaxdecomp":
        notes.append("programs: compiled ones are not kept, since programs of jaxdecomp cannot be distinguished")
    elif keep_compiled_programs(os.environ) is None:
        notes.append("programs: no folder to keep compiled ones in; set JAX_COMPILATION_CACHE_DIR to one")
    join(launch, stall_limit=config.time.stall_limit)
    count = assemble.devices_that_step(config, len(jax.devices()))
    for each in config.members or (config,):
        assemble.check_device_count(each, count)
    mesh, analyse = assemble.device_meshes(config)
    require_same(config.to_toml(), "run file")
    assembly = assemble.Assembly(config, mesh, analyse)
    notes += [*(f"source: {line}" for line in config.imported), *(f"run file: {line}" for line in config.dropped)]
    if analyse is not None:
        notes.append(f"groups: devices that step: {mesh.size}; that carry out outputs: {analyse.size}")
        if assembly.group is None and min(mesh.size, analyse.size) > 1 and mesh.devices.flat[0].platform == "cpu":
            notes.append(
                "groups: on the CPU groups of several devices take turns; one device that analyses does not wait"
            )
    return assembly, notes


def _choose_devices(config: Config, launch: Launch) -> list[str]:
    """Choose platform and virtual devices. Refuses a number of devices that cannot split the grid before joining."""
    section = config.devices
    assemble.refuse_packed_groups(config, launch.processes)
    refuse_double_precision(section.platform, config.grid.precision)
    forced = forced_cpu_devices(os.environ)
    if forced is not None:
        set_up_jax(section.platform, None)
        notes = [f"devices: {forced[1]} fixes {forced[0]} on the CPU; devices.virtual = {section.virtual!r} is ignored"]
        count = forced[0]
    else:
        cores = available_cores(os.environ, launch)
        wanted = section.virtual
        count = assemble.preferred_device_count(config, cores, launch.processes) if wanted == "auto" else wanted
        notes = []
        if not set_up_jax(section.platform, count):
            count = len(jax.devices())
            notes = [f"devices: this process has {count} already; devices.virtual = {wanted!r} is ignored"]
    if will_be_cpu(section.platform):
        _refuse_too_large(config, launch)
    if section.platform == "cpu" or section.virtual != "auto":
        assemble.check_device_count(config, assemble.devices_that_step(config, count * launch.processes))
    return notes


def _refuse_too_large(config: Config, launch: Launch) -> None:
    """Raises ConfigError if the fields alone do not fit into the memory of the job's hosts."""
    needed, here = assemble.least_memory(config), machine_memory()
    hosts = max(1, launch.processes // launch.local_processes)
    if here is not None and needed > here * hosts:
        raise ConfigError(
            f"grid.shape = {list(config.grid.shape)}: its fields need {needed / 2**30:.3g} GiB of memory at least; "
            f"{hosts} host{'s' if hosts > 1 else ''} of {here / 2**30:.3g} GiB cannot hold them"
        )
