"""What `run` and `resume` have in common: join the job, choose devices, take the directory, and step."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import jax

from solver import assemble
from solver.assemble.branch import kept_start, record_there
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
from solver.reading import AFTER_BLOW_UP, standing
from solver.simulation import EarlyStop, Profile, refuse_earlier_end, refuse_other_physics, simulate, taken_directory
from solver.steppers.base import State
from solver.stop import StopRequest


def refuse_another_run(directory: RunDirectory, config: Config) -> None:
    """Raises ConfigError where a run file cannot continue the run in a directory: other physics, or an earlier end."""
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
    """Raises BlowUp, and with it exit code 3, where the run blew up and nothing of its run file was changed since.

    For batch jobs: each one of a chain would compute from the last checkpoint to the same blow-up.
    """
    before = standing(directory)
    if before.how == "blown up" and directory.run_file.read_text(encoding="utf-8") == config.to_toml():
        raise BlowUp(f"{directory.path}: {before.said}; the same run file would lead there again: {AFTER_BLOW_UP}")


def carry_out(
    config: Config, directory: RunDirectory, options: argparse.Namespace, profile: Profile | None = None
) -> int:
    """Run or continue what a checked run file says, some of its steps traced; returns the exit code."""
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
        with taken_directory(
            directory, config.to_toml(), devices, config.sources, differs, continues=getattr(options, "resume", True)
        ) as lock:
            for line in [*report(launch, devices), *notes, _summary(assembly), *differs]:
                LOGGER.info(line)
            stop.listen()  # again: joining replaces the handlers
            start = lambda: _start(assembly)  # noqa: E731
            limits = assembly.limits
            early = EarlyStop(stop, directory.path, lock, limits.time_limit)
            run, control = assembly.run, assembly.control
            with _way_on(directory):
                _, finished = simulate(run, assembly.stepper, start, control, assembly.outputs, early, limits, profile)
        if not finished:
            stop.shield()
    return FINISHED if finished else STOPPED_EARLY


@contextmanager
def _way_on(directory: RunDirectory) -> Iterator[None]:
    """A blow-up names the command that goes on from the last checkpoint."""
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
        record_there(assembly.config, kept)
    return state


def join_job(config: Config, launch: Launch, *, keep_programs: bool = True) -> tuple[assemble.Assembly, list[str]]:
    """Join the job's processes; the run's objects on its devices, and lines for the log."""
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
    """Settle platform and virtual devices, and refuse a count that cannot split the grid while that costs nothing."""
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
    """Raises ConfigError where the fields alone do not fit into the memory of the job's hosts."""
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
