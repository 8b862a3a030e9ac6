"""The estimate of a run as lines of text: devices, shapes, transforms, memory."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

from solver.cluster import machine_memory
from solver.config import Config
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.equation import Equation
from solver.io.files import in_words
from solver.plan import AnalysisEstimate, DiskUse, Estimate

SMALL = 0.01  # of the disk that a run fills: outputs that fill less are not named


def estimate_lines(estimate: Estimate) -> list[str]:
    """Devices, shapes, transforms and exchanged bytes of a estimate."""
    per_step = estimate.transforms
    is_rounded = estimate.exchange_precision != "grid" and estimate.exchanged_bytes
    sent = f", in {estimate.exchange_precision}" if is_rounded else ""
    ways, axes = {True: "forward", False: "inverse"}, ", ".join(estimate.spectral_axes)
    transforms = ", ".join(f"{n} {ways[way]}" for way, n in sorted(per_step.items()))
    return [
        f"# devices:      {_split(estimate)}; possible here: 1 to {estimate.max_slabs} slabs",
        f"# physical:     {_shape(estimate.physical)} in all, {_shape(estimate.physical_block)} per device",
        f"# spectral:     {_shape(estimate.spectral)} retained ({axes}), {_shape(estimate.spectral_block)} per device",
        *_idle(estimate),
        f"# transforms:   {transforms or 'none of Fourier'} per step",
        f"# exchanged:    {estimate.exchanged_bytes / 1e6:.6g} MB per step by all devices together{sent}",
        *_of_particles(estimate),
    ]


def derivation_lines(equation: AnyEquation) -> list[str]:
    """The lines that were derived from the text of an equation; none for an equation without a text."""
    derived = equation.derivation() if isinstance(equation, Equation) else []
    heads = [f"# {heading}:" if heading else "#" for heading, _ in derived]
    return [f"{head:<16}{line}" for head, (_, line) in zip(heads, derived, strict=True)]


def _of_particles(estimate: Estimate) -> list[str]:
    """A line on what particles exchange, in addition to the transforms; none without exchanges."""
    if not estimate.particle_exchanges:
        return []
    names = {"all_to_all": "all-to-all", "ppermute": "planes", "all_gather": "all-gather", "reduce_scatter": "sums"}
    kinds = ", ".join(f"{n} {names[kind]}" for kind, n in sorted(estimate.particle_exchanges.items()))
    sent = f"{estimate.particle_bytes / 1e6:.6g} MB more per step by all devices together"
    return [f"# particles:    {sent} ({kinds}), where they are spread evenly"]


def _idle(estimate: Estimate) -> list[str]:
    """A line on devices that hold no modes, since rows are dealt out in equal numbers; none if all hold some."""
    rows, each, name = estimate.spectral[0], estimate.spectral_block[0], estimate.spectral_axes[0]
    filled = math.ceil(rows / each)
    if estimate.pencils > 1 or filled == estimate.slabs:
        return []
    return [
        f"# idle:         {estimate.slabs - filled} of {estimate.slabs} devices hold no modes: {rows} rows of {name}, "
        f"{each} to a device, fill {filled}"
    ]


def memory_lines(estimate: Estimate, devices: int, analysis: AnalysisEstimate | None = None) -> list[str]:
    """Exchanges and memory on CPU devices, and whether this machine has enough for all of them as virtual devices."""
    lines = [
        f"# exchanges:    {estimate.exchanges} per step",
        f"# memory:       {in_words(estimate.state_bytes)} of state and about {in_words(estimate.peak_bytes)} at the "
        "peak of a step, per device",
        *_of_analysis(analysis),
        f"# decomposition: {estimate.advice}",
    ]
    available = machine_memory()
    if available is None:
        return lines
    needed = estimate.peak_bytes * devices + (analysis.peak_bytes * analysis.devices if analysis is not None else 0)
    verdict = "is enough" if needed < available else "is not enough"
    held = f"{in_words(available)}, {verdict} for {in_words(needed)} on virtual devices alone"
    return [*lines, f"# this machine: {held}"]


def steps_of(config: Config) -> int | None:
    """Number of steps of the whole run; None unless the step is fixed."""
    return None if config.time.step is None else math.ceil(config.time.end / config.time.step - 1e-9)


def length_lines(config: Config, uses: Sequence[DiskUse]) -> list[str]:
    """The steps of the whole run where they are of one size, and the disk that it fills."""
    steps = steps_of(config)
    counted = (
        [] if steps is None else [f"# steps:        {steps} of {config.time.step:g}, until t = {config.time.end:g}"]
    )
    return [*counted, *_disk_lines(config, uses)]


def _disk_lines(config: Config, uses: Sequence[DiskUse]) -> list[str]:
    """Bytes by the end, and by state of outputs whose number of states depends on the size of the steps."""
    known = sorted((use for use in uses if use.total), key=lambda use: -(use.total or 0))
    growing = [f"{use.name} {in_words(use.each)}" for use in uses if use.each and use.states is None]
    unknown = [use.name for use in uses if use.each is None]
    total = sum(use.total or 0 for use in known)
    large = [use for use in known if (use.total or 0) > SMALL * total]
    parts = ", ".join(f"{use.name} {use.states} × {in_words(use.each or 0)}" for use in large)
    members = f" for each of {len(config.members)} members" if config.members else ""
    said = [f"about {in_words(total)} by the end{members}: {parts}"]
    more = [f"and {', '.join(growing)} with every state that they write"] if growing else []
    more += [f"and {', '.join(unknown)}, whose size is not known"] if unknown else []
    return [f"# disk:         {line}" for line in [*said, *more, *_free(config, total * max(1, len(config.members)))]]


def _free(config: Config, needed: int) -> list[str]:
    """The bytes that are free where the run will write, and whether they are enough."""
    folder = Path(config.directory).absolute()
    place = next(above for above in (folder, *folder.parents) if above.is_dir())
    free = shutil.disk_usage(place).free
    verdict = "is enough" if needed < free else "is not enough"
    return [f"{in_words(free)} are free in {place}, which {verdict} for {in_words(needed)}"]


def _of_analysis(analysis: AnalysisEstimate | None) -> list[str]:
    """A line on the devices that carry out outputs while the others step; none if all of them step."""
    if analysis is None:
        return []
    return [
        f"# analysis:     {analysis.devices} more devices carry out outputs: "
        f"{in_words(analysis.state_bytes)} of state and about {in_words(analysis.peak_bytes)} at the peak, per device"
    ]


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))


def _split(estimate: Estimate) -> str:
    slabs = f"{estimate.slabs} slabs"
    return slabs if estimate.pencils == 1 else f"{slabs} × {estimate.pencils} pencils"
