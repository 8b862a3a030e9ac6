"""The common part of `run` and `resume`: join the job, choose devices, lock the directory, and step."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import jax

from solver import assemble
from solver.assemble.branch import kept_start
from solver.cli.codes import FINISHED, STOPPED_EARLY
from solver.cluster import (
    LOGGER,
    Launch,
    available_cores,
    find_launch,
    forced_cpu_devices,
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
from solver.config import Config, ConfigError
from solver.io import RunDirectory, list_checkpoints
from solver.loop import BlowUp
from solver.mesh import device_mesh
from solver.reading import AFTER_BLOW_UP, run_status
from solver.simulation import (
    Profile,
    locked_run_directory,
    record_branch,
    refuse_earlier_end,
    refuse_other_physics,
    simulate,
)
from solver.steppers.state import State
from solver.stop import StopRequest


def refuse_another_run(directory: RunDirectory, config: Config) -> None:
    """Raises ConfigError if a run file has other physics than the run in a directory, or an earlier end."""
    before = assemble.parse_run_file(directory.run_file).to_table()
    refuse_other_physics(
        directory,
        before,
        config.to_table(),
        free="the end and the limits of [time], [devices] and output schedules",
        otherwise=f"; slabwave resume {directory.path} --branch NEW key=value … goes on with others in a directory NEW",
    )
    refuse_earlier_end(directory, config.time.end)


def refuse_blow_up_again(directory: RunDirectory, config: Config) -> None:
    """Raises BlowUp, which gives exit code 3, if the run blew up and its run file is the same as then.

    Otherwise each job of a chain of batch jobs would compute from the last checkpoint to the same blow-up.
    """
    before = run_status(directory)
    if before.status == "blown up" and directory.run_file.read_text(encoding="utf-8") == config.to_toml():
        raise BlowUp(f"{directory.path}: {before.message}; the same run file would lead there again: {AFTER_BLOW_UP}")


def run_job(
    config: Config, directory: RunDirectory, options: argparse.Namespace, profile: Profile | None = None
) -> int:
    """Run or continue the run of a checked run file; `profile` traces some steps. Returns the exit code."""
    checkpoints = config.outputs.get("checkpoints")
    by_mpi = checkpoints is not None and checkpoints.parameters.get("layout") == "shared"
    address = (options.coordinator, options.processes, options.process)
    launch = find_launch(os.environ, *address, keep_mpi=by_mpi, join_limit=options.join_limit)
    if launch.processes > 1 and will_be_cpu(config.devices.platform):
        keep_output_to_python()
    start_log(quiet=launch.process != 0, times="SLURM_JOB_ID" in os.environ and not sys.stdout.isatty())
    with StopRequest() as stop:
        assembly, notes = join_job(config, launch)
        devices = list(assembly.mesh.devices.flat)
        differs = [line for start in assembly.initials.values() for line in start.notes(assembly.grid)]
        with locked_run_directory(
            directory, config.to_toml(), devices, config.known_outputs, config.sources, differs,
            continues=getattr(options, "resume", True),
        ) as lock:  # fmt: skip
            for line in [*report(launch, devices), *notes, _summary(assembly), *differs]:
                LOGGER.info(line)
            stop.listen()  # again, since joining replaces the signal handlers
            simulation = replace(assembly.simulation, start=lambda: _start(assembly))
            with _blow_up_names_branch(directory):
                _, finished = simulate(simulation, stop, lock, profile)
        if not finished:
            stop.shield()
    return FINISHED if finished else STOPPED_EARLY


@contextmanager
def _blow_up_names_branch(directory: RunDirectory) -> Iterator[None]:
    """Add the command that continues from the last checkpoint to the message of a blow-up."""
    try:
        yield
    except BlowUp as error:
        if not list_checkpoints(directory.checkpoints):
            raise
        raise BlowUp(
            f"{error}; slabwave resume {directory.path} --branch NEW time.step=… goes on from the last checkpoint with "
            "another step"
        ) from error


def _start(assembly: assemble.Assembly) -> State:
    LOGGER.info("starting from %s", ", ".join(start.name for start in assembly.config.initial.values()))
    try:
        state = assembly.start()
    except ValueError as error:
        raise ConfigError(f"initial: {error}") from error
    kept = kept_start(assembly.config)
    if kept is not None:
        there = kept.checkpoint()
        record_branch(there.path, there.t, assembly.config.directory)
    return state


def join_job(config: Config, launch: Launch, *, keep_programs: bool = True) -> tuple[assemble.Assembly, list[str]]:
    """Join the job's processes. Returns the run's objects on its devices, and lines for the log."""
    notes = _choose_devices(config, launch)
    keep_freed_memory(all_sizes=False)
    if not keep_programs:
        notes.append("programs: compiled ones are not kept")
    elif config.devices.engine == "jaxdecomp":
        notes.append("programs: compiled ones are not kept, since those of jaxdecomp cannot be told apart")
    elif keep_compiled_programs(os.environ) is None:
        notes.append("programs: no folder to keep compiled ones in; set JAX_COMPILATION_CACHE_DIR to one")
    join(launch, stall_limit=config.time.stall_limit)
    count = len(config.devices.use or jax.devices())
    assemble.check_device_count(config, count)
    try:
        mesh = device_mesh(config.devices.use, shape=assemble.mesh_shape(config, count))
    except ValueError as error:
        raise ConfigError(f"devices.use: {error}") from None
    require_same(config.to_toml(), "run file")
    notes += [*(f"source: {line}" for line in config.imported), *(f"run file: {line}" for line in config.dropped)]
    return assemble.Assembly(config, mesh), notes


def _choose_devices(config: Config, launch: Launch) -> list[str]:
    """Choose platform and virtual devices. Refuses a number of devices that cannot split the grid before joining."""
    section = config.devices
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
        in_use = len(section.use) if section.use else count * launch.processes
        assemble.check_device_count(config, in_use)
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


def _summary(assembly: assemble.Assembly) -> str:
    config, grid = assembly.config, assembly.grid
    shape = "×".join(map(str, grid.shape))
    return (
        f"{config.title or 'untitled'}: {config.equation.name} on {shape} {grid.dealias}, {grid.precision}, "
        f"{config.stepper.name}, {assembly.control}, until t = {config.time.end:g}"
    )
