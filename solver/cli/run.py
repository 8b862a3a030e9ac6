"""`run` and `resume`: from a run file to a finished simulation."""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

from solver import assemble
from solver.cli.main import FINISHED, STOPPED_EARLY
from solver.cli.outputs import Outputs
from solver.cli.progress import Pace, Progress, duration
from solver.cluster import (
    LOGGER,
    Launch,
    StopRequest,
    available_cores,
    barrier,
    find_launch,
    forced_cpu_devices,
    is_first,
    join,
    keep_compiled_programs,
    keep_freed_memory,
    largest,
    log_to,
    report,
    require_same,
    set_up_jax,
    start_log,
)
from solver.config import Config, ConfigError, changed_physics
from solver.io import (
    CheckpointError,
    RunDirectory,
    load_checkpoint,
    lock,
    newest_time,
    newest_valid,
    record_provenance,
    remove_leftovers,
    set_aside,
    write_text,
)
from solver.loop import BlowUp, evolve, reached
from solver.mesh import device_mesh
from solver.steppers import State


def run(options: argparse.Namespace) -> int:
    """`run FILE [--resume] [key=value …]`."""
    set_up_jax("auto", None)
    config = assemble.read_run_file(options.file, options.overrides)
    directory = RunDirectory(Path(config.output.directory))
    if not options.resume and (traces := directory.traces()):
        raise ConfigError(
            f"{directory.path} already holds a run ({', '.join(traces)}); continue it with --resume, "
            "or choose another output.directory"
        )
    if options.resume and directory.run_file.exists():
        _refuse_other_physics(directory, config)
        _refuse_earlier_end(directory, config)
    return _simulate(config, directory, options)


def resume(options: argparse.Namespace) -> int:
    """`resume DIR [key=value …]`."""
    set_up_jax("auto", None)
    directory = RunDirectory(Path(options.directory))
    if not directory.run_file.exists():
        raise ConfigError(f"{directory.path} holds no run: {directory.run_file} does not exist")
    config = assemble.read_run_file(directory.run_file, options.overrides)
    # the directory may have been moved since: what was named now is where the run goes on
    config = replace(config, output=replace(config.output, directory=str(directory.path)))
    _refuse_other_physics(directory, config)
    _refuse_earlier_end(directory, config)
    return _simulate(config, directory, options)


def _refuse_other_physics(directory: RunDirectory, config: Config) -> None:
    before = assemble.read_run_file(directory.run_file)
    changed = changed_physics(before, config)
    if changed:
        raise ConfigError(
            f"{directory.path} holds a run of other physics ({'; '.join(changed)}); only time.end, [devices] and "
            "output schedules may change when it is continued"
        )


def _refuse_earlier_end(directory: RunDirectory, config: Config) -> None:
    """A run that stands beyond `time.end` would be called finished, and its run file changed to say so."""
    stands = newest_time(directory.checkpoints)
    if stands is not None and stands > config.time.end * (1 + 1e-12):
        raise ConfigError(
            f"time.end = {config.time.end:g}: the run in {directory.path} stands at t = {stands:g}; a later end is "
            "needed, or another output.directory"
        )


def _simulate(config: Config, directory: RunDirectory, options: argparse.Namespace) -> int:
    launch = find_launch(os.environ, options.coordinator, options.processes, options.process)
    start_log(quiet=launch.process != 0)
    stop = StopRequest()
    stop.listen()
    notes = _choose_devices(config, launch)
    keep_freed_memory()
    programs = keep_compiled_programs(os.environ)
    if programs is None:
        notes.append("programs: no folder to keep compiled ones in; set JAX_COMPILATION_CACHE_DIR to one")
    join(launch)
    devices = len(config.devices.use or jax.devices())
    assemble.check_device_count(config, devices)
    try:
        mesh = device_mesh(config.devices.use, shape=assemble.mesh_shape(config, devices))
    except ValueError as error:
        raise ConfigError(f"devices.use: {error}") from None
    require_same(config.to_toml(), "run file")
    run = assemble.Assembly(config, mesh)
    held = _take_directory(directory, config, list(mesh.devices.flat))
    for line in [*report(launch, list(mesh.devices.flat)), *notes, _summary(run)]:
        LOGGER.info(line)
    stop.listen()  # again: joining replaces the handlers
    code = _advance(run, directory, stop)
    if held is not None:
        held.close()
    return code


# ---- devices ----------------------------------------------------------------------------------------------------


