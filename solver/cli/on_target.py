"""What `slabwave check --target` prints: a run's programs, compiled for GPUs that are not here, in words."""

from __future__ import annotations

import math
from dataclasses import replace

import jax

from solver import assemble
from solver.config import Config
from solver.io.files import in_words
from solver.mesh import mesh_axes
from solver.plan import NoCompiler, Part, Plan, Target, compile_run, largest, target_mesh
from solver.plan.recorded import Kind, compiler, recorded_words
from solver.plan.target import POOL
from solver.plan.timing import better_split, step_of


def target_lines(config: Config, plan: Plan, target: Target) -> list[str]:
    """Memory, work, exchanges and time of a run on a target, from its programs, or from formulas without a compiler."""
    rates = target.rates
    where = f"{target.devices} × {rates.name} on {target.hosts} host{'s' if target.hosts > 1 else ''}"
    try:
        parts = _compiled(config, target)
    except NoCompiler as error:
        return [f"# target:       {where}", f"#               {error}", *_formulas(config, plan, target)]
    steps = parts[0].program
    point = math.prod(plan.physical) / target.devices * _word(config)
    time = target.timeline(steps)
    near, far = target.bytes_sent(steps)
    total = _steps_of(config)
    run = f"; {total} steps in {_duration(total * time.total)}" if total else ""
    lines = [
        f"# target:       {where}; compiled by jax {jax.__version__}, nothing was run",
        f"# memory:       {_memory(parts, plan.state_bytes, target)}",
        f"# smallest:     {_smallest(config, parts, target)}",
        f"# a step:       {len(steps.work)} kernels move {steps.moved / point:.4g} words per point, and "
        f"{steps.scaled / point:.3g} to scale inverse FFTs",
        f"# exchanges:    {len(steps.exchanges)} per step; a device sends {near / 1e6:.4g} MB on its host and "
        f"{far / 1e6:.4g} MB to other hosts; kernels cover {time.covered:.0%} of their time, and {time.placed:.0%} of "
        "the work is placed beside them",
        f"# time:         {1e3 * time.total:.4g} ms per step (work {1e3 * time.work:.4g}, waiting "
        f"{1e3 * time.waiting:.4g}), {1e9 * time.total / math.prod(plan.physical):.3g} ns per point{run}",
        f"# assumed:      {rates.memory / 1e12:.3g} TB/s in memory, {rates.link / 1e9:.3g} GB/s on links, "
        f"{rates.network / 1e9:.3g} GB/s per device across hosts ({rates.basis}); docs/sizing.md",
    ]
    if target.devices > 1 and len(plan.physical) == 3:
        transforms = sum(plan.transforms.values())
        step = step_of(steps, point / _word(config), _word(config), transforms, time)
        layout = assemble.abstract_assembly(config, target.devices).grid.layout
        lines.append(f"# split:        {better_split(rates, layout, step, _word(config))}")
    return lines


def _compiled(config: Config, target: Target) -> list[Part]:
    run = _on(config, target)
    start = run.start if all(initial.traceable for initial in run.initials.values()) else None
    return compile_run(
        run.equation, run.stepper, run.state_shapes(), run.control, run.outputs.all, start, target.xla
    )  # fmt: skip


def _on(config: Config, target: Target) -> assemble.Assembly:
    axes = mesh_axes(target.devices, assemble.mesh_shape(config, target.devices))
    return assemble.Assembly(config, target_mesh(target.xla, axes, target.hosts))


def _memory(parts: list[Part], state: int, target: Target) -> str:
    most = largest(parts)
    each = ", ".join(f"{part.name} {in_words(part.held)}" for part in parts)
    needed, workspace = in_words(most.with_workspace), in_words(most.program.workspace)
    verdict = "fits" if target.fits(most) else "does not fit"
    return (
        f"{each}, loading a checkpoint {in_words(state)} per device; most: {most.name}, {needed} with {workspace} "
        f"allowed for cuFFT, of {in_words(target.memory)} ({POOL:.0%} of the device; NCCL has the rest): {verdict}"
    )


def _smallest(config: Config, parts: list[Part], target: Target) -> str:
    """The fewest devices, a power of two, whose programs are seen to fit; those that cannot by far are not compiled."""
    all_of_it = largest(parts).with_workspace * target.devices
    devices = 2 ** max(0, math.ceil(math.log2(0.7 * all_of_it / target.memory)))
    per_host = target.rates.gpus_per_host if target.hosts > 1 else max(target.rates.gpus_per_host, target.devices)
    while True:
        try:
            assemble.check_device_count(config, devices)
        except ValueError as error:
            return f"no number of devices that fits can split the grid ({error})"
        hosts = max(1, math.ceil(devices / per_host))
        if devices % hosts == 0:
            rates = replace(target.rates, gpus_per_host=devices // hosts)
            fewer = replace(target, devices=devices, hosts=hosts, rates=rates)
            found = parts if devices == target.devices else _compiled(config, fewer)
            if fewer.fits(largest(found)):
                count = "1 device" if devices == 1 else f"{devices} devices"
                return f"{count} would do, {in_words(largest(found).with_workspace)} on each"
        devices *= 2


def _formulas(config: Config, plan: Plan, target: Target) -> list[str]:
    """Memory from what programs of such a run were seen to hold, or from the trace alone."""
    kind = Kind(config.equation.name, config.stepper.name, len(plan.physical), str(config.dealias), _control(config))
    words = recorded_words(kind, config.grid.precision, target.devices)
    if words is None:
        needed, which = plan.peak_bytes, "counted on the trace, since no such run was ever compiled; good to a third"
    else:
        most = max(words, key=lambda name: words[name])
        needed = round(words[most] * math.prod(plan.physical_block) * _word(config))
        which = f"most in {most}, by what such runs held when jax {compiler()} compiled them for an H200"
    verdict = "fits" if needed <= target.memory else "does not fit"
    return [
        f"# memory:       about {in_words(needed)} per device of {in_words(target.memory)} ({which}): {verdict}",
    ]


def _control(config: Config) -> str:
    """What decides the size of steps."""
    return next(name for name in ("step", "cfl", "tolerance") if getattr(config.time, name) is not None)


def _steps_of(config: Config) -> int | None:
    """Steps of the whole run, where they are of one size."""
    return None if config.time.step is None else round(config.time.end / config.time.step)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 3600:.3g} h" if seconds > 7200 else f"{seconds / 60:.3g} min"


def _word(config: Config) -> int:
    return 4 if config.grid.precision == "float32" else 8
