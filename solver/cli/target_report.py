"""The lines of `slabwave check --target`: a run's programs, compiled for GPUs that this machine does not have."""

from __future__ import annotations

import math
from dataclasses import replace

import jax

from solver import assemble
from solver.cli.estimate_lines import steps_of
from solver.config import Config
from solver.fft import has_few_points, sent_bytes
from solver.io.files import duration, in_words
from solver.plan import Estimate, NoCompiler, Part, Target, largest
from solver.plan.recorded import compiler, recorded_words
from solver.plan.target import POOL
from solver.plan.timing import better_split, step_work, transform_time


def target_report(run: assemble.Assembly, estimate: Estimate, target: Target) -> list[str]:
    """Memory, work, exchanges and time of a run on a target, read off its programs; by formulas if none is compiled."""
    config, word, rates = run.config, run.grid.dtype.itemsize, target.rates
    devices = f"{target.devices} × {rates.name} on {target.hosts} host{'s' if target.hosts > 1 else ''}"
    try:
        parts = _programs(config, target)
    except NoCompiler as error:
        return [f"# target:       {devices}", f"#               {error}", *_formulas(config, estimate, target, word)]
    steps = parts[0].program
    point = math.prod(estimate.physical) / target.devices * word
    time = target.timeline(steps)
    near, far = target.bytes_sent(steps)
    total = steps_of(config)
    whole = f"; {total} steps in {duration(total * time.total)}" if total else ""
    lines = [
        f"# target:       {devices}; compiled by jax {jax.__version__}, nothing was run",
        f"# memory:       {_memory(parts, estimate.state_bytes, target)}",
        f"# smallest:     {_smallest(config, parts, target)}",
        f"# a step:       {len(steps.work)} kernels move {steps.moved / point:.4g} words per point, and "
        f"{steps.copied_and_scaled / point:.3g} to copy and scale for inverse FFTs",
        f"# exchanges:    {len(steps.exchanges)} per step; a device sends {near / 1e6:.4g} MB on its host and "
        f"{far / 1e6:.4g} MB to other hosts; kernels cover {time.covered:.0%} of their time, and {time.placed:.0%} of "
        "the work overlaps them",
        f"# time:         {1e3 * time.total:.4g} ms per step (work {1e3 * time.work:.4g}, waiting "
        f"{1e3 * time.waiting:.4g}), {1e9 * time.total / math.prod(estimate.physical):.3g} ns per point{whole}",
        f"# assumed:      {rates.memory / 1e12:.3g} TB/s in memory, {rates.link / 1e9:.3g} GB/s on links, "
        f"{rates.network / 1e9:.3g} GB/s per device across hosts ({rates.basis}); docs/sizing.md",
    ]
    if target.devices > 1 and len(estimate.physical) == 3:
        step = step_work(
            steps,
            point / word,
            word,
            sum(estimate.transforms.values()),
            time,
            sent_bytes(estimate.exchange_precision, 2 * word),
        )
        choice = better_split(rates, run.grid.layout, step, word, known=time.total)
        lines.append(f"# split:        {choice}")
    return lines


def _programs(config: Config, target: Target) -> list[Part]:
    return assemble.target_programs(assemble.target_assembly(config, target), target)


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
    """The fewest devices, a power of two, whose compiled programs fit. Far smaller numbers are not tried."""
    all_of_it = largest(parts).with_workspace * target.devices
    devices = 2 ** max(0, math.ceil(math.log2(0.7 * all_of_it / target.memory)))
    while True:
        try:
            assemble.check_device_count(config, devices)
        except ValueError as error:
            return f"no number of devices that fits can split the grid ({error})"
        hosts = max(1, math.ceil(devices / target.rates.gpus_per_host))
        if devices % hosts == 0:
            rates = replace(target.rates, gpus_per_host=devices // hosts)
            fewer = replace(target, devices=devices, hosts=hosts, rates=rates)
            candidate = parts if devices == target.devices else _programs(config, fewer)
            if fewer.fits(largest(candidate)):
                count = "1 device" if devices == 1 else f"{devices} devices"
                return f"{count} would do, {in_words(largest(candidate).with_workspace)} on each"
        devices *= 2


def _formulas(config: Config, estimate: Estimate, target: Target, word: int) -> list[str]:
    """Memory by what programs of such a run were measured to hold, or by the trace alone."""
    few = has_few_points(assemble.layout_of(config, target.devices))
    words = recorded_words(assemble.kind_of(config), config.grid.precision, target.devices, few)
    if words is None:
        needed = estimate.peak_bytes
        which = "counted on the trace, since no such run was ever compiled; good to a third"
    else:
        most = max(words, key=lambda name: words[name])
        needed = round(words[most] * math.prod(estimate.physical_block) * word)
        which = f"most in {most}, by what such runs held when jax {compiler()} compiled them for an H200"
    verdict = "fits" if needed <= target.memory else "does not fit"
    return [
        f"# memory:       about {in_words(needed)} per device of {in_words(target.memory)} ({which}): {verdict}",
        f"# time:         {1e3 * least_time(estimate, target, word):.4g} ms per step at least: that of its transforms, "
        "nothing overlapped, by a model of published timings; the rest of a step is read off the compiled program",
    ]


def least_time(estimate: Estimate, target: Target, word: int) -> float:
    """Seconds that the transforms of a step take."""
    split = {"slabs": estimate.slabs, "pencils": estimate.pencils}
    sent = sent_bytes(estimate.exchange_precision, 2 * word)
    seconds = lambda real: transform_time(target.rates, estimate.physical, 2 * word, real=real, sent=sent, **split)  # noqa: E731
    real_ones = sum(estimate.transforms.values()) - estimate.complex_transforms
    return real_ones * seconds(True) + estimate.complex_transforms * seconds(False)