def _choose_devices(config: Config, launch: Launch) -> list[str]:
    """Settle platform and virtual devices, and refuse a count that cannot split the grid while that costs nothing."""
    section = config.devices
    forced = forced_cpu_devices(os.environ)
    if forced is not None:
        set_up_jax(section.platform, None)
        notes = [f"devices: {forced[1]} fixes {forced[0]} on the CPU; devices.virtual = {section.virtual!r} is ignored"]
        count = forced[0]
    else:
        cores = available_cores(os.environ, launch)
        wanted = section.virtual
        count = assemble.preferred_device_count(config, cores, launch.processes) if wanted == "auto" else wanted
        set_up_jax(section.platform, count)
        notes = []
    if section.platform == "cpu" or section.virtual != "auto":
        in_use = len(section.use) if section.use else count * launch.processes
        assemble.check_device_count(config, in_use)
    return notes


def _summary(run: assemble.Assembly) -> str:
    config, grid = run.config, run.grid
    control = f"step = {config.time.step:g}" if config.time.step else f"cfl = {config.time.cfl:g}"
    shape = "×".join(map(str, grid.shape))
    return (
        f"{config.title or 'untitled'}: {config.equation.name} on {shape} {grid.dealias}, {grid.precision}, "
        f"{config.time.stepper}, {control}, until t = {config.time.end:g}"
    )


# ---- directory and first state ------------------------------------------------------------------------------------


def _take_directory(directory: RunDirectory, config: Config, devices: list[Any]) -> Any:
    """Make the directory this run's; the returned handle holds it."""
    held = None
    if is_first():
        directory.path.mkdir(parents=True, exist_ok=True)
        held = lock(directory.path)
        if held is None:
            raise ConfigError(f"{directory.path}: another process is writing this run; wait for it, or stop it")
        for folder in (directory.checkpoints, directory.snapshots):
            remove_leftovers(folder)
        write_text(directory.run_file, config.to_toml())
        record_provenance(directory.provenance, devices)
        log_to(directory.log)
    barrier("run directory")
    return held


def _first_state(run: assemble.Assembly, directory: RunDirectory) -> tuple[State, int | None]:
    """From the newest valid checkpoint, if there are any; never from the start where all of them are damaged."""
    path, damaged = newest_valid(directory.checkpoints)
    for bad, problems in damaged.items():
        LOGGER.error("checkpoint %s is damaged and not used: %s", bad.name, "; ".join(problems))
    if path is None:
        if damaged:
            raise CheckpointError(
                f"{directory.checkpoints}: none of its {len(damaged)} checkpoints is valid; the run is not started "
                "over, move the directory away to do that"
            )
        LOGGER.info("starting from %s", ", ".join(start.name for start in run.config.initial.values()))
        return run.start(), None
    if is_first():
        for bad in damaged:
            LOGGER.error("kept aside as %s", set_aside(bad).name)
    barrier("damaged checkpoints set aside")
    state = load_checkpoint(path, run.state_shapes(), run.grid)
    LOGGER.info("continuing from %s, t = %.6g", path.name, float(state.t))
    return state, int(state.step)


# ---- stepping -----------------------------------------------------------------------------------------------------


def _advance(run: assemble.Assembly, directory: RunDirectory, stop: StopRequest) -> int:
    time_section = run.config.time
    state, resumed_at = _first_state(run, directory)
    outputs = Outputs(run, directory, resumed_at)
    pace = Pace()
    progress = Progress(time_section.end, state, active=is_first())
    began = mark = time.monotonic()
    first_step = previous = int(state.step)
    schedules = [s for s in outputs.schedules.values() if s is not None]
    states = evolve(
        run.equation, run.stepper, state, end=time_section.end, step=time_section.step, cfl=time_section.cfl,
        max_step=time_section.max_step, pauses=schedules, chunk=pace, donate=True,
    )  # fmt: skip
    del state  # the loop has a copy of its own
    try:
        for now in states:
            stopping, seconds = largest([stop.received is not None, time.monotonic() - mark])
            pace.learn(int(now.step) - previous, seconds)
            done = reached(now, time_section.end, time_section.step)
            outputs.write(now, start=resumed_at is None and int(now.step) == first_step, end=done)
            if stopping and not done:
                return _stop_early(outputs, now, stop)
            progress.show(now)
            mark, previous = time.monotonic(), int(now.step)
    except BlowUp as error:
        LOGGER.error("%s", error)  # into log.txt, too
        raise
    finally:
        progress.close()
    took = time.monotonic() - began
    LOGGER.info("finished: step %d, t = %.6g, in %s; %s", previous, float(now.t), duration(took), directory.path)
    return FINISHED


def _stop_early(outputs: Outputs, state: State, stop: StopRequest) -> int:
    path = outputs.checkpoint(state)
    cause = stop.received or "a signal to another process"
    LOGGER.warning("stopped early by %s at step %d; continue from %s", cause, int(state.step), path)
    return STOPPED_EARLY
